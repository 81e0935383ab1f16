# Databases of a server share the rings, and nothing that is in them: a user of another
# database sees no counters of this one and sets none to zero; using more queues than there
# are rings he has the claims here read more often, and no more than that.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('databases');
$node->init;
$node->append_conf('postgresql.conf', 'queue_ext.max_rings = 8');
$node->start;
$node->safe_psql('postgres', 'create database mine');
$node->safe_psql('postgres', 'create database another');
$node->safe_psql($_, q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour');
}) for 'mine', 'another';

$node->safe_psql('mine', q{select queue_send_many('q', array_fill('1'::jsonb, array[900])), count(*) from queue_pop('q', 5)});
my $counters = q{select queue, claims, sweeps > 0 from queue_claim_stats};
is($node->safe_psql('mine', q{select count(*) from queue_pop('q', 5)}), '5', 'claims');
like($node->safe_psql('mine', $counters), qr/^public\.q\|\d+\|t$/, '... which are counted');
is($node->safe_psql('another', $counters), '', '... in their own database only');

my $claims = q{select claims from queue_claim_stats};
my $before = $node->safe_psql('mine', $claims);
$node->safe_psql('another', 'select queue_claim_stats_reset()');
is($node->safe_psql('mine', $claims), $before, 'a reset in another database is none here');
$node->safe_psql('mine', 'select queue_claim_stats_reset()');
is($node->safe_psql('mine', $claims), '0', 'one here is');

# The same name, and maybe the same OID, is another queue.
is($node->safe_psql('another', q{select count(*) from queue_pop('q', 5)}), '0', 'what is here is not there');
$node->safe_psql('another', q{select queue_send('q', '"there"', -1)});
is($node->safe_psql('mine', q{select payload, priority from queue_pop('q')}), '1|0', 'nor the other way round');
is($node->safe_psql('another', q{select payload from queue_pop('q')}), '"there"', '... where it is');

# A copy has tables of the same OIDs and files, and candidates of its own.
$node->safe_psql('postgres', 'create database copied template mine');
for my $database ('mine', 'copied', 'mine')
{
	my $next = $node->safe_psql($database, 'select min(id) from q where leased_until is null');
	is($node->safe_psql($database, q{select id from queue_pop('q')}), $next, "what comes next in the database $database");
}
$node->safe_psql('postgres', 'drop database copied');

# Others take the rings, again and again.
$node->safe_psql('another', q{select queue_create(format('q%s', n)) from generate_series(1, 40) as n});
my $all_in_order = 1;
my $last = $node->safe_psql('mine', q{select max(id) from q where leased_until is not null});
for my $round (1 .. 10)
{
	$node->safe_psql('another', q{select (select id from queue_pop(format('q%s', n))) from generate_series(1, 40) as n});
	my $id = $node->safe_psql('mine', q{select id from queue_pop('q')});
	$all_in_order = 0 if $id != $last + 1;
	$last = $id;
}
ok($all_in_order, 'claims go on in their order when their ring is gone each time');
is($node->safe_psql('mine', q{select count(*) from queue_pop('q', 1000)}), 900 - $last, 'and nothing is missing');
is($node->safe_psql('mine', q{select count(*), max(attempt) from q}), '900|1', '... nor had twice');
$node->stop;

done_testing();
