# Throttles and locks outlive what sessions and servers do not: a crash, a prepared
# transaction, promotion, dump and restore. One backend makes very many calls, and
# its memory stays what it was.
#
# QUEUE_EXT_LOCK_CALLS (1,000,000) says how many.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = $ENV{QUEUE_EXT_LOCK_CALLS} || 1_000_000;
my $most = 1_000_000;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', 'max_prepared_transactions = 10');
$primary->append_conf('postgresql.conf', 'restart_after_crash = on');
$primary->start;
$primary->safe_psql('postgres', 'create extension queue_ext');

sub sql
{
	my ($query, $node) = @_;
	return ($node || $primary)->safe_psql('postgres', $query);
}

# Of a statement that fails.
sub sqlstate
{
	my ($query, $node) = @_;
	my ($status, $out, $error) = ($node || $primary)
	  ->psql('postgres', $query, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $error =~ /ERROR:  (\w{5}):/ ? $1 : "none: $out";
}

# A crash.
sql(q{
	select throttle_create(r, '1 hour') from unnest(array['granted', 'open', 'prepared', 'killed']) as r;
	select throttle_create('many', '1 hour', 3);
});
is(sql(q{select lock_throttled_resource('granted', 'before')}), 't', 'a resource is locked');
is(sql(q{select lock_throttled_resource('many', n::text) from generate_series(1, 2) as n}), "t\nt", 'and another, twice');
is(sql(q{select token from mutex_acquire_fenced('held')}), '1', 'a mutex is acquired');
is(sql(q{select token from timeout_acquire_fenced('timed', '1 hour')}), '1', 'a lock with a timeout');
is(sql(q{select mutex_acquire('used'), mutex_release('used'), mutex_acquire('used'), mutex_release('used')}),
	't|t|t|t', 'and one that is released again');
sql(q{select lock_set_retries('few', 2), mutex_acquire('few'), mutex_release('few')});
# A transaction that is open when the server crashes.
my $open = $primary->background_psql('postgres');
is($open->query_safe(q{begin; select lock_throttled_resource('open', 'x'), mutex_acquire('open'), mutex_release('held')}),
	't|t|t', 'a transaction is open');
is(sql(q{begin; select lock_throttled_resource('prepared', 'x'), mutex_acquire('prepared'); prepare transaction 'p'}),
	't|t', 'a transaction is prepared');
my ($status) = $primary->psql('postgres',
	q{begin; select lock_throttled_resource('killed', 'x'), mutex_acquire('killed'), mutex_release('timed');
	select pg_terminate_backend(pg_backend_pid())});
isnt($status, 0, 'a session is ended');

sub check_all
{
	my ($when, $node) = @_;
	is(sql(q{select lock_throttled_resource('granted', 'after')}, $node), 'f', "$when: the resource is still locked");
	is(sql(q{select last_locker_details from throttled_resource where resource = 'granted'}, $node),
		'before', "$when: by the same");
	is(sql(q{select cardinality(earlier_grants) from throttled_resource where resource = 'many'}, $node),
		'1', "$when: earlier grants are known");
	is(sql(q{select mutex_acquire('held'), mutex_acquire('timed')}, $node), 'f|f', "$when: the locks are held");
	is(sql(q{select task_id, token, until is not null from held_locks where task_id in ('held', 'timed') order by 1}, $node),
		"held|1|f\ntimed|1|t", "$when: by whoever acquired them");
	is(sql(q{select held, token from named_lock where task_id = 'used'}, $node), 'f|2', "$when: tokens are known");
	is(sql(q{select retries_left from named_lock where task_id = 'few'}, $node), '1', "$when: retries are known");
	is(sql(q{select last_locked from throttled_resource where resource = 'killed'}, $node),
		'-infinity', "$when: what was not committed is gone");
	is(sql(q{select count(*) from named_lock where task_id = 'killed'}, $node), '0', "$when: that too");
	return;
}
check_all('before the crash');
$primary->stop('immediate');
eval { $open->quit };
$primary->start;
check_all('after the crash');
is(sql(q{select lock_throttled_resource('open', 'after'), mutex_acquire('open')}), 't|t',
	'what an open transaction had is free');

# The prepared transaction has survived; it counts as open.
is(sql(q{select lock_throttled_resource('prepared', 'after')}), 'f', 'prepared: the resource is locked');
is(sqlstate(q{set lock_timeout = '10ms'; select mutex_acquire('prepared')}), '55P03', 'prepared: the mutex is waited for');
sql(q{rollback prepared 'p'});
is(sql(q{select lock_throttled_resource('prepared', 'after'), (mutex_acquire_fenced('prepared')).token}), 't|1',
	'rolled back, both are free');
is(sql(q{begin; select mutex_release('prepared'); prepare transaction 'p'}), 't', 'a release is prepared');
is(sql(q{select mutex_acquire('prepared')}), 'f', 'the mutex is held as long');
sql(q{commit prepared 'p'});
is(sql(q{select (mutex_acquire_fenced('prepared')).token}), '2', 'then it is free');

# A standby, and its promotion.
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
sql(q{select mutex_release('used')});
is(sql(q{select token from mutex_acquire_fenced('streamed')}), '1', 'a mutex that the standby has to hear of');
$primary->wait_for_catchup($standby);
is(sql(q{select task_id from held_locks where task_id in ('held', 'streamed') order by 1}, $standby),
	"held\nstreamed", 'locks are listed on a standby');
is(sqlstate(q{select mutex_acquire('held')}, $standby), '25006', 'but not acquired');
is(sqlstate(q{select lock_throttled_resource('granted', 'x')}, $standby), '25006', 'nor is a resource denied there');
$primary->stop('immediate');
$standby->promote;
check_all('after promotion', $standby);
is(sql(q{select mutex_acquire('streamed'), mutex_release('streamed', 1), (mutex_acquire_fenced('streamed')).token}, $standby),
	'f|t|2', 'tokens grow on');

# Dump and restore.
my $dir = PostgreSQL::Test::Utils::tempdir();
$standby->command_ok([ 'pg_dump', '-f', "$dir/dump", $standby->connstr('postgres') ], 'dump');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init;
$copy->append_conf('postgresql.conf', 'synchronous_commit = off');
$copy->start;
$copy->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/dump", $copy->connstr('postgres') ], 'restore');
check_all('after restoring', $copy);
is(sql(q{select mutex_release('streamed', 1), mutex_release('streamed', 2), (mutex_acquire_fenced('streamed')).token}, $copy),
	'f|t|3', 'tokens grow on');
is(sql(q{select lock_throttled_resource('many', n::text) from generate_series(3, 4) as n}, $copy), "t\nf", 'and so does the window');

# Memory.
$copy->safe_psql(
	'postgres', q{
	select throttle_create('now', '1 microsecond'), throttle_create('window', '1 microsecond', 10);
	-- Ten calls, in two transactions.
	create procedure work(rounds integer) language plpgsql as $$
	begin
		for i in 1 .. rounds loop
			perform lock_throttled_resource('granted', 'x'), lock_throttled_resource('now', 'x'),
				lock_throttled_resource('window', 'x'), mutex_acquire('held'), mutex_release('m');
			commit;
			perform mutex_acquire('m'), mutex_release('m'), timeout_acquire_fenced('m', '1 microsecond'),
				mutex_acquire('held'), lock_throttled_resource('granted', 'y');
			if i % 100 = 0 then
				rollback;
			else
				commit;
			end if;
		end loop;
	end $$;
	create function used(out contexts bigint, out process bigint) language sql as $$
		select (select sum(total_bytes) from pg_backend_memory_contexts),
			1024 * substring(pg_read_file('/proc/self/status') from 'RssAnon:\s*(\d+) kB')::bigint;
	$$;
});
sub growth
{
	my ($query, $warm_up, $rounds) = @_;
	my $out = $copy->safe_psql('postgres',
		join 'select * from used();', map({ sprintf "$query;", $_ } $warm_up, $warm_up, $rounds), '');
	note("$query: contexts|process after warm-up, after $warm_up, after $rounds more:\n$out");
	my @used = map { [ split /\|/ ] } grep { /^\d+\|\d+$/ } split /\n/, $out;
	return ($used[2][0] - $used[1][0], $used[2][1] - $used[1][1]);
}
my ($contexts, $process) = growth('call work(%d)', 2000, $calls / 10);
cmp_ok($contexts, '<', $most, "memory contexts after $calls calls");
cmp_ok($process, '<', $most, "the process after $calls calls");
# In one statement: denials of all kinds.
($contexts, $process) = growth(
	q{select count(lock_throttled_resource('granted', 'x') and mutex_acquire('held')) from generate_series(1, %d)},
	2000, $calls / 10);
cmp_ok($contexts, '<', $most, 'memory contexts after one statement');
cmp_ok($process, '<', $most, 'the process after one statement');

# The tables stay small, and indexes get no entry for a grant.
cmp_ok(sql(q{select pg_relation_size('named_lock') + pg_relation_size('throttled_resource')}, $copy), '<', $most,
	'the tables stay small');
cmp_ok(sql(q{select 100 * n_tup_hot_upd / n_tup_upd from (select sum(n_tup_hot_upd) as n_tup_hot_upd,
	sum(n_tup_upd) as n_tup_upd from pg_stat_user_tables where relname in ('named_lock', 'throttled_resource')) as t}, $copy),
	'>', 95, 'writes are HOT');

$standby->stop;
$copy->stop;
for my $node ($standby, $copy)
{
	my @lines = grep { /\b(WARNING|PANIC|leak|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @lines), '', 'the log of ' . $node->name . ' is quiet');
}

done_testing();
