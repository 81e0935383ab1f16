# More queues than there are rings, so that they take each other's away all the time:
# every row is still handed out once, in order. The same after a crash, and whether
# or not the library is preloaded.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $queues = $ENV{QUEUE_EXT_QUEUES} || 2_000;
my $node = PostgreSQL::Test::Cluster->new('many_queues');
$node->init;
$node->append_conf('postgresql.conf', 'synchronous_commit = off');
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;

# One table serves them all: a ring is of a table and its queue's definition.
$node->safe_psql(
	'postgres', q{
	set client_min_messages = error;
	create extension queue_ext;
	create table t (id bigint generated always as identity primary key, part integer not null, state integer not null default 0);
	create index on t (part, id) where state = 0;
	create table ledger (id bigint, part integer, place bigint generated always as identity);

	create procedure set_up(queues integer) language plpgsql as $$
	begin
		for q in 1 .. queues loop
			perform queue_attach('q' || q, 't', pending => format('state = 0 and part = %s', q), order_by => 'id',
				on_claim => 'state = 1', on_release => 'state = 0');
			if q % 100 = 0 then
				commit;
			end if;
		end loop;
	end $$;

	-- One row of every queue in turn, until a round finds none.
	create procedure drain(queues integer) language plpgsql as $$
	declare
		got t;
		found_any boolean := true;
	begin
		while found_any loop
			found_any := false;
			for q in 1 .. queues loop
				if q % 7 = 0 then
					-- Given back at once, which must not lose it.
					begin
						perform queue_pop_rows(null::t, 'q' || q);
						raise exception using errcode = 'UNDO1';
					exception when sqlstate 'UNDO1' then
						null;
					end;
				end if;
				for got in select * from queue_pop_rows(null::t, 'q' || q) loop
					found_any := true;
					assert got.part = q, format('row %s of %s came from %s', got.id, got.part, q);
					insert into ledger (id, part) values (got.id, got.part);
				end loop;
				commit;
			end loop;
		end loop;
	end $$;
});
$node->safe_psql('postgres', "call set_up($queues)");

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', "set queue_ext.claim_path = direct; $query");
}

# What the ledger must show.
sub check
{
	my ($each, $name) = @_;
	is(sql('select count(*), count(distinct id), count(distinct part) from ledger'),
		join('|', $queues * $each, $queues * $each, $queues), "$name: each row was handed out once");
	is(sql('select count(*) from t where state = 0'), '0', "$name: nothing is left");
	return;
}

sub refill
{
	my ($each) = @_;
	sql("truncate t, ledger; insert into t (part) select q from generate_series(1, $each), generate_series(1, $queues) as q");
	return;
}

sub rounds
{
	my ($name) = @_;
	refill(3);
	sql("call drain($queues)");
	check(3, "$name, one worker");
	is(sql('select count(*) from (select id < lag(id) over (partition by part order by place) as early from ledger) as l where early'),
		'0', "$name: in order");
	cmp_ok(sql('select count(*) from queue_claim_stats'), '>', 100, "$name: rings are in use");
	cmp_ok(sql('select count(*) from queue_claim_stats'), '<=', 1024, "$name: and no more than there are");

	refill(3);
	my @workers = map {
		IPC::Run::start(
			[ 'psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'),
				'-c', 'set queue_ext.claim_path = direct', '-c', "call drain($queues)" ],
			'<', \undef, '>&', \my $said)
	} 1 .. 3;
	is(join(',', map { $_->finish ? 'done' : 'failed' } @workers), 'done,done,done', "$name: three workers");
	check(3, "$name, three workers");
	return;
}

rounds('not preloaded');
refill(2);
# It counts only what has been flushed.
sql("set synchronous_commit = on; select count(*) from generate_series(1, $queues) as q, queue_pop_rows(null::t, 'q' || q)");
$node->stop('immediate');
$node->start;
is(sql('select count(*) from t where state = 0'), $queues, 'a crash: what was claimed and committed stays claimed');
sql("call drain($queues)");
is(sql('select count(*), count(distinct part) from ledger'), "$queues|$queues", 'the rest is handed out');

# A backend that dies takes the shared memory with it.
refill(2);
my $log_end = -s $node->logfile;
$node->psql('postgres', "select queue_pop_rows(null::t, 'q1'); copy (select) to program 'kill -9 \$PPID'", on_error_stop => 0);
# The postmaster may take a moment to see it, and let sessions in until then.
$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
sql("call drain($queues)");
is(sql('select count(*) from t where state = 0'), '0', 'after a backend was killed all are handed out');

# A session that holds a claim is ended by the shutdown, which the log says.
my $leaving = IPC::Run::start(
	[ 'psql', '-qXAt', '-d', $node->connstr('postgres'), '-c', 'begin', '-c', "select queue_pop_rows(null::t, 'q1')",
		'-c', 'select pg_sleep(600)' ],
	'<', \undef, '>&', \my $said);
$node->poll_query_until('postgres', q{select count(*) = 1 from pg_stat_activity where wait_event = 'PgSleep'})
  or die 'the session does not wait';
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'queue_ext'");
$node->restart;
$leaving->finish;
like($said, qr/terminating connection due to administrator command/, 'a shutdown ends a session');
rounds('preloaded');
$node->stop('immediate');
$node->start;
refill(1);
sql("call drain($queues)");
check(1, 'preloaded, after a crash');

$node->stop;
my $allowed = qr/because of crash|terminating connection due to administrator command|connection to client lost|the database system is|was terminated by signal 9|shutdown/;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && $_ !~ $allowed } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
