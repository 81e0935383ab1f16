# Unique inserts on whole servers: the winner is killed, the server crashes while it
# waits to be committed, a dump is restored, and one backend makes very many calls.
#
# QUEUE_EXT_CALLS (100,000) says how many.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = $ENV{QUEUE_EXT_CALLS} || 100_000;

my $node = PostgreSQL::Test::Cluster->new('unique');
$node->init(extra => [ '--locale=C', '--encoding=UTF8' ]);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$node->append_conf('postgresql.conf', 'synchronous_commit = off');
$node->append_conf('postgresql.conf', 'shared_buffers = 64MB');
$node->start;

sub sql
{
	my ($query, $database) = @_;
	return $node->safe_psql($database || 'postgres', $query);
}

sub error_of
{
	my ($query) = @_;
	my ($status, $out, $error) = $node->psql('postgres', $query, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
	return $error;
}

sql(q{create extension queue_ext; select queue_create('q'); create table rows (id integer primary key, note text)});

# The winner is killed: the session that waits for it inserts.
my $winner = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $winner->query(q{begin; select pg_backend_pid()});
$pid =~ s/\D//g;
$winner->query(q{select inserted from queue_unique_insert('q', '"killed"', period => '1 day', run_at => '2026-01-01')});
$winner->query(q{select inserted from queue_unique_insert_row(row(1, 'killed')::rows, '{id}')});
my $waiter = $node->background_psql('postgres', on_error_stop => 0);
$waiter->query_until(qr/waits/, q{\echo waits
select 'job', inserted from queue_unique_insert('q', '"killed"', period => '1 day', run_at => '2026-01-01');
select 'row', inserted, (job).note from queue_unique_insert_row(row(1, 'waiter')::rows, '{id}');
});
ok($node->poll_query_until('postgres', q{select exists (select from pg_locks where locktype = 'advisory' and not granted)}),
	'one waits for the other');
sql("select pg_terminate_backend($pid)");
like($waiter->query(q{select 'over'}), qr/job\|t\nrow\|t\|waiter\nover/, 'the winner was killed: the waiter inserts');
$waiter->quit;
eval { $winner->quit };
is(sql('select count(*), min(payload::text) from q'), '1|"killed"', 'one job');

# A prepared transaction keeps its locks over a crash.
sql(q{
	begin;
	select queue_unique_insert('q', '"prepared"', period => '1 day', run_at => '2026-01-01');
	select count(*) from queue_unique_insert_many('q', array(select to_jsonb(i) from generate_series(1, 300) as i));
	select queue_unique_insert_row(row(2, 'prepared')::rows, '{id}');
	prepare transaction 'unique';
});
$node->stop('immediate');
$node->start;
my $again = q{select inserted from queue_unique_insert('q', '"prepared"', period => '1 day', run_at => '2026-01-01')};
my $again_row = q{select inserted, (job).note from queue_unique_insert_row(row(2, 'again')::rows, '{id}')};
like(error_of("set lock_timeout = '50ms'; $again"), qr/55P03/, 'after a crash a prepared insert is waited for');
like(error_of("set lock_timeout = '50ms'; select queue_unique_insert('q', '299')"), qr/55P03/, 'so is a prepared batch');
like(error_of("set lock_timeout = '50ms'; $again_row"), qr/55P03/, 'so is a prepared row');
sql(q{commit prepared 'unique'});
is(sql($again), 'f', 'after its commit the job is there');
is(sql($again_row), 'f|prepared', 'so is the row');

# The history of done jobs survives a crash, and a dump.
sql(q{delete from q});
$node->stop('immediate');
$node->start;
is(sql($again), 'f', 'a done job counts after a crash');
sql(q{select queue_create('gone'); select queue_unique_insert('gone', '1', states => '{done}'); drop table gone});
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'dump');
sql('create database copy');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), $dump ], 'restore');
is(sql($again, 'copy'), 'f', 'a done job counts after a restore');
is(sql(q{select inserted from queue_unique_insert('q', '"new"', period => '1 day')}, 'copy'), 't', 'a new one is inserted');
is(sql(q{select count(*) from queue_unique_job where job = 1 and source::oid not in (select oid from pg_class)}, 'copy'),
	0, 'nothing of a dropped queue is dumped');

# Every database encoding takes the same lock.
sql(q{create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0});
sql(q{create extension queue_ext; select queue_create('q')}, 'latin');
my $locks = q{
	begin;
	select queue_unique_insert('q', jsonb_build_object('name', U&'Zo\00EB'), '{name}', states => '{ready,done}') is not null;
	select string_agg(format('%s %s', ((classid::bigint << 32) | objid::bigint), mode), ' ' order by mode)
	from pg_locks where locktype = 'advisory';
	select queue_lock(U&'Zo\00EB') is not null;
	select encode(digest, 'hex') from queue_unique_job where job = (select max(id) from q);
	select unique_key from q where id = (select max(id) from q);
	commit};
