# Clock.pm - a clock of the test's own for a server that it starts: set forward and back, it is so at once, for
# each process of the server. (libfaketime reads a file whenever a process asks for the time; PostgreSQL does that in
# signal handlers, and one that interrupts another look waits in there for a lock of its own process, for ever.)
#
# Example:
#     my $clock = Clock->new($node->basedir);
#     $clock->start($node);
#     $clock->set(-3600);      # seconds ahead of the machine's clock

package Clock;

use strict;
use warnings;

use File::Basename qw(dirname);

# Builds the library that is preloaded; that and the clock are files in the directory.
sub new
{
	my ($class, $dir) = @_;
	my $self = bless { file => "$dir/clock", library => "$dir/clock.so" }, $class;
	my $source = dirname(__FILE__) . '/clock.cpp';
	my $compiler = $ENV{CXX} || 'g++';
	system("$compiler -std=c++17 -O1 -Wall -Wextra -shared -fPIC -o '$self->{library}' '$source'") == 0 or die "$compiler cannot build $source";
	open my $out, '>', $self->{file} or die "$self->{file}: $!";
	close $out or die $!;
	$self->set(0);
	return $self;
}

# The server's clock is as many seconds ahead of the machine's, or behind.
sub set
{
	my ($self, $by) = @_;
	# In place, as the processes have mapped it.
	open my $out, '+<:raw', $self->{file} or die "$self->{file}: $!";
	syswrite($out, pack 'q', $by) == 8 or die "$self->{file}: $!";
	close $out or die $!;
	return;
}

# Starts a PostgreSQL::Test::Cluster with this clock.
sub start
{
	my ($self, $node) = @_;
	local $ENV{LD_PRELOAD} = join ' ', $ENV{LD_PRELOAD} // (), $self->{library};
	local $ENV{TEST_CLOCK} = $self->{file};
	return $node->start;
}

1;
