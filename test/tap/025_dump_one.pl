# A dump of single tables, of a schema, of the schema only or of the data only, in every
# format, into a server that has nothing: queue_adopt makes the tables queues again, with
# their settings and jobs. So it does after DROP EXTENSION.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $origin = PostgreSQL::Test::Cluster->new('origin');
$origin->init;
$origin->start;
my $node = PostgreSQL::Test::Cluster->new('empty');
$node->init;
$node->start;

$origin->safe_psql(
	'postgres', q{
	create schema jobs;
	create extension queue_ext schema public;
	select queue_create('jobs.q', lease => '7 minutes', max_attempts => 3, backoff_base => '2 seconds',
		backoff_cap => '1 day', archive => true);
	select queue_create('other');
	create table jobs.t (id integer primary key, taken boolean);
	create index on jobs.t (id) where taken is null;
	insert into jobs.t values (1), (2);
	select queue_attach('jobs.t', 'jobs.t', 'taken is null', 'id', 'taken = true', wake => true);
	select queue_send_many('jobs.q', array['1', '2', '3', '4', '5']::jsonb[]);
	select queue_complete('jobs.q', id, attempt) from queue_pop('jobs.q');
	select queue_pop('jobs.q', lease => '1 hour', worker => 'w');
	select queue_fail('jobs.q', id, attempt, 'no luck', '0') from queue_pop('jobs.q');
	update jobs.q set run_at = run_at - interval '1 hour' where id = 3;
	select queue_unique_insert('jobs.q', '{"a": 1}', priority => 5);
	select queue_send('other', '"o"');
});

# The rows, as they are; the settings of the queues.
my $rows = q{
	select * from jobs.q order by id;
	select * from jobs.q_archive order by id;
};
my $settings = q{
	select queue, source, managed, paused, lease, max_attempts, backoff_base, backoff_cap, archive, pending, on_claim
	from queues where queue = 'jobs.q';
};
my $indexes = q{
	select regexp_replace(indexdef, 'INDEX \S+', 'INDEX') from pg_indexes where schemaname = 'jobs' and tablename = 'q' order by 1;
	select tgenabled, pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'jobs.q'::regclass order by 2;
};
my %was = map { $_ => $origin->safe_psql('postgres', $_) } $rows, $settings, $indexes;

my $count = 0;

# A database with nothing but the schema and the extension.
sub new_database
{
	my ($before) = @_;
	my $name = 'copy' . ++$count;
	$node->safe_psql('postgres', "create database $name");
	$node->safe_psql($name, $before // 'create schema jobs; create extension queue_ext');
	return $name;
}

sub dump_to
{
	my ($format, @options) = @_;
	my $file = $node->basedir . '/' . ++$count . ".$format";
	$origin->command_ok([ 'pg_dump', '-F', $format, '-f', $file, @options, 'postgres' ], "dump as $format: @options");
	return $file;
}

sub restore
{
	my ($format, $file, $database, @options) = @_;
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $database ]
		: [ 'pg_restore', '--exit-on-error', @options, '-d', $database, $file ],
		"restore it: @options");
	return;
}

sub hint_of
{
	my ($database, $call) = @_;
	my ($status, $out, $err) = $node->psql($database, $call);
	return $err =~ /HINT:  (.*)/ ? $1 : "none: $err";
}

# The queue works: it knows what was before, and goes on.
sub works
{
	my ($database, $name) = @_;
	is($node->safe_psql($database, $settings), $was{$settings}, "$name: the settings");
	is($node->safe_psql($database, $rows), $was{$rows}, "$name: the rows");
	is($node->safe_psql($database, $indexes), $was{$indexes}, "$name: the indexes and the trigger");
	is($node->safe_psql($database, q{select queue_complete('jobs.q', 2, 1)}), 't', "$name: a receipt from before is good");
	is($node->safe_psql($database, q{select queue_send('jobs.q', '7')}), '7', "$name: ids go on");
	is($node->safe_psql($database, q{select * from queue_unique_insert('jobs.q', '{"a": 1}')}), '6|f|kept',
		"$name: a unique job is still there");
	is( $node->safe_psql($database, q{select id, attempt, last_error from queue_pop('jobs.q', 10)}),
		"3|2|no luck\n4|1|\n5|1|\n7|1|\n6|1|", "$name: jobs are claimed, in their order");
	is($node->safe_psql($database, q{select string_agg(id || state, ' ' order by id) from jobs.q_archive}),
		'1completed 2completed', "$name: and archived");
	is( $node->safe_psql($database, q{insert into jobs.q (payload) values ('8'); select id, max_attempts from queue_pop('jobs.q')}),
		'8|3', "$name: plain SQL sends");
	return;
}

