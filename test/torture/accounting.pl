#!/usr/bin/env perl
# Many workers, a few faults, then the accounts, which are kept in the database: a
# worker that completes a job writes into a ledger in the same transaction, so what
# the client heard of a commit does not matter.
#
# Whether a pop comes back empty while a job stands ready is checked where that can be
# known: by a worker that has just sent one to a queue of its own; and, without faults,
# by many that share a queue, and send a job each before they take one, so that there is
# one for each of them at any moment.
#
# The server counts, too: at the end the statistics of the queue are those of the ledger.
#
#   QUEUE_EXT_JOBS=20000 QUEUE_EXT_CLIENTS=16 QUEUE_EXT_FAULTS=8 QUEUE_EXT_SEED=1 \
#       perl test/torture/accounting.pl                              prints TAP
#
# Needs a server (PGHOST etc.) with queue_ext installed, and pgbench in PATH. It
# makes a database of its own, and drops it. QUEUE_EXT_LONG=1 is a million jobs:
#
#   QUEUE_EXT_LONG=1 SUITE_TIMEOUT=7200 script/test torture

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Bench qw(run sql);
use Test::More;

my $is_long = $ENV{QUEUE_EXT_LONG};
my $jobs = $ENV{QUEUE_EXT_JOBS} || ($is_long ? 1_000_000 : 20_000);
my $clients = $ENV{QUEUE_EXT_CLIENTS} || ($is_long ? 32 : 16);
my $faults = $ENV{QUEUE_EXT_FAULTS} // ($is_long ? 400 : 8);
my $seed = $ENV{QUEUE_EXT_SEED} || 1 + int rand 1_000_000;
my $dir = $Bench::dir;
diag("seed $seed, $jobs jobs, $clients clients, $faults faults");

Bench::make_database('queue_ext_torture_');

# A ledger without any constraint: it must show what happened.
sql(q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour', max_attempts => 1000000);
	create table sent (id bigint, payload jsonb);
	-- A job is finished between two times: the defaults are evaluated after the call.
	create table ledger (id bigint, attempt integer, worker text, payload jsonb,
		finished_from timestamptz default statement_timestamp(), finished_to timestamptz default clock_timestamp());
	create table claimed (id bigint, attempt integer, worker text, run_at timestamptz, leased_until timestamptz, claimed_at timestamptz);
	create table retried (id bigint, attempt integer, how text, done boolean,
		finished_from timestamptz default statement_timestamp(), finished_to timestamptz default clock_timestamp());
	create table cut (id bigint, attempt integer, leased_until timestamptz);
	select queue_create('pairs', lease => '1 hour');
	create table own_sent (client integer, id bigint);
	create table own_done (client integer, id bigint, attempt integer);
	create table empty (what text, client integer);
});
sql("select queue_create('own_' || n, lease => '1 hour') from generate_series(0, $clients - 1) as n");

# What a worker does with one transaction. A receipt is always used in the
# transaction that claimed, or, "apart", in a later one.
my $account = q{
with job as materialized (select * from queue_pop('q', %d, '%s', worker => 'w' || :client_id)),
     noted as (insert into claimed select id, attempt, leased_by, run_at, leased_until, leased_until - '%s'::interval from job)
};

sub claim
{
	my ($count, $lease) = @_;
	$lease //= '1 hour';
	return sprintf $account, $count, $lease, $lease;
}

