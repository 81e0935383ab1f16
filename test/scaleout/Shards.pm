# Shards.pm - three servers and a proxy for the tests of scaleout/, each a cluster of its own.
#
# Example:
#     my ($proxy, @shards) = Shards::start();
#     my ($state, $output) = Shards::call($proxy, q{select queue_pop('q')});

package Shards;

use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our $scaleout = "$FindBin::RealBin/../../scaleout";
our @names = qw(north south west);
our $keeps_sessions = 1; # see Shards::Node below; not where servers go down, or roles lose a right
our $encoding = 'UTF8'; # of the servers that are started
# For a proxy whose shards do not go down: else it connects to each of them once a second to see whether it is there.
our $trusting = 'queue_proxy.heartbeat = 60000';
# A shard that stands still for seconds is not down: the longest time that counts for the look at one, and one for the
# scripts; undef is what they have by default.
our $patient = 'queue_proxy.connect_timeout = 10000';
our $connect_timeout = 120;

# Skips the test where PL/Proxy is not to be had.
sub need
{
	my ($share) = run_command([ 'pg_config', '--sharedir' ]);
	plan(skip_all => 'PL/Proxy is not installed') if !-e "$share/extension/plproxy.control";
	return;
}

sub conninfo
{
	my ($node, $database) = @_;
	return 'host=' . $node->host . ' port=' . $node->port . ' dbname=' . ($database // 'postgres');
}

# Calls what runs a script: only then, as the servers, too, would do as the environment says that they are started in.
sub with_limit
{
	my ($run) = @_;
	local $ENV{PGCONNECT_TIMEOUT} = $connect_timeout // '';
	delete $ENV{PGCONNECT_TIMEOUT} if !defined $connect_timeout;
	return $run->();
}

# Runs one of scaleout/ and returns whether it succeeds, its output and its errors.
sub script
{
	my ($name, @arguments) = @_;
	my ($out, $error) = ('', '');
	my $ok = with_limit(sub { IPC::Run::run([ "$scaleout/$name", @arguments ], '>', \$out, '2>', \$error) });
	note("$name @arguments", $out, $error);
	return ($ok, $out, $error);
}

# Starts one, whose output and errors become those of the references; to be pumped and finished.
sub start_script
{
	my ($out, $error, $name, @arguments) = @_;
	return with_limit(sub { IPC::Run::start([ "$scaleout/$name", @arguments ], '>', $out, '2>', $error, IPC::Run::timeout(600)) });
}

sub install
{
	my ($proxy, @shards) = @_;
	my ($ok, $out, $error) = script('install', '--proxy', conninfo($proxy),
		map { ('--shard', ($names[$_] // "shard$_") . '=' . conninfo($shards[$_])) } 0 .. $#shards);
	diag($out, $error) if !$ok;
	return $ok;
}

# initdb works for longer than a copy of what it has made: so the first node of a run is the template of the others.
sub init_node
{
	my ($node) = @_;
	my $template = "$PostgreSQL::Test::Utils::tmp_check/template.$encoding";
	my $data = $node->data_dir;
	if (!-e $template)
	{
		$node->init(extra => [ "--encoding=$encoding", '--locale=C' ]);
		PostgreSQL::Test::Utils::system_or_bail('cp', '-a', $data, "$template.new");
		rename "$template.new", $template or die "$template: $!";
		return;
	}
	mkdir $_ for $node->backup_dir, $node->archive_dir;
	PostgreSQL::Test::Utils::system_or_bail('cp', '-a', $template, $data);
	$node->append_conf('postgresql.conf', 'port = ' . $node->port . "\nunix_socket_directories = '" . $node->host . "'");
	return;
}

sub start_node
{
	my ($name, @settings) = @_;
	my $node = Shards::Node->new($name);
	init_node($node);
	$node->append_conf('postgresql.conf', "log_line_prefix = '%m [%p] [%e] '\nlog_statement = none\nmax_connections = 60\n$patient\n" . join("\n", @settings, ''));
	$node->start;
	return $node;
}

# Starts and installs. Returns the proxy and the shards. Arguments are lines for postgresql.conf.
sub start
{
	my (@settings) = @_;
	my @shards = map { start_node($_, grep { !/^queue_proxy/ } @settings) } @names;
	my $proxy = start_node('proxy', @settings);
	install($proxy, @shards) or BAIL_OUT('scaleout/install failed');
	return ($proxy, @shards);
}

# Runs SQL and returns the SQLSTATE ('' if it succeeds), the output and stderr.
sub call
{
	my ($node, $sql, %params) = @_;
	my ($status, $out, $error) = !%params && $sql !~ /;./s && is_plain($sql) ? $node->ask('postgres', $sql) : $node->psql('postgres', $sql,
		extra_params => [ '-v', 'VERBOSITY=verbose' ], %params);
	my ($state) = $error =~ /ERROR:  ([0-9A-Z]{5}): /;
	return ($state // ($status ? 'fail' : ''), $out, $error);
}

# The state of a process, as ps has it, and its parent; X: it is not there. Not every system has ps.
sub process
{
	my ($pid) = @_;
	open my $in, '<', "/proc/$pid/stat" or return ('X', 0);
	return (<$in> // '') =~ /.*\) (\S) (\d+)/s ? ($1, $2) : ('X', 0);
}

sub process_state { return (process($_[0]))[0]; }
sub children { my ($pid) = @_; return grep { (process($_))[1] == $pid } map { m{(\d+)$} } glob '/proc/[0-9]*'; }

# Sends it, and waits for what it does. A zombie does nothing, but a server that starts takes it for one that runs; and
# whoever reaps orphans may do so only every other second.
sub signal_and_wait
{
	my ($signal, @pids) = @_;
	my $expected = { STOP => qr/[TZX]/, KILL => qr/X/, CONT => qr/[^T]/ }->{$signal};
	kill $signal, @pids;
	my $deadline = time + 180;
	while (my @others = grep { process_state($_) !~ $expected } @pids)
	{
		die "SIG$signal does nothing to @others" if time > $deadline;
		sleep 0.01;
	}
	return;
}

my %stopped;
END { kill 'CONT', keys %stopped; }

# STOP, CONT or KILL for all processes of a server: a postmaster that has stopped cannot make others meanwhile. One
# that it makes while it is killed would live on, and might wait for ever for what another has held, and keep the
# server from starting again. Returns how many they are.
sub signal_all
{
	my ($node, $signal) = @_;
	my $pid = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	if ($signal ne 'CONT')
	{
		$stopped{$pid} = 1;
		signal_and_wait('STOP', $pid);
	}
	my @pids = ($pid, children($pid));
	if ($signal eq 'STOP') { @stopped{@pids} = (1) x @pids; }
	else { delete @stopped{@pids}; }
	signal_and_wait($signal, @pids);
	$node->{_pid} = undef if $signal eq 'KILL';
	return scalar @pids;
}

# What leaves a session as it was.
sub is_plain
{
	my ($sql) = @_;
	return $keeps_sessions && $sql !~ /\b(?:set|reset|begin|commit|rollback|temp|temporary|lock table|prepare|declare)\b|\\/i;
}

# A server whose sessions are kept: to connect, through a proxy to each shard, and in each to compile the functions that
# are called is most of the work. SQL that would change its session has one of its own.
package Shards::Node;

use strict;
use warnings;

our @ISA = ('PostgreSQL::Test::Cluster');

# Returns the status as psql() does, the output and stderr.
sub ask
{
	my ($self, $database, $sql) = @_;
	my $kept = $self->{_kept} //= [];
	my ($session) = grep { $_->{database} eq $database } @$kept;
	if (!$session)
	{
		# Not of every database of a server with many.
		(shift @$kept)->{psql}->quit while @$kept > 5;
		$session = { database => $database, psql => $self->background_psql($database, on_error_stop => 0) };
		$session->{psql}->query_safe('\\set VERBOSITY verbose');
		push @$kept, $session;
	}
	my $psql = $session->{psql};
	$psql->{stderr} = '';
	my $out = $psql->query($sql);
	my $error = $psql->{stderr};
	$psql->{stderr} = '';
	return ($error =~ /(?:ERROR|FATAL|PANIC): / ? 3 : 0, $out, $error);
}

# Ends the sessions that are kept.
sub forget
{
	my ($self) = @_;
	$_->{psql}->quit for @{ delete $self->{_kept} // [] };
	return;
}

sub safe_psql
{
	my ($self, $database, $sql, %params) = @_;
	return $self->SUPER::safe_psql($database, $sql, %params) if %params || !Shards::is_plain($sql);
	my ($status, $out, $error) = $self->ask($database, $sql);
	die "$error\nwhile running '$sql'" if $status;
	return $out;
}

sub stop
{
	my ($self, @how) = @_;
	$self->forget;
	return $self->SUPER::stop(@how);
}

1;
