# The server is stopped without warning, and backends are killed. What had been
# committed is there; what had not is as if it had never been; leases go on.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;
$node->safe_psql('postgres', 'create extension queue_ext');

# The jobs that are in the queue, and how they are.
my $jobs = q{select coalesce(string_agg(format('%s:%s%s', id, attempt,
	case when leased_until > clock_timestamp() then ' leased' end), ', ' order by id), 'none') from q};

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sub is_jobs
{
	my ($expected, $name) = @_;
	return is(sql($jobs), $expected, $name);
}

# PostgreSQL says so when a resource is not given back, or worse.
sub is_quiet
{
	my ($allowed, $name) = @_;
	my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && $_ !~ $allowed }
	  split /\n/, slurp_file($node->logfile);
	return is(join("\n", @lines), '', $name);
}

# One job of each kind: sent, claimed, claimed for a moment, completed, archived.
sql(q{select queue_create('q', archive => true)});
sql(q{select queue_send_many('q', array['1', '2', '3', '4', '5']::jsonb[])});
sql(q{select queue_pop('q', lease => '1 hour')});
sql(q{select queue_pop('q', lease => '1 microsecond', worker => 'dies')});
sql(q{update q set run_at = run_at - interval '1 day' where id = 5});
is(sql(q{select id, attempt from queue_pop('q', 2)}), "5|1\n2|2", 'claimed in order');
is(sql(q{select queue_complete('q', 5, 1)}), 't', 'completed');
is(sql(q{select queue_release('q', 2, 2, clock_timestamp() + interval '1 day')}), 't', 'released');
sql(q{select queue_pop('q', lease => '1 microsecond')});
sql(q{select queue_pause('q')});

$node->stop('immediate');
$node->start;

is_jobs('1:1 leased, 2:2, 3:1, 4:0', 'after a crash the jobs are as acknowledged');
is(sql('select id, state from q_archive'), '5|completed', 'so is the archive');
is(sql(q{select id from queue_pop('q')}), '', 'the queue is still paused');
is(sql(q{select queue_resume('q')}), 't', 'and is resumed');
is(sql(q{select id, attempt from queue_pop('q', 10)}), "3|2\n4|1",
	'a job whose lease has run out comes back, one that is leased does not');
is(sql(q{select queue_complete('q', 3, 1)}), 'f', 'the receipt from before is stale');
is(sql(q{select queue_complete('q', 1, 1)}), 't', 'that of the leased job is good');
cmp_ok(sql(q{select queue_send('q', '6')}), '>', 5, 'a new job gets a new id');

# A session ends in the middle of a transaction that holds a claim and has
# completed another job.
my $act = q{
	begin;
	select queue_send('q', '7');
	select id from queue_pop('q', worker => 'dies');
	select queue_complete('q', 3, 2);
};
sql(q{select queue_purge('q')});
sql(q{alter table q alter id restart with 1; select queue_send_many('q', array['1', '2', '3']::jsonb[])});
is(sql(q{select count(*) from queue_pop('q', 2)}), '2', 'two are claimed');
is(sql(q{select queue_fail('q', 1, 1, 'x', '0'), queue_fail('q', 2, 1, 'x', '1 day')}), 't|t', 'and fail');
sql(q{update q set attempt = 2, leased_until = 'infinity' where id = 3});
my $before = sql($jobs);
is($before, '1:1, 2:1, 3:2 leased', 'the jobs before');

my ($status, $out) = $node->psql('postgres', "$act select pg_terminate_backend(pg_backend_pid())");
isnt($status, 0, 'a session is terminated');
like($out, qr/^1$/m, 'it had claimed a job');
is_jobs($before, 'nothing of it remains');
is(sql(q{begin; select id, attempt from queue_pop('q'); rollback}), '1|2',
	'its job is claimable at once');
is_quiet(qr/terminating connection due to administrator command/, 'the log is quiet');

my $log_end = -s $node->logfile;
($status, $out) =
  $node->psql('postgres', "$act copy (select) to program 'kill -9 \$PPID'", on_error_stop => 0);
isnt($status, 0, 'a backend is killed');
like($out, qr/^1$/m, 'it had claimed a job');
# The postmaster may take a moment to see it, and let sessions in until then.
$node->wait_for_log(qr/database system is ready to accept connections/, $log_end);
is_jobs($before, 'nothing of it remains');
is(sql(q{select id, attempt from queue_pop('q')}), '1|2', 'its job is claimable at once');
is(sql(q{select queue_complete('q', 3, 2)}), 't', 'the job it had completed was not');

$node->stop;
is_quiet(
	qr/administrator command|because of crash|connection to client lost|the database system is|was terminated by signal 9/,
	'the log is quiet');

done_testing();
