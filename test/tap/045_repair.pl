# Bulk repairs: calls that are interrupted, by a cancel, a lost connection or a crash, and repeated,
# end with what one call does; batches are short, whatever the jobs cost; progress is told.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $node = PostgreSQL::Test::Cluster->new('repair');
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', 'create extension queue_ext');

sub sql { return $node->safe_psql('postgres', $_[0]) }

# A nap for each row that is written, if its session wants that.
sql(q{
	create table naps (queue text, transaction xid8);
	create function nap() returns trigger language plpgsql as $$ begin
		perform pg_sleep(current_setting('repair.nap', true)::float);
		insert into naps values (tg_table_name, pg_current_xact_id());
		return case tg_op when 'DELETE' then old else new end;
	end $$});

# A queue with 6,000 jobs of three tenants: dead of two errors, leased, scheduled, ready.
sub fill
{
	my ($queue) = @_;
	sql(qq{
		select queue_create('$queue', lease => '1 day', max_attempts => 3, archive => true);
		insert into $queue (payload, attempt, leased_until, dead_at, run_at, last_error)
		select jsonb_build_object('n', n, 'tenant', n % 3), n % 2, case n % 4 when 1 then '2100-01-01'::timestamptz end,
			case n % 4 when 0 then '2000-01-01'::timestamptz end, case n % 4 when 2 then '2100-01-01'::timestamptz else '2001-01-01' end,
			case n % 4 when 0 then 'error ' || n % 8 end
		from generate_series(1, 6000) as n;
		create trigger nap before update or delete on $queue for each row
			when (coalesce(current_setting('repair.nap', true), '') <> '') execute function nap()});
	return;
}

# What a queue is, but for the times of the calls.
sub outcome
{
	my ($queue) = @_;
	return sql(qq{select md5(string_agg(format('%s %s %s %s %s %s', id, payload, attempt, max_attempts, priority, dead_at), ',' order by id)), count(*) from $queue})
	  . ' ' . sql(qq{select md5(string_agg(format('%s %s %s', id, state, attempt), ',' order by id)), count(*) from ${queue}_archive});
}

my @repairs = (
	[ 'queue_requeue_where', q{$$last_error = arguments ->> 'error'$$, '{"error": "error 0"}'} ],
	[ 'queue_cancel_where', q{$$payload ->> 'tenant' = '1'$$, '{}'} ],
	[ 'queue_change_where', q{$$state in ('ready', 'dead') and payload ->> 'tenant' = '2'$$, '{}', 7::integer} ],
	[ 'queue_delete_where', q{$$state = 'scheduled'$$, '{}'} ]);

fill('whole');
my @whole = map { sql("call $_->[0]('whole', $_->[1])") } @repairs;
is(join(' ', @whole), '750 2000 1000 1000', 'calls that nobody interrupts');

# Each call begins anew until one comes to its end; interrupt($pid) is called in the middle.
sub interrupted
{
	my ($queue, $interrupt) = @_;
	my $interruptions = 0;
	fill($queue);
	for my $repair (@repairs)
	{
		my ($procedure, $arguments) = @$repair;
		for my $round (1 .. 100)
		{
			# The first calls are slow, so that they are hit between two batches, or in one.
			my $done = sql("select count(*) from naps where queue = '$queue'");
			my $slow = $round < 4 ? "set repair.nap = '0.002'" : "set repair.nap = '0'";
			my $child = fork // die "fork: $!";
			if ($child == 0)
			{
				open STDERR, '>', '/dev/null';
				my ($status) = $node->psql('postgres', "set application_name = 'repairer'; $slow; call $procedure('$queue', $arguments, batch_size => 50)");
				POSIX::_exit($status == 0 ? 0 : 1);
			}
			if ($round < 4)
			{
				# Something is done by then; or all is, before this looks.
				my $ended = 0;
				until ($ended || sql("select count(*) > $done + 60 from naps where queue = '$queue'") eq 't')
				{
					sleep 0.2;
					$ended = waitpid $child, POSIX::WNOHANG();
				}
				$interrupt->();
				$interruptions++ if !$ended;
				waitpid $child, 0 if !$ended;
			}
			else
			{
				waitpid $child, 0;
			}
			$node->poll_query_until('postgres', q{select not exists (select from pg_stat_activity where application_name = 'repairer')});
			last if $? == 0 && $round >= 4;
		}
	}
	is(outcome($queue), outcome('whole'), "$queue: with the same outcome");
	cmp_ok($interruptions, '>', 0, "$queue: some calls were interrupted");
	return;
}

