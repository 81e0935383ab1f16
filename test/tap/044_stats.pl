# The statistics of queues on whole servers: the views read no table of a queue; a restart and a crash begin
# anew, and "since" says so; where there is no room or no memory for them, queues work without, and the
# views show nulls; and what prepared transactions do is not counted.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('stats');
$node->init;
$node->append_conf('postgresql.conf', q{
restart_after_crash = on
max_prepared_transactions = 5
# A segment is a file that we can get at.
dynamic_shared_memory_type = mmap
});
$node->start;

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sub now
{
	return sql('select clock_timestamp()');
}

my $fragments = q{'state = 0', 'id', 'state = 1', on_complete => 'state = 2'};
sql(qq{
	set client_min_messages = error;
	create extension queue_ext;
	select queue_create('q', lease => '1 hour');
	select queue_create('kept', lease => '1 hour', archive => true);
	create table t (id bigint generated always as identity primary key, state integer not null default 0);
	create index on t (id) where state = 0;
	select queue_attach('t', 't', $fragments, wake => true);
	create table tx (like t including all);
	select queue_attach('tx', 'tx', 'true', 'id', claim_mode => 'transaction');
});
my $views = q{select count(*) from (select queue from queue_stats union all select queue from queue_wait_histogram
	union all select queue from queue_run_histogram) as v};

# Uses each queue.
my $work = q{
	select queue_send(q, '1') from unnest('{q,q,kept,kept}'::text[]) as q;
	insert into t default values;
	insert into tx default values;
	select queue_complete(q, id, attempt) from unnest('{q,kept}'::text[]) as q, queue_pop(q);
	select queue_complete_row('t', j) from queue_pop_rows(null::t) as j;
	select queue_complete_row('tx', j) from queue_pop_rows(null::tx) as j;
};
my $counts = q{select string_agg(format('%s %s %s', source, claimed, completed), ', ' order by source::text) from queue_stats where since is not null};

# No reads. PostgreSQL counts those of a session when that tells it to.
{
	sql($work);
	my $flush = 'select pg_stat_force_next_flush();';
	my $reads = q{select 'reads ' || sum(seq_scan + seq_tup_read + coalesce(idx_scan + idx_tup_fetch, 0)) from pg_stat_user_tables
		where relname in ('q', 'kept', 'kept_archive', 't', 'tx');};
	my $all = 'select * from queue_stats; select * from queue_wait_histogram; select * from queue_run_histogram;';
	my $said = sql("$work $flush $flush $reads $all $flush $flush $reads select * from q; $flush $flush $reads");
	my @reads = $said =~ /^reads (\d+)$/mg;
	is(scalar @reads, 3, 'PostgreSQL counts reads');
	is($reads[1], $reads[0], 'the views read no table of a queue');
	cmp_ok($reads[2], '>', $reads[1], 'which it would have counted');
	is(sql($counts), 'kept 2 2, q 2 2, t 2 2, tx 2 2', 'they show what was done');
}

