#!/usr/bin/env perl
# Many clients insert the same few jobs, alone and in batches, at every isolation level;
# a third thinks better of it, workers complete what there is, and sessions are killed.
# Then the accounts, which are kept in the database: a call's outcome is written into a
# ledger in the same transaction, so what the client heard of a commit does not matter.
#
#   CALLS=8000 CLIENTS=32 KEYS=1000 FAULTS=8 test/torture/unique.pl     prints TAP
#
# That there is at most one live job for a key at every moment, a table with a unique
# key sees to, which a trigger keeps: a second one would be an error, and is counted.
#
# Needs a server (PGHOST etc.) with queue_ext installed, and pgbench in PATH. It makes
# a database of its own, and drops it. LONG=1 is 25 times the calls.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Bench qw(sql);
use Test::More;

my $calls = $ENV{CALLS} || ($ENV{LONG} ? 200_000 : 8_000);
my $clients = $ENV{CLIENTS} || 32;
my $keys = $ENV{KEYS} || 1_000;
my $faults = defined $ENV{FAULTS} ? $ENV{FAULTS} : ($ENV{LONG} ? 200 : 8);
my $seed = $ENV{QUEUE_EXT_SEED} || $ENV{SEED} || 1 + int rand 1_000_000;
my $dir = $Bench::dir;
diag("seed $seed, $calls calls, $keys keys, $clients clients, $faults faults");

sub is_zero
{
	my ($query, $name) = @_;
	return is(sql($query), '0', $name);
}

Bench::make_database('queue_ext_unique_');

# q: a key without a job may get one. p: one in each period, done or not. rows: a
# table of the user's own, one row for each key.
sql(q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour', max_attempts => 1000000), queue_create('p', lease => '1 hour');
	create table rows (id bigint generated always as identity, k integer);
	create index on rows (k);
	create table ledger (call text, k integer, id bigint, inserted boolean);
	create table finished (call text, id bigint);
	create table live (k integer primary key);
	create function note_live() returns trigger language plpgsql as $$
	begin
		if tg_op = 'INSERT' then
			insert into live values ((new.payload ->> 'k')::integer);
			return new;
		end if;
		delete from live where k = (old.payload ->> 'k')::integer;
		return old;
	end $$;
	create trigger note_live after insert or delete on q for each row execute function note_live();
});

my $one = q{insert into ledger select 'q', :k, u.id, u.inserted from queue_unique_insert('q', jsonb_build_object('k', :k::integer)) as u;};
my $period = q{insert into ledger select 'p', :k, u.id, u.inserted
from queue_unique_insert('p', jsonb_build_object('k', :k::integer, 'n', :n::integer), '{k}', '1 day', run_at => '2026-01-01 12:00:00+00') as u;};
my $row = q{insert into ledger select 'rows', :k, (u.job).id, u.inserted
from queue_unique_insert_row(jsonb_populate_record(null::rows, jsonb_build_object('k', :k::integer)), '{k}') as u;};
my $many = q{insert into ledger select 'q', 1 + (:k::integer + i::integer * :step::integer) %% :keys::integer, u.id, u.inserted
from queue_unique_insert_many('q', array(select jsonb_build_object('k', 1 + (:k::integer + i::integer * :step::integer) %% :keys::integer) from generate_series(1, %d) as i))
	with ordinality as u(id, inserted, outcome, i);};
my @levels = ('read committed', 'repeatable read', 'serializable');
my %script = (
	work => q{begin;
insert into finished select 'q', id from queue_pop('q', 5) where queue_complete('q', id, attempt);
insert into finished select 'p', id from queue_pop('p', 2) where queue_complete('p', id, attempt);
commit;},
	savepoint => "begin;\nsavepoint s;\n$one\nrollback to s;\n$one\nrollback to s;\n$period\ncommit;",
);
for my $i (0 .. 2)
{
	my $begin = "begin isolation level $levels[$i];\n";
	# The snapshot is taken before the call.
	my $early = $i > 0 ? "select 1;\n" : '';
	$script{"one$i"} = "$begin$early$one\ncommit;";
	$script{"period$i"} = "$begin$early$period\ncommit;";
	$script{"row$i"} = "$begin$early$row\ncommit;";
	$script{"back$i"} = "$begin$early$one\n$many\nrollback;" =~ s/\Q$many\E/sprintf $many, 3/er;
	$script{"backrow$i"} = "$begin$early$row\n$period\nrollback;";
	$script{"many$i"} = $begin . $early . sprintf($many, 20) . "\ncommit;";
	$script{"backmany$i"} = $begin . $early . sprintf($many, 20) . "\nrollback;";
}
# More keys than are locked one by one.
$script{huge} = "begin;\n" . sprintf($many, 300) . "\ncommit;";
my %weight = (work => 6, savepoint => 2, huge => 1,
	map({ ("one$_" => 4, "period$_" => 2, "row$_" => 2, "back$_" => 2, "backrow$_" => 2, "many$_" => 1, "backmany$_" => 1) } 0 .. 2));

