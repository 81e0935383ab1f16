# A queue is idle, which those who share the memory rely on, when for the first time a
# backend cannot attach it, as the segment's file has gone (systemd's RemoveIPC does that).
# What that one sends others have at once.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('first_stray');
$node->init;
# Where the segments are files of the data directory.
$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$node->start;
$node->safe_psql('postgres', q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour');
	create table t (id bigint generated always as identity primary key, state integer not null default 0);
	create index on t (id) where state = 0;
	select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', wake => true);
	create function pops(out q bigint, out t bigint) language sql volatile
	begin atomic
		select (select count(*) from queue_pop('q', 5)), (select count(*) from queue_pop_rows(null::t, max_jobs => 5));
	end;
});
plan skip_all => 'from 17 on the way to the segment is in a segment'
  if $node->safe_psql('postgres', 'show server_version_num') >= 170000;

# Ours is the largest: others are the server's own, which it cannot do without.
sub remove_segment
{
	my ($segment) = sort { -s $b <=> -s $a } glob($node->data_dir . '/pg_dynshmem/mmap.*');
	die 'there is no segment of that size' unless -s $segment > 10_000_000;
	unlink $segment or die "$segment: $!\n";
}

# A look at the head that the clock brings would hide a fault, and there is one first stray
# of a server only: so five times over.
my @found;
for (1 .. 5)
{
	my ($first, $stray) = map { $node->background_psql('postgres', on_error_stop => 1) } 1, 2;
	$first->query_safe('select * from pops()');
	remove_segment();
	$first->query_safe('select * from pops()');
	$stray->query_safe(q{select queue_send('q', '1') is not null});
	push @found, $first->query_safe('select q from pops()');
	$_->quit for $first, $stray;
	$node->restart;
}
is("@found", '1 1 1 1 1', 'a stray sends, and another has it');
$node->stop;

done_testing();
