# The rehearsal of an upgrade: a server with queues of 0.1, an archive among them, and workers that go on while
# the extension is updated, the tables and the archive get today's layout, slots, kinds and a schedule. Nothing
# is lost or done twice, what was archived is found, a dump has it all, and a crash takes nothing back.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on\nautovacuum_naptime = 1s\n");
$node->start;

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

sql(q{
	create extension queue_ext version '0.1';
	select queue_create('q', lease => '1 minute', max_attempts => 1000, archive => true), queue_create('plain', lease => '1 minute');
	-- The tables as the library of 0.1 has made them.
	alter table q drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
	alter table plain drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
	alter table q_archive drop claimed_at, drop kind, drop result, drop errors, drop progress, drop origin;
	update queue_definition set on_claim = replace(on_claim, ', claimed_at = call_time', ''), on_release = replace(on_release, ', released = least(coalesce(released, 0), 2147483646) + 1', ''),
		on_fail = replace(replace(regexp_replace(on_fail, ', errors = .*', ''), ' and retry', ''), ' or not retry', ''), on_extend = replace(on_extend, ', progress = coalesce(new_progress, progress)', '');
	create table done (queue text, id bigint, payload jsonb);
	-- A month of history, in each state that an archive of 0.1 knows.
	insert into q_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, leased_by, last_error, state, payload)
	select -n, now() - n * interval '1 hour', now() - n * interval '1 hour', now() - n * interval '1 hour', 1 + n % 3, 25, n % 5, 'w' || n % 7,
		case n % 3 when 0 then 'error ' || n end, case n % 10 when 0 then 'cancelled' else 'completed' end, to_jsonb(n)
	from generate_series(1, 20000) as n;
	insert into done select 'q', id, payload from q_archive;
	select count(*) from queue_send_many('q', array(select to_jsonb(n) from generate_series(1, 4000) as n));
	select count(*) from queue_send_many('plain', array(select to_jsonb(n) from generate_series(1, 4000) as n));
	-- Claims a job at a time, as the workers of 0.1 do, and notes what it has completed in the same transaction.
	create procedure work(queue text) language plpgsql as $$
	declare
		job queue_job;
	begin
		loop
			for job in select * from queue_pop(queue) loop
				insert into done select queue, job.id, job.payload where queue_complete(queue, job.id, job.attempt);
			end loop;
			if job.id is null then
				return;
			end if;
			commit;
			perform pg_sleep(0.005);
			job := null;
		end loop;
	end $$});
my $receipt = sql(q{select id, attempt from queue_pop('q', lease => '1 hour', worker => 'early')});

my @workers;
for my $number (0 .. 5)
{
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDERR, '>', '/dev/null';
		my $queue = $number % 2 ? 'plain' : 'q';
		# What was planned just before a function was replaced may fail; the worker comes again.
		for (1 .. 200)
		{
			my ($status) = $node->psql('postgres', "call work('$queue')");
			POSIX::_exit(0) if $status == 0;
		}
		POSIX::_exit(1);
	}
	push @workers, $pid;
}
sub in_the_middle { $node->poll_query_until('postgres', "select count(*) >= $_[0] from done where id > 0") or die 'the workers do nothing' }

in_the_middle(300);
sql('alter extension queue_ext update');
is(sql(q{select extversion from pg_extension where extname = 'queue_ext'}), sql(q{select default_version from pg_available_extensions where name = 'queue_ext'}), 'updated under workers');
my ($status, $out, $error) = $node->psql('postgres', q{\set VERBOSITY sqlstate
	select queue_complete('q', 1, 1, result => '1')});
like($error, qr/55000/, 'the old archive keeps no results');
in_the_middle(900);
sql(q{set lock_timeout = '120s'; select queue_upgrade('q')});
sql(q{set lock_timeout = '120s'; select queue_upgrade('plain')});
in_the_middle(1500);
sql(q{select queue_alter('q', archive_keep => '500 hours', dead_keep => '500 hours')});
is(sql(q{set lock_timeout = '120s'; select queue_upgrade('q')}), 'public.q', 'the archive gets slots under workers');
is(sql(q{select queue_upgrade()}), '', 'and that is all');
in_the_middle(2000);
sql(q{select queue_alter('q', kinds => true)});
sql(q{select queue_schedule('q', 'soon', '1 hour', payload => '"again"', starts_at => now() + interval '1 hour', kind => 'timer')});
for my $pid (@workers) { waitpid $pid, 0; is($?, 0, 'a worker ends when nothing is left') }

