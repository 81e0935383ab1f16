# Backends wait for a table whose rows are not announced, and each read of it takes a while. The one
# that keeps time reads; those before it in the list, which keep time in turn when the one after them
# has left, do not read as well.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wait_keepers');
$node->init;
$node->start;

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	set client_min_messages = error;
	create extension queue_ext;
	create table t (id bigint generated always as identity primary key, state integer not null);
	insert into t (state) select 1 from generate_series(1, 200000);
	select queue_attach('t', 't', 'state = 0', 'id', 'state = 1');
});
my $stats = q{from queue_claim_stats where source = 't'::regclass};
my @workers;
for my $number (1 .. 12)
{
	push @workers, $node->background_psql('postgres');
	$workers[-1]->query_until(qr/waits/, "\\echo waits\ncall queue_wait('t', '1 hour');\n");
	# The last one may be looking.
	$node->poll_query_until('postgres', "select waiting >= $number - 1 $stats") or die 'it does not wait';
}

# While nothing is written, nothing is read.
my ($sweeps, $wakes) = split /\|/, sql("select sweeps, wakes $stats");
$node->poll_query_until('postgres', "select txid_current() is not null and sweeps >= $sweeps + 5 $stats") or die 'nobody reads';
my ($more_sweeps, $more_wakes) = split /\|/, sql("select sweeps - $sweeps, wakes - $wakes $stats");
cmp_ok($more_wakes, '<=', 4 * $more_sweeps, 'for a read one is woken, and not all twelve');
$node->stop;

done_testing();
