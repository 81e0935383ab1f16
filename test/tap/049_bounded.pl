# What a ring says is believed for a minute at most, if it is broken unseen: here rows are written while the catalogs say,
# without an invalidation, that the trigger is disabled.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../clock";
use Clock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('bounded');
$node->init;
my $clock = Clock->new($node->basedir);
$clock->start($node);

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	create extension queue_ext;
	select queue_create(q) from unnest('{popped,waited}'::text[]) as q;
});

# The same session before and after: a new one would see that the catalogs have changed.
my $worker = $node->background_psql('postgres');
my $pop = q{select count(*) from queue_pop('popped')};
is($worker->query_safe($pop), 0, 'a pop finds nothing, and leaves the ring quiet');
my $waiter = $node->background_psql('postgres');
$waiter->query_until(qr/waits/, "set application_name = 'waiter';\n\\echo waits\ncall queue_wait('waited', '30 min');\n");
$node->poll_query_until('postgres', q{select wait_event_type = 'Extension' from pg_stat_activity where application_name = 'waiter'})
  or die 'nobody waits';

sql(q{update pg_trigger set tgenabled = 'D' where tgname = 'queue_ext_wake'});
sql(qq{insert into $_ (payload) values ('1')}) for 'popped', 'waited';
sql(q{update pg_trigger set tgenabled = 'A' where tgname = 'queue_ext_wake'});
$clock->set(61);
is($worker->query_safe($pop), 1, 'a minute later a pop finds what nobody has told of');
ok($node->poll_query_until('postgres', q{select state = 'idle' from pg_stat_activity where application_name = 'waiter'}),
	'... and who waits finds it, too');

$worker->quit;
$node->stop;
$waiter->quit;
done_testing();
