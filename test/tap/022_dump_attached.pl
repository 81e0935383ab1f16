# A dump takes attached queues along: each is a queue after the restore, with its
# fragments and the search path they were written under.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump_attached');
$node->init;
$node->start;
$node->safe_psql('postgres', 'create database origin');
$node->safe_psql(
	'origin', q{
	create schema tools;
	create extension queue_ext schema tools;
	create schema helpers;
	create schema "Odd; Schema";
	create function helpers.is_due(integer) returns boolean language sql immutable return $1 > 1;
	create type helpers.mood as enum ('sad', 'happy');
	create table "Odd; Schema".t (id integer primary key, mood helpers.mood not null default 'sad', note text);
	create index on "Odd; Schema".t (id) where mood = 'sad' and helpers.is_due(id);
	insert into "Odd; Schema".t select generate_series(1, 5);
	create table public.gone (id integer primary key);
	create table public.parted (id integer primary key, state integer not null default 0) partition by list (id);
	create table public.parted_1 partition of public.parted for values in (1, 2);
	insert into public.parted values (1), (2);
	set search_path = "Odd; Schema", helpers, tools;
	select queue_attach('t', 't', $$is_due(id) and mood = 'sad'::mood$$, 'id desc', $$mood = 'happy', note = 'it''s "taken" \ $q$'$$,
		on_release => $$mood = 'sad', note = null$$, on_extend => 'note = lease::text', lease => '7 minutes');
	select queue_attach('locks', 't', 'is_due(id)', 'id', claim_mode => 'session');
	set search_path = public, tools;
	select queue_attach('gone', 'gone', 'true', claim_mode => 'transaction');
	select queue_attach('paused', 'parted', 'state = 0', 'id', 'state = 1');
	select queue_pause('paused');
	drop table gone;
	select id from queue_pop_rows(null::"Odd; Schema".t, '"Odd; Schema".t');
});
my $state = q{
	set search_path = tools;
	select queue, source, managed, claim_mode, paused, lease, pending, order_by, on_claim, on_complete, on_release, on_fail, on_extend, search_path
	from queues order by queue;
	select * from "Odd; Schema".t order by id;
	select * from public.parted order by id;
};
my $before = $node->safe_psql('origin', $state);
like($before, qr/"Odd; Schema", helpers, tools/, 'the queues before');

my $dir = PostgreSQL::Test::Utils::tempdir();
for my $format ('plain', 'custom', 'directory')
{
	my $copy = "copy_$format";
	my $file = "$dir/$format.dump";
	$node->command_ok([ 'pg_dump', '-F', $format, '-f', $file, $node->connstr('origin') ], "dump as $format");
	$node->safe_psql('postgres', "create database $copy");
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($copy) ]
		: [ 'pg_restore', '--exit-on-error', $format eq 'directory' ? ('-j', '2') : (), '-d', $node->connstr($copy), $file ],
		'restore it');
	is($node->safe_psql($copy, $state), $before, 'all is there');
	is($node->safe_psql($copy, 'select count(*) from tools.queue_definition'), 3, 'but not the queue whose table was gone');

	# With none of the schemas on the path.
	my $pop = q{select id, mood, note from tools.queue_pop_rows(null::"Odd; Schema".t, '"Odd; Schema".t', 2)};
	is($node->safe_psql($copy, $pop), qq{4|happy|it's "taken" \\ \$q\$\n3|happy|it's "taken" \\ \$q\$}, 'rows are popped');
	is( $node->safe_psql($copy, q{select tools.queue_release_row('"Odd; Schema".t', t) from "Odd; Schema".t t where id = 5}),
		't', 'a receipt from before is good');
	is( $node->safe_psql($copy, q{
			select id from tools.queue_pop_rows(null::"Odd; Schema".t, '"Odd; Schema".locks', 2);
			select count(*) from pg_locks where locktype = 'advisory'}),
		"2\n3\n2", 'rows are locked');
	is($node->safe_psql($copy, q{select count(*) from tools.queue_pop_rows(null::public.parted)}), 0, 'a paused queue');
	is( $node->safe_psql($copy, q{select tools.queue_resume('public.paused'); select id from tools.queue_pop_rows(null::public.parted, 'public.paused', 5)}),
		"t\n1\n2", 'is resumed');
	is( $node->safe_psql($copy, q{set search_path = tools; select queue_detach('"Odd; Schema".t'); select queue_attach('"Odd; Schema".t', '"Odd; Schema".t', 'id = 1', 'id', 'id = 9')}),
		"t\n", 'detached, and attached anew');
}

# DROP EXTENSION leaves the tables; after CREATE EXTENSION they are no queues.
is( $node->safe_psql('origin', q{
		drop extension queue_ext;
		create extension queue_ext schema tools;
		select count(*) from tools.queues;
		select count(*) from "Odd; Schema".t;
		set search_path = tools;
		select queue_attach('"Odd; Schema".t', '"Odd; Schema".t', 'id = 1', 'id', 'id = 9');
		select id from queue_pop_rows(null::"Odd; Schema".t)}),
	"0\n5\n\n9", 'dropping the extension leaves the table');

$node->stop;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && !/no index supports|administrator command/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
done_testing();
