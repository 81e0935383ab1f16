# Several workers pop from a queue in which everything is leased. One sweep answers them all: a
# worker that has waited for another's sweep does not sweep itself, which would make the next one
# wait, and so on.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wake_turns');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour');
	select count(*) from queue_send_many('q', array_fill('1'::jsonb, array[100000]));
});
$node->safe_psql('postgres', 'vacuum analyze q');
$node->safe_psql('postgres', q{do $$ begin for n in 1 .. 10 loop perform count(*) from queue_pop('q', 10000); end loop; end $$});

my $script = $node->basedir . '/pop.sql';
append_to_file($script, "select id from queue_pop('q');\n");
# A server that has just begun knows nothing of the queue, so that the first pop sweeps.
my ($clients, $rounds, $total) = (3, 8, 0);
for my $round (1 .. $rounds)
{
	$node->restart;
	$node->command_ok([ 'pgbench', '-n', '-c', $clients, '-t', '1500', '-f', $script, $node->connstr('postgres') ],
		"$clients workers, round $round");
	my ($pops, $sweeps) = split /\|/, $node->safe_psql('postgres', 'select empty_pops, sweeps from queue_claim_stats');
	is($pops, 1500 * $clients, 'nothing is claimable');
	$total += $sweeps;
}
cmp_ok($total, '>=', $rounds, 'a pop of each round sweeps');
cmp_ok($total, '<=', $rounds * $clients, 'and few others do');
$node->stop;
done_testing();
