# A dump takes queues along: registry, tables, archives, jobs, settings and the
# counter of ids. Dropping the extension leaves the tables and their rows.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;

sub sql
{
	my ($database, $query) = @_;
	return $node->safe_psql($database, $query);
}

$node->safe_psql('postgres', 'create database origin');
sql(
	'origin', q{
	create schema tools;
	create extension queue_ext schema tools;
	create schema jobs;
	set search_path = public, tools;
	select queue_create('q', lease => '7 minutes', max_attempts => 3, backoff_base => '2 seconds',
		backoff_cap => '1 day', archive => true);
	select queue_create('"Odd Queue"');
	select queue_create('jobs.q');
	select queue_create('renamed');
	alter table renamed rename to "Another Name";
	select queue_create('gone');
	drop table gone;
	select queue_send_many('q', array['1', '2', '3', '4', '5']::jsonb[]);
	select queue_send('"Odd Queue"', '"odd"');
	select queue_send('jobs.q', '"there"', priority => -3);
	select queue_send('renamed', '"kept"');
	select queue_pause('renamed');
	select queue_complete('q', id, attempt) from queue_pop('q');
	select queue_pop('q', lease => '1 hour', worker => 'w');
	select queue_fail('q', id, attempt, 'no luck', '0') from queue_pop('q');
	update q set run_at = run_at - interval '1 hour' where id = 3;
});

my $state = q{
	set search_path = public, tools;
	select queue, source, paused, lease, max_attempts, backoff_base, backoff_cap, archive, pending,
		order_by, on_claim, on_fail from queues order by queue;
	select * from q order by id;
	select * from q_archive order by id;
	select * from "Odd Queue";
	select * from jobs.q;
	select * from "Another Name";
};
my $before = sql('origin', $state);
like($before, qr/^public\."Odd Queue"\|/m, 'the queues before');

# A session's temporary queue is in no dump, and keeps no other queue out of it.
my $session = $node->background_psql('origin');
$session->query_safe(q{
	set search_path = pg_temp, tools;
	set client_min_messages = error;
	select queue_create('pg_temp.x');
	select queue_unique_insert('pg_temp.x', '1', states => '{ready,done}');
});
my $dir = PostgreSQL::Test::Utils::tempdir();
for my $format ('plain', 'custom')
{
	my $copy = "copy_$format";
	my $file = "$dir/$format.dump";
	$node->command_ok([ 'pg_dump', '-F', $format, '-f', $file, $node->connstr('origin') ],
		"dump as $format");
	$node->safe_psql('postgres', "create database $copy");
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($copy) ]
		: [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($copy), $file ],
		'restore it');
	is(sql($copy, $state), $before, 'all is there');
	is(sql($copy, q{select count(*) from tools.queue_definition}),
		4, 'but not the row of a table that was gone');

	my $in = 'set search_path = public, tools;';
	is(sql($copy, qq{$in select queue_send('q', '6')}), '6', 'ids go on');
	is(sql($copy, qq{$in select queue_complete('q', 2, 1)}), 't', 'a receipt from before is good');
	is(sql($copy, qq{$in select id, attempt, max_attempts, last_error from queue_pop('q', 10)}),
		"3|2|3|no luck\n4|1|3|\n5|1|3|\n6|1|3|", 'jobs are claimed');
	is(sql($copy, qq{$in select string_agg(id || state, ' ' order by id) from q_archive}),
		'1completed 2completed', 'and archived');
	is(sql($copy, qq{$in select payload from queue_pop('"Odd Queue"')}), '"odd"', 'an odd name');
	is(sql($copy, qq{$in select payload, priority from queue_pop('jobs.q')}),
		'"there"|-3', 'another schema');
	is(sql($copy, qq{$in select payload from queue_pop('renamed')}), '', 'a paused queue');
	is(sql($copy, qq{$in select queue_resume('renamed'); select payload from queue_pop('renamed')}),
		qq{t\n"kept"}, 'is resumed, and its table is the renamed one');
	is(sql($copy, qq{$in select queue_create('new')}), 'new', 'a new queue is made');
	is(sql($copy, qq{$in select queue_drop('q')}), 't', 'an old one dropped');
}

$session->quit;

# A dump that leaves out a queue's table, as the reference has it: only that queue is lost.
$node->safe_psql('postgres', 'create database part');
my @all = ('--exclude-table=jobs.q', '--exclude-table-data=*.queue_definition', '-f', "$dir/all.sql");
my @registry = ('--data-only', '--inserts', '--table=*.queue_definition', '-f', "$dir/registry.sql");
$node->command_ok([ 'pg_dump', @all,      $node->connstr('origin') ], 'dump all but a table and the registry');
$node->command_ok([ 'pg_dump', @registry, $node->connstr('origin') ], 'and the registry row by row');
$node->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/all.sql", $node->connstr('part') ], 'restore');
$node->command_checks_all(
	[ 'psql', '-qX', '-f', "$dir/registry.sql", $node->connstr('part') ],
	0, [], [qr/ERROR:  relation "jobs\.q" does not exist(?!.*ERROR)/s],
	'one row fails');
is(sql('part', 'select string_agg(name, $$ $$ order by name) from tools.queue_definition'),
	'Odd Queue q renamed', 'the other queues are there');

# A dump of the data alone into a database that has the queues would clash like any
# other data; what matters is that the extension itself can go and come back.
my $one_session = q{
	set search_path = public, tools;
	select id from queue_pop('q');
	drop extension queue_ext;
	select count(*) from q;
	select count(*) from q_archive;
	\echo :LAST_ERROR_SQLSTATE
	\set ON_ERROR_STOP 0
	select queue_pop('q');
	\echo :LAST_ERROR_SQLSTATE
	create extension queue_ext schema tools;
	select count(*) from queues;
	select queue_pop('q');
	\echo :LAST_ERROR_SQLSTATE
	select queue_create('q');
	\echo :LAST_ERROR_SQLSTATE
	select queue_create('fresh');
	select queue_send('fresh', '"f"');
	select payload from queue_pop('fresh');
};
my ($status, $out) = $node->psql('origin', $one_session);
is( $out, join("\n",
		'3',     # claimed
		'4',     # DROP EXTENSION leaves the jobs
		'1',     # and the archive
		'00000',
		'42883', # there is no such function now
		'0',     # CREATE EXTENSION finds an empty registry: the tables are no queues now
		'42704', # so there is no such queue
		'42P07', # and it cannot be made anew while its table is there
		'fresh', '1', '"f"'),
	'DROP EXTENSION and CREATE EXTENSION in one session');
is(sql('origin', 'alter table q rename to old; set search_path = public, tools;'
		  . q{select queue_create('q'); select count(queue_send('q', payload, priority, run_at, max_attempts)) from old}),
	"q\n4", 'a table that is left can be moved into a new queue');

$node->stop;
my @lines = grep { !/terminating connection due to administrator command/ && /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
