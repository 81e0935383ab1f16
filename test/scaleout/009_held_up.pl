# Growths that locks hold up halfway, and shards that were restored to the past: they come to an end, and lose no key.
# Shards and proxies are databases of one server here.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();
my $node = Shards::start_node('node', $Shards::trusting);
$node->safe_psql('postgres', "create database $_") for qw(a b c p);

sub sql { my ($database, $sql) = @_; return $node->safe_psql($database, $sql); }

sub command
{
	my ($name, @shards) = @_;
	return ($name, '--proxy', Shards::conninfo($node, 'p'), map { /^--/ ? $_ : ('--shard', "$_=" . Shards::conninfo($node, $_)) } @shards);
}

sub script { return Shards::script(command(@_)); }

my ($ok, $out, $error) = script('install', 'a');
ok($ok, 'a proxy with a shard');
sql('p', q{select queue_create('q'), queue_create('u'), queue_create('changed')});

# The first shard is closed when a lock on the new one comes in the way, and a queue is changed.
my $closing = $node->background_psql('a');
$closing->query_safe(q{
	create function wait_here() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(77); return null; end $$;
	create trigger wait_here before insert or update on queue_shard.map for each statement execute function wait_here();
	begin; select pg_advisory_xact_lock(77)});
($out, $error) = ('', '');
my $growth = Shards::start_script(\$out, \$error, command('grow', 'a', 'b'));
$growth->pump until $error =~ /shard a: calls are running/ || !$growth->pumpable;
sql('a', q{select queue_alter('changed', lease => '7 s')});
my $locker = $node->background_psql('b');
$locker->query_safe('begin; lock table changed in access share mode');
my $reader = $node->background_psql('b');
$reader->query_safe('begin; lock table q in access share mode');
$closing->query_safe('rollback; drop trigger wait_here on queue_shard.map');
$closing->quit;
$growth->pump until $error =~ /shard b: .*calls are running/ || !$growth->pumpable;
like($error, qr/shard b: .*calls are running; trying again/, 'a lock on a queue of the new shard is waited for');
$locker->quit;
$growth->finish;
note($out, $error);
ok($growth->result == 0, 'then the growth goes on, and does not ask for a lock on a queue that is as it should be');
$reader->quit;
is(sql('b', q{select lease from queues where queue = 'public.changed'}), '00:00:07', 'the other one is, too');

# A shard is restored to before a growth whose keys have not been moved.
sql('p', q{select mutex_acquire(md5('m' || i)), throttle_create('t' || i, '1 hour'), lock_throttled_resource('t' || i, 'me') from generate_series(1, 60) as i;
	select queue_schedule('q', 's' || i, every => '1 day', starts_at => '2100-01-01') from generate_series(1, 20) as i;
	select queue_unique_insert('u', jsonb_build_object('k', i), '{k}', run_at => '2090-01-01') from generate_series(1, 30) as i;
	select queue_unique_insert('u', jsonb_build_object('k', i), '{k}', '3650 days', run_at => '2090-01-01') from generate_series(1, 30) as i;
	select queue_send('u', '1', partition_key => 'k' || i) from generate_series(1, 20) as i});
sql('a', 'create table map_before as select * from queue_shard.map');
my $keys = 'select kind, queue, key, shard, array(select unnest(jobs) order by 1) from queue_shard.leaving order by 1, 2, 3, 4';
($ok, $out) = script('grow', 'a', 'b', 'c', '--keep-order');
ok($ok, 'a shard is added');
my $leaving = sql('a', $keys);
is(join(' ', sort { $a cmp $b } do { my %kind = map { /^(\w+)/ ? ($1 => 1) : () } split /\n/, $leaving; keys %kind }), 'mutex order schedule throttle unique', 'state of each kind leaves it');
sql('a', q{delete from queue_shard.map; insert into queue_shard.map select * from map_before; delete from queue_shard.leaving});
like((Shards::call($node, q{begin isolation level repeatable read; select queue_pop('q')}, connstr => $node->connstr('p')))[0], qr/^$|55000/, 'the shard knows the map before only');
($ok, $out) = script('grow', 'a', 'b', 'c');
ok($ok, 'it gets the present map');
is(sql('a', $keys), $leaving, 'and lists the keys that others wait for');
sql('p', q{select queue_complete('u', id, attempt) from queue_pop('u', 1000)});
($ok, $out) = script('move');
ok($ok, 'so they are moved');
is(join(' ', map { sql($_, 'select (select count(*) from queue_shard.unmoved) + (select count(*) from queue_shard.leaving)') } qw(a b c)), '0 0 0', 'all of them');
is(sql('p', q{select count(*) filter (where mutex_acquire(md5('m' || i))), count(*) filter (where lock_throttled_resource('t' || i, 'x')) from generate_series(1, 60) as i}), '0|0', 'what was held is held');
is(sql('p', q{select count(*) filter (where (queue_unique_insert('u', jsonb_build_object('k', i), '{k}', run_at => '2090-01-01')).inserted) from generate_series(1, 30) as i}), 0, 'what was there is there');
is(sql('p', 'select count(*), count(distinct name) from queue_schedules'), '20|20', 'and each schedule');

done_testing();
