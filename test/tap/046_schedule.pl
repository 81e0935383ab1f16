# Schedules outlive a crash, a restart, and a dump: at the end there is one unclaimed occurrence, and a
# worker that waits wakes for it. A standby that is promoted goes on with them.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('schedule');
$node->init(allows_streaming => 1);
$node->start;
$node->safe_psql('postgres', 'create extension queue_ext');
$node->safe_psql('postgres', q{
	select queue_create('q');
	select queue_schedule('q', 'second', '1 second', payload => '"second"');
	select queue_schedule('q', 'year', cron => '@yearly', payload => '"year"', time_zone => 'Europe/Berlin');
	create table done (run_at timestamptz, payload jsonb);
	-- Waits for a job, and does it.
	create procedure work(n integer) language plpgsql as $$
	begin
		for i in 1 .. n loop
			loop
				insert into done select run_at, payload from queue_pop('q');
				exit when found;
				commit;
				perform pg_sleep(0.05);
			end loop;
			delete from q where attempt > 0;
			commit;
		end loop;
	end $$;
});
my $state = q{select string_agg(s.name || ' ' || (select count(*) from q where attempt = 0 and unique_key = 'schedule|' || s.name), ', ' order by s.name)
	from queue_schedules s join q on q.id = s.job};
my $unbroken = q{select count(*) from (select run_at - lag(run_at) over (order by run_at) as step from done) as d where step <= '0'};

# The procedure that waits sleeps until the occurrence's time.
is($node->safe_psql('postgres', "call queue_wait('q', '1 minute'); select count(*) from queue_pop('q')"), '1', 'a worker that waits wakes for an occurrence');
# Also if it has been deleted.
$node->safe_psql('postgres', "delete from q where unique_key = 'schedule|second'");
is($node->safe_psql('postgres', "call queue_wait('q', '1 minute'); select count(*) from queue_pop('q')"), '1', 'also for one that was lost');
# ... while it waits: by a truncation, which is not announced.
my $waiter = $node->background_psql('postgres', on_error_stop => 1);
$waiter->query_until(qr/asleep/, "\\echo asleep\ncall queue_wait('q', '1 minute');\n\\echo awake\n");
$node->safe_psql('postgres', "truncate q");
$waiter->query_until(qr/awake/, "\n");
$waiter->quit;
is($node->safe_psql('postgres', "select count(*) from queue_pop('q')"), '1', 'a worker that waits notices that it was lost');
# That of the year has gone with the table, until its time comes or somebody asks for it.
$node->safe_psql('postgres', "select queue_schedule('q', 'year', cron => '\@yearly', payload => '\"year\"', time_zone => 'Europe/Berlin')");

$node->safe_psql('postgres', 'call work(2)');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', 'call work(2)');
is($node->safe_psql('postgres', $state), 'second 1, year 1', 'after a crash');
$node->restart;
$node->safe_psql('postgres', 'call work(2)');
is($node->safe_psql('postgres', $state), 'second 1, year 1', 'after a restart');
is($node->safe_psql('postgres', $unbroken), '0', 'none came twice');

# A dump has the schedules with their jobs.
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '--no-sync', '-f', $dump, $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'create database restored');
$node->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restore');
is($node->safe_psql('restored', "select string_agg(concat_ws(' ', name, every, cron, time_zone, missed, payload), ', ' order by name) from queue_schedules"),
	'second 00:00:01 UTC once "second", year @yearly Europe/Berlin once "year"', 'a restored database has them');
$node->safe_psql('restored', 'call work(3)');
is($node->safe_psql('restored', $state), 'second 1, year 1', 'and goes on with them');
is($node->safe_psql('restored', $unbroken), '0', 'none came twice there');

# A standby.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('postgres', 'call work(1)');
$node->wait_for_catchup($standby);
$node->stop;
$standby->promote;
$standby->safe_psql('postgres', 'call work(3)');
is($standby->safe_psql('postgres', $state), 'second 1, year 1', 'a promoted standby goes on with them');
is($standby->safe_psql('postgres', $unbroken), '0', 'none came twice there');

done_testing();
