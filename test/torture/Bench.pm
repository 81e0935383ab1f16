# Bench.pm - a database of its own, clients of pgbench that work in it, and sessions of theirs that are ended.
#
# The database is made by make_database(), and dropped at the end.
#
# Example:
#     Bench::make_database('queue_ext_torture_');
#     my $pid = Bench::start("$Bench::dir/log", '-c', 8, '-T', 10, '-f', $file);
#     my $ended = Bench::end_sessions($pid, 8, 0.2);
#     my ($unknown, @odd) = Bench::errors_in(Bench::lines_of("$Bench::dir/log"));

package Bench;

use strict;
use warnings;

use Exporter qw(import);
use File::Temp qw(tempdir);
use IPC::Open3;
use POSIX ();
use Test::More;

our @EXPORT_OK = qw(run sql);
our $dir = tempdir(CLEANUP => 1);
our $database;
my $owner = $$;
$ENV{PGAPPNAME} = 'torture';

# Runs a program; returns its status and all it said.
sub run
{
	my (@command) = @_;
	my $pid = open3(my $in, my $out, undef, @command);
	close $in;
	my $said = do { local $/; <$out> };
	waitpid $pid, 0;
	return ($? >> 8, defined $said ? $said : '');
}

sub sql
{
	my ($query, $in) = @_;
	my ($status, $said) = run('psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-d', $in || $database, '-c', $query);
	$status == 0 or die "$query\n$said";
	chomp $said;
	return $said;
}

sub make_database
{
	my ($prefix) = @_;
	$database = "$prefix$$";
	return sql("create database $database", 'postgres');
}

END
{
	my $status = $?;
	eval { sql("drop database if exists $database with (force)", 'postgres') } if defined $database && $$ == $owner;
	$? = $status;
}

# Starts pgbench, whose output goes into that file; returns its PID.
sub start
{
	my ($log, @options) = @_;
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>', $log or die $!;
		open STDERR, '>&', \*STDOUT or die $!;
		exec 'pgbench', '-n', '-j', 2, @options, $database or POSIX::_exit(127);
	}
	return $pid;
}

# Until that pgbench is done. Now and then it ends a session that is in a transaction, up to so many; returns how many.
sub end_sessions
{
	my ($pid, $most, $pause) = @_;
	my $ended = 0;
	while (waitpid($pid, POSIX::WNOHANG()) == 0)
	{
		select undef, undef, undef, $pause;
		next if $ended >= $most;
		# One that has ended by itself meanwhile is a warning.
		$ended += sql(q{set client_min_messages = error; select count(*) filter (where pg_terminate_backend(pid)) from (
			select pid from pg_stat_activity
			where datname = current_database() and application_name = 'torture'
				and pid <> pg_backend_pid() and state <> 'idle' order by random() limit 1) as v});
	}
	return $ended;
}

sub lines_of
{
	my ($log) = @_;
	open my $file, '<', $log or die "$log: $!";
	return <$file>;
}

# Of what pgbench said: how many sessions were ended, each with a transaction whose outcome its client did not hear; and
# the errors and warnings that do not come of that.
sub errors_in
{
	my @errors = grep { /pgbench: error|\b(?:ERROR|FATAL|PANIC|WARNING):/ } @_;
	my $of_ended = qr/administrator command|perhaps the backend died|server closed the connection|SQL command send failed/;
	my $ended = grep { /$of_ended/ } @errors;
	return ($ended, grep { !/$of_ended|Run was aborted/ } @errors);
}

# As a test: the indexes and heaps of the database are whole.
sub amcheck_finds_nothing
{
  SKIP:
	{
		skip 'amcheck is not installed', 1
		  unless sql(q{select count(*) from pg_available_extensions where name = 'amcheck'}) eq '1';
		sql('create extension amcheck');
		my ($status, $said) = run('pg_amcheck', '--heapallindexed', '--parent-check', '-d', $database);
		is($status, 0, 'pg_amcheck finds nothing') or diag($said);
	}
	return;
}

1;