# A restart, and a crash.
for my $how (qw(restart stop kill))
{
	my $moment = now();
	if ($how eq 'restart') { $node->restart }
	elsif ($how eq 'stop') { $node->stop('immediate'); $node->start }
	else
	{
		my ($out, $err);
		my $log_end = -s $node->logfile;
		$node->psql('postgres', 'select pg_backend_pid() as pid \gset
			\setenv PID :pid
			\! kill -KILL $PID
			select 1', stdout => \$out, stderr => \$err, on_error_stop => 0);
		# Until the postmaster has heard of it, others may connect, and are ended then.
		$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
	}
	is(sql('select count(since) + count(sent) + count(ready) + count(oldest_ready_at) from queue_stats'), '0', "$how: nothing is known");
	is(sql($views), 4, "$how: of any queue");
	sql($work);
	is(sql($counts), 'kept 1 1, q 1 1, t 1 1, tx 1 1', "$how: all begins anew");
	is(sql("select count(*) from queue_stats where since <= '$moment' or since > clock_timestamp()"), '0', "$how: since then");
	is(sql('select count(distinct since) from queue_stats'), '1', "$how: as the server has begun");
}

# Prepared transactions.
{
	my $estimate = q{select sent, claimed, completed, ready_exact, scheduled, leased, oldest_ready_at is not null, oldest_exact
		from queue_stats where source = 'p'::regclass};
	my $pop = q{select count(*) from queue_pop('p')};
	sql(q{select queue_create('p', lease => '1 hour')});
	sql($pop);
	is(sql($estimate), '0|0|0|t|0|0|f|t', 'an empty queue');
	sql(q{begin; select queue_send('p', '1'); prepare transaction 'one'});
	is(sql($estimate), '0|0|0|f|||f|f', 'a prepared transaction has sent a job');
	is(sql($pop), '0', 'no worker has it');
	is(sql($estimate), '0|0|0|f|||f|f', 'and a look says nothing of later');
	sql(q{commit prepared 'one'});
	is(sql($estimate), '0|0|0|f|||f|f', 'what was sent is not counted');
	sql(qq{begin; $pop; select queue_complete('p', id, 1) from p; prepare transaction 'two'});
	sql(q{rollback prepared 'two'});
	is(sql($estimate), '0|0|0|f|||f|f', 'nor what was claimed and completed, and it is not done');
	is(sql($pop), '1', 'a worker gets the job');
	# A look that only the statistics need comes a second after the last one; after a change of the table, at once.
	sql(q{alter table p alter payload set statistics 100});
	is(sql($pop), '0', 'and looks for more');
	is(sql($estimate), '0|1|0|t|0|1|f|t', 'all is known again');
	sql(q{begin; select queue_complete('p', id, 1) from p; prepare transaction 'three'});
	$node->stop('immediate');
	$node->start;
	sql(q{commit prepared 'three'});
	is(sql('select count(*) from p'), '0', 'a transaction that was prepared before a crash is committed');
	is(sql(q{select count(since) from queue_stats where source = 'p'::regclass}), '0', 'and not counted');
	sql(q{select queue_drop('p')});
}

# More queues than there is room for.
{
	$node->append_conf('postgresql.conf', 'queue_ext.max_tracked_queues = 128');
	$node->restart;
	sql(q{select queue_create('many_' || n, lease => '1 hour') from generate_series(1, 250) as n});
	my ($moment) = now();
	sql(q{select queue_send('many_' || n, '1') from generate_series(1, 250) as n});
	sql(q{select queue_complete(q, id, attempt) from (select 'many_' || n as q from generate_series(1, 250) as n) as q, queue_pop(q)});
	my $many = q{from queue_stats where queue like 'public.many\_%'};
	is(sql(q{select sum((select count(*) from queue_pop('many_' || n))) from generate_series(1, 250) as n}), '0', 'each queue works');
	my ($rows, $known) = split /\|/, sql("select count(*), count(since) $many");
	is($rows, 250, 'there is a row for each queue');
	cmp_ok($known, '>=', 64, 'with statistics, where there is room');
	cmp_ok($known, '<', 250, 'and nulls, where there is not');
	is(sql("select distinct concat(sent, claimed, completed) $many and since is not null"), '111', 'these are right');
	is(sql("select count(*) $many and since is null and num_nonnulls(sent, claimed, completed, failed, waits, ready, scheduled, leased) > 0"),
		'0', 'and the others say nothing');
	is(sql(q{select count(*) from queue_wait_histogram where queue like 'public.many\_%'}), 15 * $known, 'so do the histograms');
	my $without = sql("select queue $many and since is null limit 1");
	is(sql("select queue_stats_reset('$without'), queue_stats_reset()"), '|', 'a reset raises nothing');
	# Queues that go make room: the next one counts from then on.
	$moment = now();
	sql(q{select queue_drop(queue, true) from queue_stats where queue like 'public.many\_%' and since is not null});
	sql("select queue_send('$without', '1')");
	is(sql("select sent, since > '$moment' from queue_stats where queue = '$without'"), '1|t', 'a queue that finds room later counts from then on');
	$node->append_conf('postgresql.conf', 'queue_ext.max_tracked_queues = 4096');
}

# No memory at all.
{
	$node->restart;
	chmod 0500, $node->data_dir . '/pg_dynshmem';
	my ($status, $out, $err) = $node->psql('postgres', "$work; select since is null as none from queue_stats where source = 'q'::regclass;
		select queue_stats_reset(); select queue_stats_reset('q'); $views");
	is($status, 0, 'without shared memory each call works');
	unlike($err, qr/WARNING|ERROR/, 'in silence');
	like($out, qr/^t$/m, 'the view has nulls');
	my ($rows) = $out =~ /(\d+)\s*\z/;
	is($rows, sql('select count(*) from queue_stats'), 'and the histograms no rows');
	my $moment = now();
	chmod 0700, $node->data_dir . '/pg_dynshmem';
	sql($work);
	is(sql($counts), 'kept 1 1, q 1 1, t 1 1, tx 1 1', 'with memory sessions count');
	is(sql("select count(*) from queue_stats where since <= '$moment'"), '0', 'since then');
}

$node->stop;
my @lines = grep { /\b(?:WARNING|PANIC|TRAP)\b/ && !/terminating connection because of crash/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
done_testing();