my %script = (
	# One job, in one transaction.
	one => "begin;" . claim(1) . q{
insert into ledger select id, attempt, leased_by, payload from job where queue_complete('q', id, attempt);
commit;},
	# The same, but the worker thinks better of it.
	rollback => "begin;" . claim(1) . q{
insert into ledger select id, attempt, leased_by, payload from job where queue_complete('q', id, attempt);
rollback;},
	fail => "begin;" . claim(2) . q{
insert into retried select id, attempt, 'fail', queue_fail('q', id, attempt, 'x', '0') from job;
commit;},
	release => "begin;" . claim(3) . q{
insert into retried select id, attempt, 'release', queue_release('q', id, attempt) from job;
commit;},
	# Claimed and committed, completed apart; with luck, twice.
	apart => claim(1) . q{
select coalesce(max(id), -1) as id, coalesce(max(attempt), -1) as attempt from job \gset
begin isolation level repeatable read;
insert into ledger select :id::bigint, :attempt::integer, 'apart', payload from q where id = :id::bigint and queue_complete('q', :id::bigint, :attempt::integer);
commit;
insert into ledger select :id::bigint, :attempt::integer, 'again', null where queue_complete('q', :id::bigint, :attempt::integer);
},
	# A lease so short that another worker may have the job by the time it is done.
	stale => claim(1, '1 microsecond') . q{
select coalesce(max(id), -1) as id, coalesce(max(attempt), -1) as attempt from job \gset
\sleep 2 ms
insert into ledger select :id::bigint, :attempt::integer, 'stale', null where queue_complete('q', :id::bigint, :attempt::integer);
},
	serializable => "begin isolation level serializable;" . claim(1) . q{
insert into ledger select id, attempt, leased_by, payload from job where queue_complete('q', id, attempt);
commit;},
	savepoint => "begin;\nsavepoint s;" . claim(4) . q{
insert into ledger select id, attempt, leased_by, payload from job where queue_complete('q', id, attempt);
rollback to s;} . claim(1) . q{
insert into ledger select id, attempt, leased_by, payload from job where queue_complete('q', id, attempt);
commit;},
);
# A batch, in a stricter transaction. Its receipts come back in another order.
$script{batch} = q{begin isolation level repeatable read;
} . claim(10) . q{
select coalesce(array_agg(id order by id desc), '{}') as ids, coalesce(array_agg(attempt order by id desc), '{}') as attempts from job \gset
with done as materialized (select id from queue_complete_many('q', ':ids', ':attempts') as d(id))
insert into ledger select d.id, r.attempt, 'batch', null
from done d join unnest(':ids'::bigint[], ':attempts'::integer[]) as r(id, attempt) using (id);
commit;};
# No other client takes from this queue.
$script{own} = q{
with job as materialized (select queue_send('own_' || :client_id, '1') as id)
insert into own_sent select :client_id::integer, id from job;
with job as materialized (select * from queue_pop('own_' || :client_id)),
     noted as (insert into own_done select :client_id::integer, id, attempt from job
               where queue_complete('own_' || :client_id, id, attempt))
insert into empty select 'own', :client_id::integer where not exists (select from job);};
my %weight = (own => 2, one => 8, batch => 2, apart => 4, stale => 3, serializable => 1, savepoint => 2, rollback => 2,
	fail => 1, release => 1);

my %files;
for my $name (sort keys %script)
{
	open my $file, '>', "$dir/$name.sql" or die $!;
	print $file "$script{$name}\n";
	close $file;
	push @{ $files{simple} }, '-f', "$dir/$name.sql\@$weight{$name}";
	# pgbench has no arrays among its variables, only text to put into a query.
	push @{ $files{prepared} }, '-f', "$dir/$name.sql\@$weight{$name}" if $name ne 'batch';
}

# Most jobs are there before the workers come, the rest are sent while they work.
my $first = int($jobs * 0.8);
my $send = q{with n as materialized (select jsonb_build_object('n', i) as payload from generate_series(%d, %d) i),
	s as materialized (select id from queue_send_many('q', (select array_agg(payload order by (payload->>'n')::int) from n)) as s(id))
	insert into sent select id, jsonb_build_object('n', %d + row_number() over (order by id) - 1) from s};
sql(sprintf $send, 1, $first, 1);

