#!/usr/bin/env perl
# Clients of every kind and faults of every kind at once; then the faults stop, the queues are
# drained, and the accounts are made. Prints TAP, and the counts.
#
#   make torture DURATION=3600 SEED=7 FAULTS='terminate kill prepared'
#
# DURATION  seconds of storm, over all its phases (120)
# SEED      of every random choice (random; printed)
# FAULTS    only these, by the names in Storm/Faults.pm, and: clock, sync, async (all)
# CLIENTS   how many (16)
#
# Four phases: the storm; steps of the clock; a failover to a synchronous standby; one to an
# asynchronous standby. Needs PostgreSQL::Test::Cluster, DBD::Pg and pgbouncer;
# servers of its own, from the PostgreSQL in PATH, where queue_ext is installed. test/torture/run
# sets all that up.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin, "$FindBin::RealBin/../clock";

use DBI;
use File::Temp qw(tempdir);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use Clock;
use Storm::Accounts;
use Storm::Client;
use Storm::Faults;
use Storm::Schema;

my $duration = $ENV{DURATION} || 120;
my $seed = $ENV{SEED} || 1 + int rand 1_000_000;
my $clients = $ENV{CLIENTS} || 16;
my %wanted = map { ($_, 1) } $ENV{FAULTS} ? split /[\s,]+/, $ENV{FAULTS} : (Storm::Faults::names(), qw(clock sync async));
for my $name (keys %wanted)
{
	die "no fault \"$name\"\n" unless grep { $_ eq $name } Storm::Faults::names(), qw(clock sync async);
}
srand $seed;
my $dir = tempdir(CLEANUP => 1);
my $user = getpwuid $<;
$ENV{PGDATABASE} = 'postgres';
# A standby that is promoted replays what it has received first, however much that is.
$ENV{PGCTLTIMEOUT} = 1800;
diag("DURATION=$duration SEED=$seed CLIENTS=$clients FAULTS='" . join(' ', sort keys %wanted) . q{'});

# Two small disks: test/torture/run mounts them where it can.
my $disks = $ENV{STORM_DISKS};
my $has_small_disks = $disks && ($wanted{heapfull} || $wanted{walfull});
my ($pgbouncer) = grep { -x } '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer';

my $settings = q{
	max_prepared_transactions = 20
	max_connections = 60
	max_locks_per_transaction = 32
	dynamic_shared_memory_type = mmap
	log_line_prefix = '%m [%p] [%e] '
	log_min_messages = warning
	backtrace_functions = 'RecordTransactionAbort'
	log_statement = none
	autovacuum_naptime = 1s
	deadlock_timeout = 100ms
	restart_after_crash = on
	max_wal_size = 128MB
	checkpoint_timeout = 30s
	wal_keep_size = 256MB
};
my $node = PostgreSQL::Test::Cluster->new('storm');
$node->init(allows_streaming => 1, extra => $has_small_disks ? [ '--waldir', "$disks/wal/wal" ] : []);
$node->append_conf('postgresql.conf', $settings);
$node->start;
my @nodes = ($node);

sub target
{
	my ($of) = @_;
	return 'dbname=postgres host=' . $of->host . ' port=' . $of->port;
}

sub aim_at
{
	my ($of) = @_;
	open my $out, '>', "$dir/target.new" or die $!;
	print $out target($of);
	close $out;
	rename "$dir/target.new", "$dir/target" or die $!;
}

my ($place, $schema) = Storm::Schema::create($has_small_disks ? "$disks/small/space" : '');
mkdir "$disks/small/space" if $has_small_disks;
$node->safe_psql('postgres', $place) if $place;
$node->safe_psql('postgres', $schema);
aim_at($node);

my $pooler;
if ($pgbouncer && $wanted{pooler})
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	open my $ini, '>', "$dir/ini" or die $!;
	print $ini "[databases]\npostgres = host=" . $node->host . ' port=' . $node->port . qq{
[pgbouncer]
pool_mode = transaction
listen_addr =
listen_port = $port
unix_socket_dir = $dir
auth_type = any
pool_size = 8
default_pool_size = 8
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
};
	close $ini;
	$pooler = { program => $pgbouncer, dir => $dir, target => "dbname=postgres host=$dir port=$port" };
}

my $faults = Storm::Faults->new(node => $node, direct => target($node), user => $user, wanted => \%wanted, pooler => $pooler,
	has_small_disks => $has_small_disks, small => $disks && "$disks/small", wal => $disks && "$disks/wal", phase => 'storm',
	note => sub { note(@_) });
$faults->start_pooler;

# For what must not fail: faults wait for no lock for long.
sub connect_patiently
{
	my $db = $faults->connect;
	$db->do('reset lock_timeout');
	return $db;
}

# Starts the clients of a phase, and its schedules; returns what ends them.
sub start_clients
{
	my ($phase, %with) = @_;
	my $starter = connect_patiently();
	Storm::Schema::begin_schedules($starter, $phase);
	$starter->disconnect;
	my @kinds = map { qw(sender worker worker sender worker holder locker worker sender worker worker keeper sender worker locker holder)[ $_ % 16 ] } 0 .. $clients - 1;
	my @pids;
	unlink "$dir/stop";
	for my $number (0 .. $#kinds)
	{
		my $pid = fork;
		defined $pid or die "fork: $!";
		if ($pid == 0)
		{
			my $client = eval {
				Storm::Client->new(phase => $phase, number => $number, kind => $kinds[$number], seed => $seed, keys => 500, user => $user,
					target_file => "$dir/target", pooled => $with{pooled}, stop_file => "$dir/stop", log_file => "$dir/$phase.$number.log",
					faults => $with{faults} || {})->run;
				1;
			};
			print STDERR "client $number: $@" unless $client;
			POSIX::_exit($client ? 0 : 1);
		}
		push @pids, $pid;
	}
	return sub {
		open my $out, '>', "$dir/stop" or die $!;
		close $out;
		my $failed = 0;
		for my $pid (@pids) { waitpid $pid, 0; $failed++ if $?; }
		is($failed, 0, "$phase: all clients ran to the end");
	};
}

sub end_schedules
{
	my ($phase) = @_;
	my $db = connect_patiently();
	Storm::Accounts::end_schedules($db, $phase, 1);
	$db->disconnect;
}

# Whether something has not come yet that the accounts ask for.
sub is_incomplete
{
	return 1 if $faults->is_incomplete;
	return !eval {
		my $db = $faults->connect;
		my $has_needed = Storm::Accounts::has_needed($db);
		$db->disconnect;
		$has_needed;
	};
}

sub strike_for
{
	my ($seconds) = @_;
	my $end = time + $seconds;
	# A short storm on a slow machine goes on until all has come.
	while (time < $end || (time < $end + 600 && is_incomplete()))
	{
		$faults->strike;
		sleep 0.1 + rand 0.6;
	}
	$faults->calm;
}

my @phases = grep { $_ eq 'storm' || $wanted{$_} } qw(storm clock sync async);
my %share = (storm => 6, clock => 1, sync => 1.5, async => 1.5);
my $sum = 0;
$sum += $share{$_} for @phases;
my %seconds = map { ($_, $duration * $share{$_} / $sum) } @phases;

# The storm itself.
{
	my $end = start_clients('storm', pooled => $pooler && $pooler->{target}, faults => \%wanted);
	strike_for($seconds{storm});
	$end->();
	end_schedules('storm');
	$faults->stop_pooler('INT');
	undef $faults->{pooler};
	# The standbys are copies, and PostgreSQL::Test::Cluster copies no tablespaces.
	if ($has_small_disks)
	{
		$node->safe_psql('postgres', 'alter table big set tablespace pg_default');
		$node->safe_psql('postgres', 'drop tablespace small');
	}
}

# Steps of the clock, forward and back, by up to an hour.
if ($wanted{clock})
{
	$node->stop('fast');
	my $clock = Clock->new($dir);
	$clock->start($node);
	$faults->{phase} = 'clock';
	my $end = start_clients('clock');
	my $until = time + $seconds{clock};
	my %only = map { ($_, 1) } grep { $wanted{$_} } qw(terminate cancel prepared vacuum waiters);
	local $faults->{wanted} = \%only;
	while (time < $until || !$faults->{counts}{clock})
	{
		$clock->set((-3600, -5, -1, 0, 1, 5, 60, 3600)[ int rand 8 ]);
		$faults->{counts}{clock}++;
		$faults->strike;
		sleep 0.5 + rand 1;
	}
	$clock->set(0);
	$faults->calm;
	$end->();
	$node->stop('fast');
	$node->start;
	my $db = connect_patiently();
	Storm::Accounts::end_schedules($db, 'clock', 0);
	Storm::Accounts::undo_steps($db);
	$db->do('update throttled_resource set last_locked = clock_timestamp() where last_locked > clock_timestamp()');
	$db->disconnect;
	ok($faults->{counts}{clock}, 'the clock was set');
}

# Failovers. An acknowledged commit has reached a synchronous standby; the asynchronous one may lack
# the last moments, but not more.
for my $phase (grep { $wanted{$_} } qw(sync async))
{
	my $standby = PostgreSQL::Test::Cluster->new($phase);
	$node->backup($phase);
	$standby->init_from_backup($node, $phase, has_streaming => 1);
	$standby->start;
	$node->wait_for_catchup($standby);
	if ($phase eq 'sync')
	{
		$node->append_conf('postgresql.conf', "synchronous_standby_names = '*'\n");
		$node->reload;
		$node->poll_query_until('postgres', q{select count(*) > 0 from pg_stat_replication where sync_state = 'sync'})
		  or die 'the standby is not synchronous';
	}
	$faults->{phase} = $phase;
	# A wait for the standby that is cancelled is an acknowledgement too much, as PostgreSQL warns.
	local $faults->{wanted} = { map { ($_, 1) } grep { $wanted{$_} && ($_ ne 'cancel' || $phase ne 'sync') } qw(terminate cancel prepared waiters) };
	my $end = start_clients($phase);
	my $until = time + $seconds{$phase} / 2;
	while (time < $until) { $faults->strike; sleep 0.1 + rand 0.6; }
	$faults->{held} = [];
	$node->stop('immediate', fail_ok => 1);
	$standby->promote;
	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
	$standby->reload;
	aim_at($standby);
	$faults->{node} = $node = $standby;
	$faults->{direct} = target($standby);
	push @nodes, $standby;
	$faults->{counts}{$phase}++;
	$until = time + $seconds{$phase} / 2;
	while (time < $until) { $faults->strike; sleep 0.1 + rand 0.6; }
	$faults->calm;
	$end->();
	end_schedules($phase);
	ok($faults->{counts}{$phase}, "$phase: the standby was promoted");
}

# The accounts.
$faults->calm;
my $db = connect_patiently();
Storm::Accounts::drain($db);
Storm::Accounts::check_keep($db);
my ($errors, $client_faults, $calls, $odd) = Storm::Accounts::load($db, glob "$dir/*.log");
is(join("\n", @$odd[ 0 .. ($#$odd < 9 ? $#$odd : 9) ]), '', 'no client met an internal error');
Storm::Accounts::check($db);
Storm::Accounts::check_left_over($db);
my ($jobs, $acknowledged, $unknown, $unknown_there, $refused, $claims, $done, $lost_async) = $db->selectrow_array(q{
	select (select count(*) from sent), (select count(*) from heard_sent where outcome = 'ack'),
		(select count(*) from heard_sent where outcome = 'unknown'),
		(select count(*) from heard_sent h where outcome = 'unknown' and exists (select from sent s where (s.queue, s.token) = (h.queue, h.token))),
		(select count(*) from heard_sent where outcome = 'refused'),
		(select count(*) from claimed) + (select count(*) from occurred), (select count(*) from done),
		(select count(*) from heard_sent h where outcome = 'ack' and token like 'async.%' and not exists (select from sent s where (s.queue, s.token) = (h.queue, h.token)))});
Storm::Accounts::check_statistics($db, $faults);
$db->disconnect;

$node->command_ok([ 'pg_amcheck', '--heapallindexed', '--parent-check', '-d', 'postgres' ], 'pg_amcheck finds nothing');

$_->stop('fast', fail_ok => 1) for $node;
Storm::Accounts::check_log($_->name, $_->logfile, $has_small_disks && $wanted{walfull}) for @nodes;

my %counts = (%{ $faults->{counts} }, %$client_faults);
for my $name (grep { $Storm::Faults::fault{$_}[0] && $wanted{$_} } Storm::Faults::names())
{
  SKIP:
	{
		skip 'this machine lets nobody mount small disks', 1 if $name =~ /^(?:heapfull|walfull)$/ && !$has_small_disks;
		ok($counts{$name}, "fault: $name");
	}
}
diag("$jobs jobs, $acknowledged acknowledged, $unknown unknown ($unknown_there of these there), $refused refused, $claims claims, $done done, "
	  . "$lost_async lost by the asynchronous failover");
diag('calls: ' . join ', ', map { "$_ $calls->{$_}" } sort keys %$calls);
diag('faults: ' . join ', ', map { "$_ $counts{$_}" } sort keys %counts);
diag('errors: ' . join ', ', map { "$_ $errors->{$_}" } sort keys %$errors);
my $suite = $ENV{SUITE} // 'plain_storm';
diag("again: QUEUE_EXT_DURATION=$duration QUEUE_EXT_SEED=$seed script/test $suite") unless Test::More->builder->is_passing;
done_testing();
