# One backend makes very many calls, each in a transaction of its own, and hears
# of very many changes. Its memory stays what it was.
#
# QUEUE_EXT_CALLS (100,000) and QUEUE_EXT_CHANGES (2,000) say how many.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = $ENV{QUEUE_EXT_CALLS} || 100_000;
my $changes = $ENV{QUEUE_EXT_CHANGES} || 2_000;
my $most = 1_000_000;

my $node = PostgreSQL::Test::Cluster->new('memory');
$node->init;
$node->append_conf('postgresql.conf', 'shared_buffers = 64MB');
$node->append_conf('postgresql.conf', 'synchronous_commit = off');
$node->start;
$node->safe_psql('postgres', 'create extension queue_ext');
$node->safe_psql(
	'postgres', q{
	select queue_create('q');
	select queue_create('kept', archive => true);

	-- Twelve calls, in four transactions.
	create procedure work(rounds integer) language plpgsql as $$
	declare
		job queue_job;
		ids bigint[];
		attempts integer[];
	begin
		for i in 1 .. rounds loop
			perform queue_send('q', '{"a": [1, 2, 3]}');
			select * into strict job from queue_pop('q', worker => 'w');
			if i % 10 = 0 then
				-- A try that fails.
				begin
					perform queue_send('q', null);
				exception when null_value_not_allowed then
				end;
			end if;
			perform queue_complete('q', job.id, job.attempt);
			commit;

			set transaction isolation level repeatable read;
			perform queue_send_many('kept', array_fill('"b"'::jsonb, array[1 + i % 7]));
			-- More sizes than a backend keeps statements for.
			select array_agg(p.id), array_agg(p.attempt) into ids, attempts
				from queue_pop('kept', 1 + i % 7) as p;
			perform queue_extend_many('kept', ids, attempts);
			perform queue_complete_many('kept', ids, attempts);
			commit;

			perform queue_send('q', '"c"');
			select * into strict job from queue_pop('q');
			perform queue_fail('q', job.id, job.attempt, repeat('x', i % 100), '0');
			rollback;

			perform queue_cancel('q', -1);
			commit;
		end loop;
	end $$;

	-- Changes of every kind, each seen before the next call.
	create procedure change(rounds integer) language plpgsql as $$
	begin
		for i in 1 .. rounds loop
			case i % 4
				when 0 then perform queue_alter('q', max_attempts => 1 + i % 30);
				when 1 then analyze q;
				when 2 then execute format('alter table q alter payload set statistics %s', 10 + i % 50);
				when 3 then perform queue_pause('kept'), queue_resume('kept');
			end case;
			commit;
			perform queue_send('public.q', '1');
			perform queue_complete('q', id, attempt) from queue_pop('q', 1 + i % 6);
			commit;
		end loop;
	end $$;

	create function used(out contexts bigint, out process bigint) language sql as $$
		select (select sum(total_bytes) from pg_backend_memory_contexts),
			1024 * substring(pg_read_file('/proc/self/status') from 'RssAnon:\s*(\d+) kB')::bigint;
	$$;
});

# Calls the procedure for so many rounds, in portions: a session tells the
# statistics of its work only between statements, and VACUUM keeps the tables small.
sub portions
{
	my ($call, $rounds) = @_;
	my $portion = 1000;
	my $sql = '';
	for (my $left = $rounds; $left > 0; $left -= $portion)
	{
		$sql .= sprintf "call %s(%d);\nvacuum q, kept;\n", $call, $left < $portion ? $left : $portion;
	}
	return $sql;
}

# Memory is measured by the backend itself, before and after, twice over, so that
# what the first measurement needs is there before the second.
sub growth
{
	my ($call, $warm_up, $rounds) = @_;
	my $out = $node->safe_psql('postgres',
		join 'select * from used();', map({ portions($call, $_) } $warm_up, $warm_up, $rounds), '');
	note("$call: contexts|process after warm-up, after $warm_up, after $rounds more:\n$out");
	my @used = map { [ split /\|/ ] } split /\n/, $out;
	return ($used[2][0] - $used[1][0], $used[2][1] - $used[1][1]);
}

my $rounds = int($calls / 12);
my ($contexts, $process) = growth('work', 500, $rounds);
cmp_ok($contexts, '<', $most, "memory contexts after $calls calls");
cmp_ok($process, '<', $most, "the process after $calls calls");

($contexts, $process) = growth('change', 200, $changes);
cmp_ok($contexts, '<', $most, "memory contexts after $changes changes");
cmp_ok($process, '<', $most, "the process after $changes changes");

# One transaction that calls again and again holds on to nothing either, but for
# what PostgreSQL itself keeps until its end.
my $out = $node->safe_psql(
	'postgres', q{
	create function drain(rounds integer) returns void language plpgsql as $$
	begin
		for i in 1 .. rounds loop
			perform queue_pop('q'), queue_complete('q', -1, 1), queue_pop('kept', 3);
		end loop;
	end $$;
	select queue_purge('q');
	begin;
	select drain(1000);
	select * from used();
	select drain(10000);
	select * from used();
	commit;
});
note("drain: $out");
my @used = map { [ split /\|/ ] } grep { /\d\|\d/ } split /\n/, $out;
cmp_ok($used[1][0] - $used[0][0], '<', $most, 'memory contexts in one transaction');

is($node->safe_psql('postgres', q{select count(*) from q}), '0', 'no job is left');

$node->stop;
my @lines = grep { !/terminating connection due to administrator command/ && /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
