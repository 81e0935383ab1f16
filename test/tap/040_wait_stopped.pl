# Backends sleep until a job is committed, and others fail them: two were chosen for jobs and are
# stopped, a sender cannot attach the shared segment, the one that keeps time is stopped, and one that was
# chosen may not claim any more. The backends that are left get the jobs, and learn that the queue is dropped.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wait_stopped');
$node->init;
# A segment is a file that we can get at.
$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$node->start;

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour');
	select from queue_pop('q');
});

# Workers that wait, in this order. They do nothing before that: a session that has been idle wakes up
# once, ten seconds later, to report its statistics.
my $waiting = q{select waiting = %d from queue_claim_stats where source = 'q'::regclass};
my @workers;

sub begin_to_wait
{
	my ($name, $role) = @_;
	my $worker = $node->background_psql('postgres', on_error_stop => 0);
	push @workers, $worker;
	$worker->query_safe("set role $role") if $role;
	$worker->query_until(qr/waits/, "\\echo waits\ncall queue_pop_wait('q', '1 hour', worker => '$name');\n");
	$node->poll_query_until('postgres', sprintf $waiting, scalar @workers) or die "$name does not wait";
	return sql("select pid from pg_stat_activity where query like '%''$name''%' and pid <> pg_backend_pid()");
}

# Whether the query soon returns that: before all who wait look by themselves, which they do within a minute.
sub soon
{
	my ($query, $expected) = @_;
	my $end = time + 40;
	while (1)
	{
		return 1 if sql($query) eq $expected;
		return 0 if time > $end;
	}
}

my @stopped = map { begin_to_wait($_) } 'first', 'second';
begin_to_wait($_) for 'third', 'fourth', 'fifth';
kill('STOP', @stopped) == 2 or die $!;
sql(q{select from queue_send_many('q', array_fill('1'::jsonb, array[5]))});
my $takers = q{select string_agg(leased_by, ',' order by leased_by) from q where leased_until is not null};
ok(soon($takers, 'fifth,fourth,third'), 'two that were chosen are stopped: the others take jobs');
kill('CONT', @stopped) == 2 or die $!;
ok($node->poll_query_until('postgres', $takers, 'fifth,first,fourth,second,third'), '... and those two when they go on');
$_->query_safe('select') for @workers;
$_->quit for @workers;

# The sender may not open the segment's file, which is the largest, and so cannot wake a waiter.
@workers = ();
begin_to_wait($_) for 'sixth', 'seventh';
my ($file) = sort { -s $b <=> -s $a } glob $node->data_dir . '/pg_dynshmem/mmap.*';
chmod(0000, $file) == 1 or die $!;
sql(q{select from queue_send_many('q', array_fill('1'::jsonb, array[2]))});
chmod(0600, $file) == 1 or die $!;
ok(soon("select count(*) from q where leased_by in ('sixth', 'seventh')", 2),
	'a backend that cannot tell them sends: those who wait already take the jobs');
$_->query_safe('select') for @workers;
$_->quit for @workers;

# The last to come keeps time, and would look each two seconds whether the queue is still there, and whether a
# job is left there. So do those before it once more, as each was the last when it came.
$node->restart;
sql(q{create role worker; grant select, update on q to worker; delete from q; select from queue_pop('q')});
@workers = ();
begin_to_wait('eighth', 'worker');
begin_to_wait($_) for 'ninth', 'tenth';
my $keeper = begin_to_wait('eleventh');
kill('STOP', $keeper) == 1 or die $!;
sql(q{select pg_sleep(3)});
sql(q{revoke update on q from worker});
sql(q{select queue_send('q', '1')});
# One of the two has it: the first, unless it looked while the one that fails had the job in hand.
ok(soon('select count(*) from q where leased_until is not null', 1), 'the one that was chosen may not claim: it has the next one chosen');
my ($failed, @both) = splice @workers, 0, 3;
$failed->query('select');
like($failed->{stderr}, qr/ERROR:  permission denied for table q/, '... and fails');
$failed->{stderr} = '';
$failed->quit;
kill('CONT', $keeper) == 1 or die $!;
my $taker = sql($takers);
@both = reverse @both if $taker eq 'tenth';
$both[0]->query_safe('select');
$both[0]->quit;
# The others get a job each.
sql(q{select from queue_send_many('q', array_fill('1'::jsonb, array[2]))});
$_->query_safe('select') for $both[1], @workers;
$_->quit for $both[1], @workers;

# A queue is dropped, and the one that keeps time is stopped. The one before it looked for the last time when it was the
# last itself.
$node->restart;
sql(q{delete from q; select from queue_pop('q')});
@workers = ();
my $told = begin_to_wait('twelfth');
$keeper = begin_to_wait('thirteenth');
kill('STOP', $keeper) == 1 or die $!;
sql(q{select pg_sleep(3)});
sql(q{select queue_drop('q')});
ok(soon("select state from pg_stat_activity where pid = $told", 'idle'),
	'the queue is dropped: they are told at once');
kill('CONT', $keeper) == 1 or die $!;
for my $worker (@workers)
{
	$worker->query('select');
	like($worker->{stderr}, qr/ERROR:  queue "q" does not exist/, '... and fail');
	$worker->{stderr} = '';
	$worker->quit;
}

$node->stop;
my $allowed = qr/terminating connection due to administrator command|database system is|shutdown/;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && $_ !~ $allowed } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
