# What queue_unique_insert_many() locks where the server's lock table is small: 256 keys one by
# one, and stripes instead of keys from the 257th on.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('unique_locks');
$node->init;
$node->append_conf('postgresql.conf', "max_locks_per_transaction = 10\nmax_connections = 20\n");
$node->start;
$node->safe_psql('postgres', q{create extension queue_ext; do $$ begin perform queue_create('q'); end $$});

sub locks
{
	my ($jobs) = @_;
	return $node->safe_psql('postgres', qq{
		begin;
		do \$\$ begin
			perform queue_unique_insert_many('q', array(select to_jsonb(i) from generate_series(1, $jobs) as i));
		end \$\$;
		select count(*) filter (where mode = 'ExclusiveLock') as keys, count(*) filter (where mode = 'ShareLock') > 0 as stripes_are_shared
		from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
		rollback});
}

is(locks(255), '255|t', 'below the limit each key is locked');
is(locks(256), '256|t', 'at the limit, too');
like(locks(257), qr/^\d+\|f$/, 'above it only stripes');
$node->stop;
done_testing();
