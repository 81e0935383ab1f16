# Installing: an object in the way is refused, with a way out, and nothing is half done.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();
my ($a, $b, $c, $proxy, $other) = map { Shards::start_node($_) } qw(a b c proxy other);

sub script
{
	my ($ok, undef, $error) = Shards::script(@_);
	return ($ok, $error);
}

sub install
{
	my ($to, @shards) = @_;
	return script('install', '--proxy', Shards::conninfo($to), map { ('--shard', $_->name . '=' . Shards::conninfo($_)) } @shards);
}

# Schemas of others.
$_->safe_psql('postgres', 'create role eve login; grant create on database postgres to eve') for $a, $b, $c, $proxy, $other;
my ($ok, $error);
for my $schema (qw(queue_proxy queue_remote queue_local queue_dblink))
{
	$proxy->safe_psql('postgres', "set role eve; create schema $schema");
	($ok, $error) = install($proxy, $a, $b);
	ok(!$ok, "a schema $schema of another role is refused");
	like($error, qr/the proxy has schemas of roles that are no superusers: $schema of eve/, 'the error says so');
	$proxy->safe_psql('postgres', 'drop schema if exists queue_proxy, queue_remote, queue_local, queue_dblink cascade');
}
is($a->safe_psql('postgres', q{select count(*) from pg_namespace where nspname = 'queue_shard'}), 0, 'no shard was touched');
$a->safe_psql('postgres', 'set role eve; create schema queue_shard');
($ok, $error) = install($proxy, $a, $b);
ok(!$ok, 'also on a shard');
like($error, qr/queue_shard of eve/, 'which is said');
$a->safe_psql('postgres', 'drop schema queue_shard cascade');

# dblink where all may call it.
$proxy->safe_psql('postgres', 'drop extension dblink; create extension dblink schema public');
($ok, $error) = install($proxy, $a, $b);
ok(!$ok, 'dblink in a schema that all may use is refused');
like($error, qr/ALTER EXTENSION dblink SET SCHEMA queue_dblink/, 'the error says what to do');
$proxy->safe_psql('postgres', 'alter extension dblink set schema queue_dblink');
($ok, $error) = install($proxy, $a, $b);
ok($ok, 'when that is done, it succeeds');
is($proxy->safe_psql('postgres', q{select queue_create('q')}), 'q', 'and works');

# A function of another role.
$proxy->safe_psql('postgres', 'create database second');
$proxy->safe_psql('second', q{create schema old; grant create on schema old to eve; set role eve; create function old.queue_pause(queue text) returns boolean language sql as 'select true'; create view old.queues as select 1 as one; create type old.queue_job as (id bigint)});
($ok, $error) = script('install', '--proxy', Shards::conninfo($other), '--schema', 'old', '--shard', 'a=' . Shards::conninfo($a), '--shard', 'b=' . Shards::conninfo($b));
ok($ok, 'a second proxy, in another schema');
($ok, $error) = script('install', '--proxy', Shards::conninfo($proxy, 'second'), '--schema', 'old', '--shard', 'a=' . Shards::conninfo($a), '--shard', 'b=' . Shards::conninfo($b));
ok(!$ok, 'a function, a view and a type of another role are in the way');
like($error, qr/functions, views or types of other owners are in the way: old\.queue_job of eve, old\.queue_pause\(text\) of eve, old\.queues of eve/, 'which are named');
$proxy->forget;
$proxy->safe_psql('postgres', 'drop database second');

# Another superuser.
$_->safe_psql('postgres', 'create role admin superuser login') for $a, $b, $proxy;
{
	local $ENV{PGUSER} = 'admin';
	($ok, $error) = install($proxy, $a, $b);
	ok($ok, 'another superuser may install it again');
}

# Shards that have other numbers: before anything is done.
$c->safe_psql('postgres', 'create role admin superuser login');
my $third = Shards::start_node('third');
($ok, $error) = install($third, $c, $a);
ok(!$ok, 'a shard of another number is refused');
like($error, qr/shard a has the number 0, and not 1/, 'the error says which');
is($c->safe_psql('postgres', 'select count(*) from queue_shard.map'), 0, 'and the others are left alone');
($ok, $error) = install($third, $b, $a);
ok(!$ok, 'as are shards in another order');
($ok, $error) = install($third, $a, $b);
ok($ok, 'in their order they are taken');
is($third->safe_psql('postgres', q{select queue_send('q', '1') > 0}), 't', 'and serve');

# Wrong strings for a proxy that works: it goes on with its own.
my $strings = 'select string_agg(conninfo, $$ $$ order by shard) from queue_proxy.shard';
my $had = $third->safe_psql('postgres', $strings);
($ok, $error) = script('install', '--proxy', Shards::conninfo($third), '--shard', 'a=' . Shards::conninfo($b), '--shard', 'b=' . Shards::conninfo($a));
ok(!$ok, 'strings of each other are refused');
($ok, $error) = script('install', '--proxy', Shards::conninfo($third), '--shard', 'a=' . Shards::conninfo($a), '--shard', 'b=' . Shards::conninfo($c));
ok(!$ok, 'as is that of an empty server');
like($error, qr/shard b has no map/, 'which the error says');
is($third->safe_psql('postgres', $strings), $had, 'the proxy has the strings that it had');
($ok, $error) = script('install', '--proxy', Shards::conninfo($third), ('--shard', 'a=' . Shards::conninfo($a)) x 2);
ok(!$ok && $error =~ /two shards have the name a/, 'two shards of a name are refused');

# In the middle of a growth.
$a->safe_psql('postgres', 'select queue_shard.set_map(0, 2)');
($ok, $error) = install($third, $a, $b);
ok(!$ok, 'a shard with another version of the map');
like($error, qr/shard a has version 2 of the map, and the proxy 1: run scaleout\/grow/, 'is for scaleout/grow');
($ok, $error) = script('grow', (map { ('--proxy', Shards::conninfo($_)) } $proxy, $third, $other), map { ('--shard', $_->name . '=' . Shards::conninfo($_)) } $a, $b);
ok($ok, 'which makes it whole');
($ok, $error) = install($third, $a, $b);
ok($ok, 'then it can be installed again');

# A lock of anybody on the map, which nothing changes.
my $holder = $a->background_psql('postgres');
$holder->query_safe('set role eve; begin; select * from queue_shard.map');
{
	local $ENV{PGOPTIONS} = '-c lock_timeout=60s';
	($ok, $error) = install($third, $a, $b);
	ok($ok, 'an installation again does not wait for who reads the map');
}
$holder->quit;

# A shard that cannot be reached.
is((script('move', '--proxy', Shards::conninfo($third)))[0], 1, 'there is nothing to move');
($ok, $error) = script('move', '--proxy', 'host=/nowhere dbname=postgres');
ok(!$ok && $error !~ /no shards/, 'nor is that said of a proxy that cannot be reached');
$third->safe_psql('postgres', q{update queue_proxy.shard set conninfo = 'host=/nowhere dbname=postgres' where shard = 1});
($ok, $error) = script('move', '--proxy', Shards::conninfo($third));
ok(!$ok, 'nor is that said of a shard that cannot be reached');
# One that takes connections and says nothing.
my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die $!;
$Shards::connect_timeout = undef;
($ok, $error) = script('move', '--proxy', 'host=127.0.0.1 dbname=postgres port=' . $silent->sockport);
ok(!$ok, 'a server that is silent is given up');
like($error, qr/timeout expired/, 'which is said');

done_testing();