is(sql($locks, 'latin'), sql($locks), 'the same locks and keys in LATIN1 and in UTF-8');

# A prefix for the database, which its sessions take up as the library is loaded.
sql(q{alter database postgres set queue_ext.advisory_lock_prefix = 42});
is(sql(q{begin; select queue_lock('x'); select classid from pg_locks where locktype = 'advisory'}), "\n42", 'a prefix for the database');
sql(q{alter database postgres reset queue_ext.advisory_lock_prefix});

# A batch does not exhaust the lock table.
is(sql(q{
		begin;
		select count(*) from queue_unique_insert_many('q', array(select to_jsonb(i) from generate_series(1, 100000) as i));
		select count(*) from queue_unique_insert_rows(array(select row(i, 'many')::rows from generate_series(1, 20000) as i), '{id}');
		select count(*) <= 512 from pg_locks where locktype = 'advisory';
		rollback}),
	"100000\n20000\nt", '100,000 keys');

# Nor do many kinds of rows and conditions, in one transaction.
sql(q{
	create table wide (a integer, b integer, c integer, d integer, e integer, f integer);
	create index on wide (a);
	create function kinds(rounds integer) returns void language plpgsql as $$
	begin
		for i in 1 .. rounds loop
			perform queue_unique_insert_row(row(i, nullif(i & 1, 0), nullif(i & 2, 0), nullif(i & 4, 0), nullif(i & 8, 0), nullif(i & 16, 0))::wide, '{a}');
			perform queue_unique_insert_row(row(i, 1, 1, 1, 1, 1)::wide, '{a}', format('a <> %s', -i));
		end loop;
	end $$;
	create function used(out contexts bigint, out process bigint) language sql as $$
		select (select sum(total_bytes) from pg_backend_memory_contexts),
			1024 * substring(pg_read_file('/proc/self/status') from 'RssAnon:\s*(\d+) kB')::bigint;
	$$;
});
my $kinds = sql(q{
	begin;
	set local queue_ext.definition_cache_size = '4MB';
	select from kinds(300);
	select * from used();
	select from kinds(1500);
	select * from used();
	commit});
note("kinds: $kinds");
my @kinds = map { [ split /\|/ ] } grep { /\d\|\d/ } split /\n/, $kinds;
cmp_ok($kinds[1][0] - $kinds[0][0], '<', 1_500_000, 'memory contexts after many kinds in one transaction');

# Very many calls: the backend's memory stays what it was, and what has expired goes.
sql(q{
	create procedure work(first integer, last integer) language plpgsql as $$
	begin
		for i in first .. last loop
			perform queue_unique_insert('q', jsonb_build_object('i', i % 50, 'n', i), '{i}');
			perform queue_unique_insert('q', to_jsonb(i), period => '1 second', run_at => '2026-01-01');
			perform queue_unique_insert_many('q', array[to_jsonb(i % 50), to_jsonb(i % 51)]);
			perform queue_unique_insert_row(row(i % 50, 'x')::rows, '{id}');
			-- More kinds than a backend keeps statements for.
			perform queue_unique_insert_row(row(i % 50, null)::rows, '{id}', format('id <> %s', -1 - i % 200));
			perform queue_lock(i::text), queue_unique_key('q', to_jsonb(i));
			if i % 100 = 0 then
				delete from q where id < (select max(id) from q);
				delete from rows where note is null;
				update queue_unique_job set expires_at = '-infinity';
			end if;
			if i % 3 = 0 then rollback; else commit; end if;
		end loop;
	end $$;
});
my $round = sub {
	my ($first, $last) = @_;
	return join '', map { sprintf "call work(%d, %d);\nvacuum q, rows, queue_unique_job;\n", $_, $_ + 999 < $last ? $_ + 999 : $last }
	  grep { ($_ - $first) % 1000 == 0 } $first .. $last;
};
my $rounds = int($calls / 8);
my $out = sql("set client_min_messages = error;\n" . $round->(1, 2000) . "select * from used();\n" . $round->(2001, 4000)
	  . "select * from used();\n" . $round->(4001, 4000 + $rounds) . 'select * from used();');
note("contexts|process after warm-up, again, after $rounds rounds more:\n$out");
my @used = map { [ split /\|/ ] } split /\n/, $out;
cmp_ok($used[2][0] - $used[1][0], '<', 1_000_000, "memory contexts after $calls calls");
cmp_ok($used[2][1] - $used[1][1], '<', 1_000_000, "the process after $calls calls");
cmp_ok(sql(q{select count(*) from queue_unique_job}), '<', 5_000, 'what has expired is removed in passing');

$node->stop;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && !/administrator command|no index supports/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
done_testing();