for my $format ('plain', 'custom', 'directory', 'tar')
{
	my $file = dump_to($format, '-t', 'jobs.q', '-t', 'jobs.q_archive');
	my $copy = new_database();
	restore($format, $file, $copy);
	is($node->safe_psql($copy, 'select count(*) from queues'), '0', "$format: the table is no queue");
	like(hint_of($copy, q{select queue_send('jobs.q', '1')}), qr/queue_adopt\('jobs\.q'\)/, "$format: the hint of a send");
	like(hint_of($copy, q{select queue_create('jobs.q')}), qr/queue_adopt\('jobs\.q'\)/, "$format: the hint of queue_create");
	is($node->safe_psql($copy, q{select queue_adopt('jobs.q')}), 'jobs.q', "$format: it is adopted");
	works($copy, "single table, $format");

	# The schema first, the data later: the registry's rows are data of the extension.
	my $schema = dump_to($format, '--schema-only');
	my $data = dump_to($format, '--data-only');
	$copy = new_database('select');
	restore($format, $schema, $copy);
	is($node->safe_psql($copy, 'select count(*) from queues'), '0', "$format: the schema only has no queue");
	restore($format, $data, $copy);
	works($copy, "schema only and data only, $format");

	# The schema only, for good.
	$copy = new_database('select');
	restore($format, $schema, $copy);
	is($node->safe_psql($copy, q{select queue_adopt('jobs.q'), queue_adopt('other')}), 'jobs.q|other', "$format: adopted without jobs");
	is($node->safe_psql($copy, $settings), $was{$settings}, "$format: the settings");
	is($node->safe_psql($copy, $indexes), $was{$indexes}, "$format: the indexes and the trigger");
	is($node->safe_psql($copy, q{select queue_send('jobs.q', '1'); select id from queue_pop('jobs.q')}), "1\n1", "$format: it works");
	# An attached queue is attached anew; its trigger has come along.
	is( $node->safe_psql($copy, q{
			select queue_attach('jobs.t', 'jobs.t', 'taken is null', 'id', 'taken = true', wake => true);
			insert into jobs.t values (3);
			select id from queue_pop_rows(null::jobs.t);
			select count(*) from pg_trigger where tgrelid = 'jobs.t'::regclass}),
		"\n3\n1", "$format: so does an attached one");
}

# The schema of the queue alone.
my $file = dump_to('custom', '-n', 'jobs');
my $copy = new_database('create extension queue_ext');
restore('custom', $file, $copy);
$node->safe_psql($copy, q{select queue_adopt('jobs.q')});
works($copy, 'a schema');

# Some tables of a dump of all: without indexes and triggers, which pg_restore leaves out.
$file = dump_to('custom');
$copy = new_database();
restore('custom', $file, $copy, '-n', 'jobs', '-t', 'q', '-t', 'q_id_seq', '-t', 'q_archive');
is($node->safe_psql($copy, q{select count(*) from pg_indexes where tablename = 'q'}), '0', 'pg_restore --table makes no index');
$node->safe_psql($copy, q{select queue_adopt('jobs.q')});
works($copy, 'pg_restore --table');

$copy = new_database();
restore('custom', $file, $copy, '-n', 'jobs', '-t', 'q');
my ($status, $out, $err) = $node->psql($copy, q{select queue_adopt('jobs.q')});
like($err, qr/column "id" of type bigint, not null, with a default/, 'pg_restore --table without the sequence: the error says so');
is( $node->safe_psql($copy, q{
		alter table jobs.q alter id add generated always as identity;
		select queue_adopt('jobs.q');
		select queue_send('jobs.q', '7')}), "jobs.q\n7", 'and then it can be helped');

# The tables before the extension: the trigger cannot be made, the rest is there.
$file = dump_to('plain', '-t', 'jobs.q', '-t', 'jobs.q_archive');
$copy = new_database('create schema jobs');
$node->command_checks_all([ 'psql', '-qX', '-f', $file, '-d', $copy ], 0, [], [qr/function public\.queue_wake\(\) does not exist/],
	'restored before the extension');
$node->safe_psql($copy, q{create extension queue_ext; select queue_adopt('jobs.q')});
works($copy, 'the extension later');

# Without comments.
$file = dump_to('plain', '--no-comments', '-t', 'jobs.q', '-t', 'jobs.q_archive');
$copy = new_database();
restore('plain', $file, $copy);
is( $node->safe_psql($copy, q{
		select queue_adopt('jobs.q');
		select lease, max_attempts, backoff_base, backoff_cap, archive from queues}),
	"jobs.q\n00:00:30|3|00:00:01|01:00:00|jobs.q_archive", 'without comments the settings are those of queue_create, as far as none is seen');

# The extension goes and comes back.
$copy = new_database('select');
restore('custom', dump_to('custom'), $copy);
$node->safe_psql($copy, q{drop extension queue_ext; create extension queue_ext});
like(hint_of($copy, q{select queue_pop('jobs.q')}), qr/queue_adopt/, 'DROP EXTENSION: the hint');
$node->safe_psql($copy, q{select queue_adopt('jobs.q')});
works($copy, 'DROP EXTENSION');

for my $each ($origin, $node)
{
	$each->stop;
	my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && !/administrator command/ } split /\n/, slurp_file($each->logfile);
	is(join("\n", @lines), '', 'the log of ' . $each->name . ' is quiet');
}
done_testing();