my $unknown = 0;
my $killed = 0;
my $deadline = time + ($is_long ? 7200 : 900);
my $round = 0;
my $next = $first + 1;
# On until a session was ended, too: a machine that stands still may leave no time for that.
while (sql('select count(*) from q') > 0 || $next <= $jobs || ($faults > 0 && $killed == 0))
{
	time < $deadline or last;
	my $mode = ++$round % 2 ? 'simple' : 'prepared';
	# Each serves until it has done its share or lost its session.
	my $pid = Bench::start("$dir/bench.$round", '-M', $mode, '-c', $clients, '-t', 1 + int($jobs / $clients / 3),
		'--max-tries=10', '--random-seed', $seed + $round, @{ $files{$mode} });
	if ($next <= $jobs)
	{
		my $last = $next + int($jobs / 10);
		$last = $jobs if $last > $jobs;
		sql(sprintf $send, $next, $last, $next);
		$next = $last + 1;
	}
	$killed += Bench::end_sessions($pid, $faults - $killed, 0.2);
	my ($unheard, @odd) = Bench::errors_in(Bench::lines_of("$dir/bench.$round"));
	$unknown += $unheard;
	is(join('', @odd), '', "no unexpected error in round $round");
	# What was claimed by a session that died before it completed comes back now.
	sql(q{with u as (update q set leased_until = clock_timestamp() where leased_until is not null returning *)
		insert into cut select id, attempt, leased_until from u});
}

note("$round rounds, $killed sessions terminated, $unknown outcomes unknown to a client");
note(sql(q{select 'claims ' || (select count(*) from claimed) || ', retried ' || (select count(*) from retried)}));
cmp_ok(sql(q{select count(*) from claimed c where attempt > 1}), '>', 0,
	'jobs were claimed again');
ok($killed > 0 || $faults == 0, "sessions were terminated");
is(sql('select count(*) from sent'), $jobs, 'all jobs were sent');
is(sql('select count(*) from q'), '0', 'no job is left');
is(sql('select count(*) from sent s where not exists (select from ledger l where l.id = s.id)'), '0', 'no job is lost');
is(sql('select count(*) from ledger l where not exists (select from sent s where s.id = l.id)'), '0', 'no job is invented');
is(sql('select count(*) from (select id from ledger group by id having count(*) > 1) as t'),
	'0', 'no job is completed twice');
is(sql('select count(*) from (select id, attempt from claimed group by 1, 2 having count(*) > 1) as t'),
	'0', 'no claim is handed out twice');
is(sql('select count(*) from ledger l where not exists (select from claimed c where (c.id, c.attempt) = (l.id, l.attempt))'),
	'0', 'no completion without its claim');
is(sql('select count(*) from ledger l join claimed c on c.id = l.id and c.attempt > l.attempt'),
	'0', 'no claim after a completion, so no stale receipt was good');
is(sql('select count(*) from ledger l join sent s using (id) where l.payload <> s.payload'),
	'0', 'payloads are what was sent');
is(sql('select count(*) from retried where not done'), '0', 'whoever held a job could give it back');
is(sql(q{select count(*) from ledger where worker = 'again'}), '0', 'no receipt is good twice');
my %used = map { split /\|/ } split /\n/, sql(q{select how, count(*) from retried group by how});
cmp_ok($used{fail} || 0, '>', 0, 'jobs failed');
cmp_ok($used{release} || 0, '>', 0, 'jobs were released');