my @files;
for my $name (sort keys %script)
{
	open my $file, '>', "$dir/$name.sql" or die $!;
	print $file "\\set k random(1, :keys)\n\\set n random(1, 1000000)\n\\set step random(1, :keys - 1)\n$script{$name}\n";
	close $file;
	push @files, '-f', "$dir/$name.sql\@$weight{$name}";
}

my $killed = 0;
my $unknown = 0;
my $done = 0;
my $deadline = time + ($ENV{LONG} ? 3600 : 900);
# On until a session was ended, too: a machine that stands still may leave no time for that.
for (my $round = 1; ($done < $calls || ($faults > 0 && $killed == 0)) && time < $deadline; $round++)
{
	# Each serves until it has done its share or lost its session.
	my $pid = Bench::start("$dir/bench.$round", '-M', $round % 2 ? 'simple' : 'prepared', '-c', $clients,
		'-t', 1 + int($calls / $clients / 4), '-D', "keys=$keys", '--max-tries=100', '--random-seed', $seed + $round, @files);
	$killed += Bench::end_sessions($pid, $faults - $killed, 0.2);
	my @lines = Bench::lines_of("$dir/bench.$round");
	my ($unheard, @odd) = Bench::errors_in(@lines);
	$unknown += $unheard;
	is(join('', @odd), '', "no unexpected error in round $round");
	$done += $_ for map { /transactions actually processed: (\d+)/ ? $1 : () } @lines;
}
cmp_ok($done, '>=', $calls, 'the calls were made') or diag("$done of $calls");
note("$killed sessions terminated, $unknown outcomes unknown to a client");
note(sql(q{select string_agg(format('%s: %s calls, %s inserted', call, calls, inserted), '; ')
	from (select call, count(*) as calls, count(*) filter (where inserted) as inserted from ledger group by call) as t}));
ok($killed > 0 || $faults == 0, 'sessions were terminated');

# One live job for a key.
is_zero(q{select count(*) from (select payload from q group by payload having count(*) > 1) as t}, 'q: no key has two jobs');
is_zero(q{select count(*) from (select k from rows group by k having count(*) > 1) as t}, 'rows: no key has two rows');
is_zero(q{select count(*) from (select k from ledger where call = 'p' and inserted group by k having count(*) > 1) as t},
	'p: no key was inserted twice, though its job is done');
# What was said to be inserted is there, or was completed; and nothing else is.
for my $queue ('q', 'p')
{
	is_zero(qq{select count(*) from ledger where call = '$queue' and inserted and id not in (
		select id from $queue union all select id from finished where call = '$queue')}, "$queue: no inserted job is lost");
	is_zero(qq{select count(*) from $queue where id not in (select id from ledger where call = '$queue' and inserted)},
		"$queue: no job is there that nobody inserted");
	is_zero(qq{select count(*) from (select id from finished where call = '$queue' group by id having count(*) > 1) as t},
		"$queue: no job was completed twice");
	is_zero(qq{select count(*) from (select id from ledger where call = '$queue' and inserted group by id having count(*) > 1) as t},
		"$queue: no job was inserted twice");
}
is_zero(q{select count(*) from ledger where call = 'rows' and inserted and id not in (select id from rows)}, 'rows: no row is lost');
# A duplicate names a job of its key that was inserted.
is_zero(q{select count(*) from ledger d where not inserted and not exists (
	select from ledger i where i.call = d.call and i.k = d.k and i.id = d.id and i.inserted)}, 'a duplicate is of a job that was inserted');
for my $call ('q', 'p', 'rows')
{
	cmp_ok(sql(qq{select count(*) from ledger where call = '$call' and not inserted}), '>', 0, "$call: there were duplicates");
}
# Sessions that were ended may take a moment.
for (1 .. 1200)
{
	last if sql(q{select count(*) from pg_stat_activity where application_name = 'torture' and pid <> pg_backend_pid()}) eq '0';
	select undef, undef, undef, 0.1;
}
is_zero(q{select count(*) from pg_locks where locktype = 'advisory'}, 'no lock is left');
diag("again: QUEUE_EXT_SEED=$seed script/test unique") unless Test::More->builder->is_passing;
done_testing();
