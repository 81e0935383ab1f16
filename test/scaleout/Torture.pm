# Torture.pm - many clients of a proxy whose calls end somehow, servers that are killed, and what the
# clients have heard.
#
# Each client is a process. It writes a line for each outcome into a file of its own; the files become
# the table heard(what, n, id, attempt, at, until) when all is over.
#
# Example:
#     Torture::start_client($number, sub {
#         my ($client) = @_;
#         my ($outcome, @row) = $client->call(q{select queue_send('q', $1)}, '1');
#         $client->note('sent', id => $row[0]) if $outcome eq 'done';
#     });

package Torture;

use strict;
use warnings;

use DBD::Pg;
use DBI;
use File::Temp qw(tempdir);
use POSIX ();
use PostgreSQL::Test::Cluster;
use Shards;
use Test::More;
use Time::HiRes qw(sleep time);

# For all servers. They recover by themselves, as they do where PostgreSQL::Test::Cluster does not say otherwise.
# Waiting for a standby takes the last two; see lose_answers().
our @settings = ('max_connections = 200', 'log_min_messages = error', 'log_statement = none', 'log_min_error_statement = panic',
	'restart_after_crash = on', 'wal_level = replica', 'max_wal_senders = 2');

$Shards::keeps_sessions = 0;
my $dir = tempdir(CLEANUP => 1);
my $owner = $$;
my @clients;
our $kills = 0;
our $crashes = 0;
our $cuts = 0;
our $lost = 0;

sub connect_to
{
	my ($node) = @_;
	return DBI->connect('dbi:Pg:dbname=postgres host=' . $node->host . ' port=' . $node->port . ' application_name=torture',
		'', '', { RaiseError => 1, PrintError => 0, PrintWarn => 0, AutoCommit => 1 });
}

sub start_client
{
	my ($node, $number, $work) = @_;
	my $pid = fork // die "fork: $!";
	if (!$pid)
	{
		srand($main::seed * 1000 + $number);
		open my $log, '>', "$dir/client.$number" or die $!;
		my $client = bless { node => $node, number => $number, log => $log }, __PACKAGE__;
		eval { $work->($client); 1 } or $client->odd($@);
		close $log or die $!;
		POSIX::_exit(0);
	}
	push @clients, $pid;
	return $pid;
}

# Runs SQL with its arguments, and returns how that ended, and the rows:
#
#     done     it has an answer
#     refused  a shard could not be reached, nothing was done there
#     unknown  a connection broke on the way
sub call
{
	my ($self, $sql, @args) = @_;
	my $rows = eval {
		$self->{db} //= connect_to($self->{node});
		my $statement = $self->{db}->prepare_cached($sql);
		$statement->execute(@args);
		$statement->fetchall_arrayref;
	};
	return ('done', @$rows) if $rows;
	my $message = $@;
	if (!$self->{db})
	{
		# No connection to the proxy.
		sleep 0.1;
		return 'refused';
	}
	my $state = $self->{db}->state;
	my $alive = eval { $self->{db}->ping };
	if (!$alive)
	{
		eval { $self->{db}->disconnect };
		$self->{db} = undef;
		return 'unknown';
	}
	return 'unknown' if $state eq '08006';
	return 'refused' if $state eq '08001';
	$self->odd("$state: $message");
	return 'odd';
}