# What the server has counted. A claim ends by a completion, a failure, a release, or the end of its lease.
{
	sql(q{
		create view ended as
			select id, attempt, finished_from, finished_to, true as is_run from ledger
			union all select id, attempt, finished_from, finished_to, how = 'fail' from retried where done;
		create table waited as
			select extract(epoch from greatest(claimed_at - case when expired then greatest(run_at, lease_end) else run_at end, '0'))
				as seconds, expired
			from (select c.*, p.id is not null and e.id is null as expired, coalesce(t.leased_until, p.leased_until) as lease_end
				from claimed c left join claimed p on (p.id, p.attempt) = (c.id, c.attempt - 1)
					left join ended e on (e.id, e.attempt) = (p.id, p.attempt)
					left join (select id, attempt, max(leased_until) as leased_until from cut group by 1, 2) as t
						on (t.id, t.attempt) = (p.id, p.attempt)) as c;
		create table ran as
			select extract(epoch from finished_from - claimed_at) as least, extract(epoch from finished_to - claimed_at) as most
			from ended join claimed using (id, attempt) where is_run;
	});
	# A look that only the statistics need comes a second after the last one; after a change of the table, at once.
	# A transaction that has written does not count what it sees, and psql makes one of all statements of a -c.
	sql('alter table q alter payload set statistics 100');
	sql(q{select queue_pop('q')});
	my $counted = q{sent, claimed, completed, failed, retried, dead, released, cancelled, expired, duplicates, waits, ready, ready_exact,
		scheduled, leased, oldest_ready_at, oldest_exact};
	is(sql("select $counted from queue_stats where source = 'q'::regclass"), sql(q{select (select count(*) from sent),
			(select count(*) from claimed), (select count(*) from ledger), count(*) filter (where how = 'fail'),
			count(*) filter (where how = 'fail'), 0, count(*) filter (where how = 'release'), 0,
			(select count(*) from waited where expired), 0, 0, 0, true, 0, 0, null, true from retried}),
		'the counters are those of the ledger');
	cmp_ok(sql('select count(*) from waited where expired'), '>', 0, 'leases ended');
	is(sql(q{select le, jobs, round(total_seconds::numeric, 6) from queue_wait_histogram where source = 'q'::regclass order by le}),
		sql(q{select le, count(*) filter (where seconds <= le), round(sum(seconds), 6)
			from waited, (select le from queue_wait_histogram where source = 'q'::regclass) as b group by le order by le}),
		'the times until a claim are those of the ledger');
	is(sql(q{select le, jobs, total_seconds from queue_run_histogram h where source = 'q'::regclass
			and not (jobs between (select count(*) from ran where most <= le) and (select count(*) from ran where least <= le)
				and total_seconds between (select sum(least) from ran) and (select sum(most) from ran))}),
		'', 'the times from a claim are between those of the ledger')
	  or diag(sql('select count(*), sum(least), sum(most) from ran'));
	is(sql(q{select jobs from queue_run_histogram where source = 'q'::regclass and le = 'infinity'}), sql('select count(*) from ran'),
		'and there is one for each completion and failure');
	is(sql("select coalesce(string_agg(claimed::text, ','), '') from queue_stats
			where source <> 'q'::regclass and source <> 'pairs'::regclass and claimed <>
				(select count(*) from own_done where 'own_' || client = source::text)"), '', 'so it is in the queues of single workers');
}

# What was sent in a session that died has been left for others, of the next round, or
# is there still.
my $left = join ' union all ', map { "select $_ as client, id from own_$_" } 0 .. $clients - 1;
cmp_ok(sql('select count(*) from own_done'), '>', $jobs / 100, 'workers took from queues of their own');
is(sql("select count(*) from (select client, id from own_done union all $left) as t"), sql('select count(*) from own_sent'),
	'nothing is lost there');
is(sql("select count(*) from (select client, id from own_done union all $left) as t
		full join own_sent as s on (s.client, s.id) = (t.client, t.id) where s.id is null or t.id is null"),
	'0', 'nothing is there twice');
is(sql(q{select count(*) from empty where what = 'own'}), '0', 'no pop is empty after a send');

# No client dies here. All jobs are due long since: one that is sent as due now is not due
# yet by the clock of a call that has begun before.
{
	open my $file, '>', "$dir/pairs.sql" or die $!;
	print $file q{
select queue_send('pairs', '1', run_at => '2020-01-01');
with job as materialized (select * from queue_pop('pairs')),
     done as materialized (select queue_complete('pairs', id, attempt) from job)
insert into empty select 'pairs', :client_id::integer where not exists (select from done);
};
	close $file;
	my ($status, $said) = run('pgbench', '-n', '-M', 'prepared', '-c', $clients, '-j', 2, '-t', 1 + int($jobs / $clients / 4),
		'--random-seed', $seed, '-f', "$dir/pairs.sql", $Bench::database);
	is($status, 0, 'workers share a queue') or diag($said);
	is(sql(q{select count(*) from empty where what = 'pairs'}), '0', 'no pop is empty while a job stands ready');
	is(sql('select count(*) from pairs'), '0', 'as many are taken as are sent');
}

is(sql('select deadlocks from pg_stat_database where datname = current_database()'), '0', 'no deadlock');

Bench::amcheck_finds_nothing();

diag("again: QUEUE_EXT_SEED=$seed script/test torture") unless Test::More->builder->is_passing;
done_testing();
