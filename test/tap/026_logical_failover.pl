# After a failover to a logical replica sequences are behind: what the reference says to run
# makes ids go on, for queues that the replica knows, and queue_adopt for those it does not.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = PostgreSQL::Test::Cluster->new('old');
$old->init(allows_streaming => 'logical');
$old->start;
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(allows_streaming => 'logical');
$new->start;

$old->safe_psql(
	'postgres', q{
	create extension queue_ext;
	select queue_create('known'), queue_create('unknown', lease => '7 minutes', archive => true);
	create publication p for table known, unknown, unknown_archive;
});
my $dump = $old->basedir . '/unknown.sql';
$old->command_ok([ 'pg_dump', '--schema-only', '-t', 'unknown*', '-f', $dump, 'postgres' ], 'the schema of one queue');
$new->safe_psql('postgres', q{create extension queue_ext; select queue_create('known')});
$new->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', 'postgres' ], 'goes to the replica');
my $connection = $old->connstr . ' dbname=postgres';
$new->safe_psql('postgres', "create subscription s connection '$connection' publication p");
$new->wait_for_subscription_sync($old, 's');

$old->safe_psql(
	'postgres', q{
	select queue_send_many('known', '{1,2,3}'), queue_send_many('unknown', '{1,2,3,4}');
	select queue_complete('known', id, attempt) from queue_pop('known');
	select queue_complete('unknown', id, attempt) from queue_pop('unknown', 4);
});
$old->wait_for_catchup('s');
$old->stop;
$new->safe_psql('postgres', 'alter subscription s disable; alter subscription s set (slot_name = none); drop subscription s');

# As it is: the first id has been used, the second is that of a job.
is($new->safe_psql('postgres', q{select queue_send('known', '"again"')}), '1', 'an id comes again');
my ($status, $out, $err) = $new->psql('postgres', q{select queue_send('known', '"again"')});
like($err, qr/duplicate key value violates unique constraint "known_pkey"/, 'or cannot');
($status, $out, $err) = $new->psql('postgres', q{select queue_send('unknown', '5')});
like($err, qr/queue_adopt\('unknown'\)/, 'the other table is no queue');

# What the reference says.
open my $in, '<', 'doc/queue_ext.md' or die "doc/queue_ext.md: $!";
my ($said) = do { local $/; <$in> } =~ /^(select format\('select setval.*?\\gexec\n)/ms;
ok(defined $said, 'the reference says what to run');
is( $new->safe_psql('postgres', "select queue_adopt('unknown');\n$said"),
	"unknown\n1000003\n1000004", 'it sets all sequences');
is($new->safe_psql('postgres', q{select queue_send('known', '4'), queue_send('unknown', '5')}), '1000004|1000005', 'ids go on');
is($new->safe_psql('postgres', q{select id from queue_pop('known', 10) order by id; select id, attempt from queue_pop('unknown', 10)}),
	"1\n2\n3\n1000004\n1000005|1", 'all jobs are there');
is($new->safe_psql('postgres', q{select lease, archive from queues where queue = 'public.unknown'}), '00:07:00|unknown_archive', 'and the settings');

$new->stop;
done_testing();
