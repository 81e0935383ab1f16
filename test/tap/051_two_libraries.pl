# The library was updated while sessions with the former one go on, in a pool: each version has shared memory of its own,
# so that they tell each other nothing. Jobs that one has sent are found by the other, in a minute at most, by pops
# and by waiters; and none is claimed twice.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../clock";
use Clock;
use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $library = `pg_config --pkglibdir`);
$library .= '/queue_ext.so';
plan(skip_all => 'changes the library, and this one is not of the test alone')
  if !defined $ENV{SCRATCH} || index($library, $ENV{SCRATCH}) != 0;

# The same library as another version: the segments are found by that. The file is replaced, as others may have it by
# another link, and sessions have it mapped.
my $kept = slurp_file($library);
sub install
{
	my ($bytes) = @_;
	open my $out, '>:raw', "$library.new" or die "$library.new: $!";
	print $out $bytes;
	close $out or die $!;
	chmod 0755, "$library.new";
	rename "$library.new", $library or die "$library: $!";
	return;
}
my $newer = $kept;
my $places = $newer =~ s{(queue_ext/\d+\.\d+\.\d*)(\d)\0}{$1 . (9 - $2) . "\0"}ge;
is($places, 1, 'the version stands in one place');
END { install($kept) if defined $kept && defined $newer; }

my $node = PostgreSQL::Test::Cluster->new('libraries');
$node->init;
my $clock = Clock->new($node->basedir);
$clock->start($node);
$node->safe_psql('postgres', q{create extension queue_ext; select queue_create(q, lease => '1 day') from unnest('{popped,waited,both}'::text[]) as q});

my $former = $node->background_psql('postgres');
$former->query_safe(q{select queue_pop('popped')});
install($newer);
my $present = $node->background_psql('postgres');
my $ahead = 0;
my $round = 0;
for my $pair ([ $present, $former, 'the new library' ], [ $former, $present, 'the former one' ])
{
	my ($worker, $sender, $what) = @$pair;
	is($worker->query_safe(q{select count(*) from queue_pop('popped')}), 0, "$what: nothing is there");
	my $name = 'waiter' . ++$round;
	# With the library that is installed now: the new one.
	my $waiter = $node->background_psql('postgres');
	$waiter->query_until(qr/waits/, "set application_name = '$name';\n\\echo waits\ncall queue_wait('waited', '30 min');\n");
	$node->poll_query_until('postgres', "select wait_event_type = 'Extension' from pg_stat_activity where application_name = '$name'") or die 'nobody waits';
	$sender->query_safe(qq{select queue_send('popped', '1'), queue_send('waited', '1')});
	$ahead += 61;
	$clock->set($ahead);
	is($worker->query_safe(q{select count(*) from queue_pop('popped')}), 1, "$what: a minute later a pop finds what the other has sent");
	ok($node->poll_query_until('postgres', "select state = 'idle' from pg_stat_activity where application_name = '$name'"), "$what: and so does who waits");
	is($node->safe_psql('postgres', q{select count(*) from queue_pop('waited')}), 1, "$what: ... for it");
	$waiter->quit;
}

# Both claim from one queue, beside each other.
$former->query_safe(q{select count(*) from queue_send_many('both', array(select to_jsonb(n) from generate_series(1, 300) as n))});
my @ids;
for my $turn (1 .. 200)
{
	for my $worker ($former, $present)
	{
		push @ids, split /\n/, $worker->query_safe(q{select id from queue_pop('both', 2)});
	}
	last if @ids >= 300;
}
my %seen;
is(scalar(grep { $seen{$_}++ } @ids), 0, 'none is claimed twice');
is(scalar(keys %seen), 300, 'and all are claimed');
# What the other has claimed last still stands in the ring of the former one, and a sweep that reads nothing leaves it
# there: the pop tries it. Then the statistics have the right numbers.
$ahead += 61;
$clock->set($ahead);
is($_->query_safe(q{select queue_pop('both')}), '', 'nothing is left') for $former, $present;
is($_->query_safe(q{select ready, leased from queue_stats where source = 'both'::regclass}), '0|300', 'and both say so') for $former, $present;

$_->quit for $former, $present;
$node->stop;
my @lines = grep { /\b(?:WARNING|PANIC|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');
done_testing();