my $one = q{from pg_stat_activity where application_name = 'repairer' limit 1};
interrupted('cancelled', sub { sql("select pg_cancel_backend(pid) $one") });
interrupted('terminated', sub { sql("select pg_terminate_backend(pid) $one") });
interrupted('crashed', sub { $node->stop('immediate'); $node->start });

# The counters are of what was committed. Again where the machine has stood still for as long as the call may take.
fill('counted');
my ($status, $out, $error, $left);
for (1 .. 20)
{
	($status, $out, $error) = $node->psql('postgres', q{set statement_timeout = '3s'; set repair.nap = '0.002'; call queue_cancel_where('counted', 'true')});
	$left = sql('select count(*) from counted');
	last if $left < 6000;
}
like($error, qr/canceling statement due to statement timeout/, 'a statement timeout ends a call');
cmp_ok($left, '<', 6000, 'some jobs are cancelled by then');
cmp_ok($left, '>', 0, 'and some are not');
is(sql(q{select cancelled from queue_stats where queue = 'public.counted'}), 6000 - $left, 'as many are counted');
is(sql(q{select count(*) from counted_archive where state = 'cancelled'}), 6000 - $left, 'and archived');

# Between two batches it rests. Again if it has ended before we looked.
fill('rested');
my $rests = 0;
for my $try (1 .. 20)
{
	my $child = fork // die "fork: $!";
	if ($child == 0)
	{
		open STDERR, '>', '/dev/null';
		$node->psql('postgres', qq{set application_name = 'repairer'; call queue_change_where('rested', 'true', priority => $try, batch_size => 1)});
		POSIX::_exit(0);
	}
	my $ended = 0;
	until ($rests || $ended)
	{
		$ended = waitpid $child, POSIX::WNOHANG();
		$rests = sql(q{select count(*) from pg_stat_activity where application_name = 'repairer' and wait_event = 'PgSleep'}) if !$ended;
	}
	sql("select pg_cancel_backend(pid) $one");
	waitpid $child, 0 if !$ended;
	last if $rests;
}
is($rests, 1, 'a call rests between batches');

# A batch ends when its time is over: of rows that take 4 ms each it has no more than 25.
sql('truncate naps');
sql(q{set repair.nap = '0.004'; call queue_change_where('counted', 'id > 5500', priority => 9, batch_size => 10000)});
my ($jobs, $most) = split /\|/, sql('select count(*), (select max(n) from (select count(*) as n from naps group by transaction) as t) from naps');
cmp_ok($jobs, '>', 250, 'many slow jobs');
cmp_ok($most, '<=', 25, 'come in short batches');

# Progress is told about once a second.
($status, $out, $error) = $node->psql('postgres', q{set repair.nap = '0.01'; call queue_change_where('counted', 'id > 5500', priority => 8)});
is($out, $jobs, 'the number of jobs');
my @notices = $error =~ /NOTICE:  changed (\d+) jobs of queue "counted" so far\nDETAIL:  The call has come to id \d+ of 6000\./g;
cmp_ok(scalar @notices, '>=', 1, 'progress is told');
is(join(' ', @notices), join(' ', sort { $a <=> $b } @notices), 'and goes on');

my @lines = grep { /\b(PANIC|TRAP|leak)\b|not closed/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
$node->stop;
done_testing();