sub note_down
{
	my ($self, $what, %is) = @_;
	# Perl would leave out the last digit of a time.
	$_ = sprintf '%.6f', $_ for grep { defined } @is{ 'at', 'until' };
	print { $self->{log} } join("\t", $what, map({ $is{$_} // '\N' } qw(n id attempt at until))), "\n";
	return;
}

# What must not have happened.
sub odd
{
	my ($self, $message) = @_;
	$message =~ s/\s+/ /g;
	$message =~ s/\\/\\\\/g;
	print { $self->{log} } join("\t", "odd $message", ('\N') x 5), "\n";
	return;
}

# True when the parent wants it.
sub is_over { return -e "$dir/over"; }
sub is_draining { return -e "$dir/drain"; }

sub set
{
	my ($name) = @_;
	open my $file, '>', "$dir/$name" or die $!;
	close $file;
	return;
}

# How much the clients have noted, in bytes, but for what they have not written yet.
sub noted
{
	my $sum = 0;
	$sum += -s for glob "$dir/client.*";
	return $sum;
}

# How many of the clients of these numbers still run.
sub running
{
	my (@pids) = @_;
	return scalar grep { waitpid($_, POSIX::WNOHANG()) == 0 } @pids;
}

sub end_clients
{
	set('over');
	waitpid $_, 0 for @clients;
	@clients = ();
	return;
}

END
{
	if ($$ == $owner)
	{
		kill 'KILL', @clients;
	}
}

# The table of what the clients have heard, in the proxy's database.
sub load
{
	my ($node) = @_;
	$node->safe_psql('postgres', 'create table heard (what text, n bigint, id bigint, attempt integer, at double precision, until double precision)');
	$node->safe_psql('postgres', "\\copy heard from program 'cat $dir/client.*'");
	$node->safe_psql('postgres', 'analyze heard');
	return;
}

# A table of the shards, of all of them, in the proxy's database; with the shard's number.
sub gather
{
	my ($proxy, $table, $columns, @shards) = @_;
	$proxy->safe_psql('postgres', "create table $table (shard integer, $columns)");
	for my $number (0 .. $#shards)
	{
		$shards[$number]->safe_psql('postgres', "\\copy (select $number, * from $table) to '$dir/copy'");
		$proxy->safe_psql('postgres', "\\copy $table from '$dir/copy'");
	}
	$proxy->safe_psql('postgres', "analyze $table");
	return;
}

# A test that the query has no rows; shows some that it has.
sub none
{
	my ($node, $name, $from) = @_;
	is($node->safe_psql('postgres', "select $from limit 5"), '', $name)
		or diag($node->safe_psql('postgres', "select count(*) from (select $from) as f"));
	return;
}

# SIGKILL for the whole server.
sub kill_server
{
	my ($node) = @_;
	Shards::signal_all($node, 'KILL');
	$kills++;
	return;
}

sub start_server
{
	my ($node) = @_;
	for (1 .. 600)
	{
		# What the one that was killed has left in its directory is not the process of this one.
		$node->{_pid} = undef;
		return if $node->start(fail_ok => 1);
		sleep 0.2;
	}
	BAIL_OUT('a server does not start');
}

# SIGKILL for one backend: the server recovers by itself.
sub kill_backend
{
	my ($node) = @_;
	my ($status, $out) = $node->psql('postgres',
		q{select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1});
	return if $status != 0 || $out !~ /^\d+$/;
	$crashes += kill 'KILL', $out;
	return;
}

# Ends sessions in the middle of a call, or some that do nothing.
sub cut_connections
{
	my ($node, $count) = @_;
	my ($status, $out) = $node->psql('postgres', qq{select count(pg_terminate_backend(pid)) from (
		select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
		order by state <> 'active', random() limit $count) as v});
	$cuts += $out if $status == 0 && $out =~ /^\d+$/;
	return;
}

# Ends sessions that have committed, before they say so: they wait for a standby that is not there.
sub lose_answers
{
	my ($node) = @_;
	my ($status, $out) = $node->psql('postgres', q{
		alter system set synchronous_standby_names = 'nobody';
		select from pg_reload_conf();
		select from pg_sleep(0.3);
		select count(pg_terminate_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep';
		alter system reset synchronous_standby_names;
		select from pg_reload_conf()});
	$lost += $1 if $status == 0 && $out =~ /(\d+)/;
	return;
}

# No check of itself has failed in a server, and no statement was refused but by the faults.
sub logs_are_quiet
{
	my (@nodes) = @_;
	for my $node (@nodes)
	{
		my @lines = grep { /\[XX\d{3}\] |PANIC:|TRAP:/ } split /\n/, PostgreSQL::Test::Utils::slurp_file($node->logfile);
		@lines = grep { !/PL\/Proxy|could not (?:receive|send)/ } @lines;
		is(join("\n", @lines[ 0 .. ($#lines > 9 ? 9 : $#lines) ]), '', 'the log of ' . $node->name . ' has no internal error');
	}
	return;
}

1;