is(sql(q{select count(*), count(distinct (queue, id)) from done}), '27999|27999', 'each job was done once');
my ($id, $attempt) = split /\|/, $receipt;
is(sql("select queue_complete('q', $id, $attempt, result => '\"late\"')"), 't', 'a receipt from before is good');
is(sql("select state, result from queue_result('q', $id)"), 'completed|"late"', 'and its result is kept');
is(sql(q{select count(*) from done d where queue = 'q' and id > 0 and (queue_result('q', id)).state is distinct from 'completed'}), '0', 'the archive has what was done');
my $old = 'select id, run_at, created_at, finished_at, attempt, max_attempts, priority, leased_by, last_error, state, payload from q_archive where id < 0 and id >= -490 order by id desc';
is(sql("select count(*), bool_and(finished_at - run_at = '0' and attempt = 1 + payload::integer % 3 and priority = payload::integer % 5 and leased_by = 'w' || payload::integer % 7
		and last_error is not distinct from case payload::integer % 3 when 0 then 'error ' || payload::text end and state = case payload::integer % 10 when 0 then 'cancelled' else 'completed' end)
	from ($old) as o"), '490|t', 'and what it had');
is(sql(q{select count(*) from q_archive where id < -510}), '0', 'what is past its keep was left behind');
is(sql(q{select (queue_result('q', -490)).state, (queue_result('q', -510)).state}), 'cancelled|', 'and is not found');
is(sql(q{select count(distinct tableoid), count(distinct tableoid) = count(distinct floor(extract(epoch from finished_at - '2000-01-01 00:00+00') / (500 * 3600 / 6.0)))
	from q_archive}) =~ s/^[678]\|//r, 't', 'the slots are in use, one for each period');

# The new features work with it.
is(sql(q{select queue_send('q', '"a"', kind => 'a') > 0, queue_send('q', '"b"', kind => 'b') > 0}), 't|t', 'jobs of kinds');
is(sql(q{select payload, kind from queue_pop('q', 9, kinds => '{b}')}), '"b"|b', 'go to workers who name them');
is(sql(q{with j as materialized (select * from queue_pop('q', 9, kinds => '{a}'))
	select (select queue_complete('q', id, attempt, result => to_jsonb(kind)) from j)}), 't', 'and are completed with results');
sql(q{update queue_schedule_definition set next_run_at = now() - interval '1 second'; update q set run_at = now() - interval '1 second' where unique_key = 'schedule|soon'});
is(sql(q{select payload, kind from queue_pop('q', 9, kinds => '{timer}')}), '"again"|timer', 'a schedule has its job');
is(sql(q{select next_run_at > now() + interval '59 minutes' and exists (select from q where id = job and attempt = 0) from queue_schedules}), 't', 'which is followed by the next');
my @all = (q{select * from queue_schedules}, q{select * from q_archive order by id}, q{select * from q order by id}, q{select queue, lease, max_attempts, archive, archive_keep, dead_keep from queues order by 1});
my @before = map { sql($_) } @all;
$node->stop('immediate');
$node->start;
is_deeply([ map { sql($_) } @all ], \@before, 'a crash takes nothing back');

sql('create database copy');
my $file = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $file, 'postgres' ], 'dumped');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, 'copy' ], 'restored');
is_deeply([ map { sql($_, 'copy') } @all ], \@before, 'the copy has all');
is(sql(q{select state, result from queue_result('q', (select id from q_archive where payload = '"a"'))}, 'copy'), 'completed|"a"', 'and works');
sql(q{update queue_schedule_definition set next_run_at = now() - interval '1 second'; update q set run_at = now() - interval '1 second' where unique_key = 'schedule|soon' and attempt = 0}, 'copy');
is(sql(q{select count(*) from queue_pop('q', 9, kinds => '{timer}')}, 'copy'), '1', 'with its schedule');
sql(q{update q_archive set finished_at = finished_at - interval '600 hours'}, 'copy');
# A slot that autovacuum has locked is passed by.
my $kept;
for (1 .. 600)
{
	sql('call queue_maintain()', 'copy');
	$kept = sql('select count(*) from q_archive', 'copy');
	last if $kept == 0;
	sleep 0.1;
}
is($kept, '0', 'and its keep');

my @lines = grep { /\b(PANIC|TRAP|leak)\b|not closed/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
$node->stop;
done_testing();
