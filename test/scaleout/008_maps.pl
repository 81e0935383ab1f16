# Which maps a shard takes, and which servers become shards: what scaleout/grow must refuse before it changes
# anything. Shards and proxies are databases of one server here.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();
my $dir = PostgreSQL::Test::Utils::tempdir();
my $node;
{
	local $ENV{PGSERVICEFILE} = "$dir/of_server";
	$node = Shards::start_node('node', $Shards::trusting);
}

# Databases of these names.
sub create { $node->safe_psql('postgres', "create database $_") for @_; return; }
sub sql { my ($database, $sql) = @_; return $node->safe_psql($database, $sql); }

# install or grow, with proxies and shards that are given as "p q: a b".
sub script
{
	my ($name, $where, @more) = @_;
	my ($proxies, $shards) = split /:/, $where;
	return Shards::script($name, (map { ('--proxy', Shards::conninfo($node, $_)) } split ' ', $proxies),
		(map { ('--shard', s/=.*//r . '=' . Shards::conninfo($node, s/.*=//r)) } split ' ', $shards), @more);
}

sub versions
{
	my ($proxies, $shards) = map { [ split ' ' ] } split /:/, $_[0];
	return join(' ', map({ sql($_, 'select coalesce(max(version), 0) from queue_proxy.map') } @$proxies), ':',
		map({ sql($_, 'select coalesce(max(version), 0) from queue_shard.map') } @$shards));
}

# A proxy that is left out does not take back what another one has.
create(qw(a b c d p q));
my ($ok, $out, $error);
for my $proxy (qw(p q))
{
	($ok) = script('install', "$proxy: a");
	ok($ok, "proxy $proxy is set up");
}
($ok) = script('grow', 'p: a b');
ok($ok, 'a growth with one of two proxies');
is(sql('p', q{select count(mutex_acquire('m' || i)) from generate_series(1, 20) as i}), 20, 'which has mutexes acquired');
($ok, $out, $error) = script('install', 'q: a');
ok(!$ok, 'the other one is refused');
like($error, qr/shard a has version 2 of the map, and the proxy 1: run scaleout\/grow for this proxy and the shards a, b$/m, 'and told of which shards the map is');
my $map = q{select md5(m::text) from queue_shard.map m};
my @had = map { sql($_, $map) } qw(a b);
($ok, $out, $error) = script('grow', 'q: a');
ok(!$ok, 'it does not take the growth back');
like($error, qr/map 2, of the shards a, b, .*none of those named has it/, 'which is said');
is(versions('p q: a b'), '2 1 : 2 2', 'no version is changed');
is_deeply([ map { sql($_, $map) } qw(a b) ], \@had, 'nor anything else of a map');
like((Shards::call($node, q{select queue_shard.close_map(0, 3, 'x', array_agg(0), array_agg(0), false, 1) from generate_series(1, 1024)}, connstr => $node->connstr('a')))[2],
	qr/ERROR:  55000: a proxy may have map 2/, 'nor does a shard let itself be closed');
($ok) = script('grow', 'q: a b');
ok($ok, 'with the new shard it gets the map');
is(versions('p q: a b'), '2 2 : 2 2', 'of that version');
is(sql('q', q{select count(*) filter (where mutex_acquire('m' || i)) from generate_series(1, 20) as i}), 0, 'and no mutex is acquired twice');

# Nor after two growths, to as many shards as there are.
($ok) = script('grow', 'p: a b c');
ok($ok, 'a growth without the other proxy');
($ok) = script('move', 'p:');
ok($ok, 'its keys are moved');
($ok) = script('grow', 'p: a b c d', '--dry-run');
ok($ok, 'a dry run of the next one');
($ok) = script('grow', 'p: a b c d');
ok($ok, 'and the next one');
($ok, $out, $error) = script('grow', "q: $_"), ok(!$ok, "another map is refused: $_"), like($error, qr/map 4, of the shards a, b, c, d, /, 'and named')
  for 'a b', 'a b c', 'a b c d';
is(versions('p q: a b c d'), '4 2 : 4 4 4 4', 'no version is changed');
($ok) = script('grow', 'p q: a b c d');
ok($ok, 'with a proxy that has it, it is taken');
is(versions('p q: a b c d'), '4 4 : 4 4 4 4', 'by the other one');
is(sql('q', $_), sql('p', $_), 'which has the same buckets') for 'select buckets from queue_proxy.map_text()';

# A shard from before that was noted.
sql('a', 'alter table queue_shard.map drop column proxy_version, drop column proxy_shards');
($ok) = script('install', 'p: a b c d');
ok($ok, 'an older shard is installed anew');
is(sql('a', q{select proxy_version, proxy_shards from queue_shard.map}), '4|{a,b,c,d}', 'and knows then that a proxy has its map');

# Servers of another installation, whose proxies go on.
create(qw(e f g r s t u v w x));
script('install', $_) for 'r: e f', 's: g', 'u: e=v f=w';
sql('r', q{select queue_create('mine', archive => true)});
sql('s', q{select queue_create('q')});
($ok, $out, $error) = script('install', 't: e f=w');
ok(!$ok, 'shards of two installations are none');
like($error, qr/shards of different installations/, 'which is said');
for my $same_version (0, 1)
{
	($ok, $out, $error) = script('grow', 's: g f');
	ok(!$ok, 'a shard of another installation does not become one of this');
	like($error, qr/shard f is of another installation/, 'which is said');
	is(versions('r s: e f g'), $same_version ? '2 1 : 2 2 1' : '1 1 : 1 1 1', 'no version is changed');
	is(sql('f', q{select string_agg(queue, ' ') from queues}), 'public.mine', 'its queues are its own');
	is(sql('r', q{select count(queue_send('mine', '1')) from generate_series(1, 4)}), 4, 'which take jobs');
	sql('r', q{select queue_purge('mine')});
	next if $same_version;
	create('y');
	($ok) = script('grow', 'r: e f y');
	ok($ok, 'it has the version that would be the next');
}
($ok, $out, $error) = script('install', 'u: e f');
ok(!$ok, 'nor is a proxy given the shards of another installation');
is(sql('u', q{select string_agg(conninfo, ' ') ~ 'dbname=e' from queue_proxy.shard}), 'f', 'which keeps its own');
($ok, $out, $error) = script('grow', 's: g x x2=x');
ok(!$ok, 'one server is not two shards');
like($error, qr/this server is shard 1, and not 2/, 'which is said');
is(versions('s: g'), '1 : 1', 'no version is changed');
($ok) = script('grow', 's: g x');
ok($ok, 'as one it is taken');
is(sql('s', q{select array_agg(buckets order by shard) from queue_proxy.shards}), '{512,512}', 'and has buckets');
is(sql('s', q{select count(*) filter (where mutex_acquire('m' || i)) from generate_series(1, 20) as i}), 20, 'which are served');
# A server that was a shard of a proxy that is gone: its queue has such ids.
create('z');
sql('z', q{create extension queue_ext; select queue_create('leftover')});
sql('z', $_) for split /\n/, sql('z', q{select format('alter table %I alter column id set minvalue %s set maxvalue %s set start %s restart', 'leftover', (2::bigint << 43) + 1, (3::bigint << 43) - 1, (2::bigint << 43) + 1)});
($ok, $out, $error) = script('move', 's:');
ok($ok, 'before the next growth');
($ok, $out, $error) = script('grow', 's: g x z');
ok(!$ok, 'a server with a queue of such ids is refused');
like($error, qr/queue "public\.leftover" of this server/, 'which is named');
is(sql('z', q{select string_agg(queue, ' ') from queues}), 'public.leftover', 'and stays');
is(versions('s: g x'), '2 : 2 2', 'no version is changed');
sql('z', q{select queue_drop('leftover')});

# What the proxy cannot reach, or finds to be another server. Its server does not know the service.
my $where = 'host=' . $node->host . "\nport=" . $node->port;
append_to_file("$dir/of_script", join('', map { "[$_->[0]]\n$where\ndbname=$_->[1]\n" } [ 'here', 'z' ], [ 'there', 'z' ], [ 'bb', 'bb' ]));
append_to_file("$dir/of_server", "[there]\n$where\ndbname=y\n");
{
	local $ENV{PGSERVICEFILE} = "$dir/of_script";
	($ok, $out, $error) = script('grow', 's: g x', '--shard', 'z=service=here');
	ok(!$ok, 'a string that only the script can use is refused');
	like($error, qr/proxy 1 does not reach shard z/, 'which is said');
	($ok, $out, $error) = script('grow', 's: g x', '--shard', 'z=service=there');
	ok(!$ok, 'so is one that is of another server for the proxy');
	like($error, qr/shard "z" is another server for this proxy.*proxy 1 does not reach shard z/s, 'which is said');
	is(versions('s: g x'), '2 : 2 2', 'no version is changed');
	create(qw(bb cc));
	($ok, $out, $error) = script('install', 'cc:', '--shard', 'b=service=bb');
	ok(!$ok, 'an installation refuses it, too');
	like($error, qr/the proxy does not reach shard b/, 'which says so');
	is(sql('bb', 'select count(*) from queue_shard.map'), 0, 'and leaves the server as it was');
}
# libpq's own form of an option with a space.
($ok, $out, $error) = script('grow', 's: g x', '--shard', 'z=' . Shards::conninfo($node, 'z') . q{ options=-c\ work_mem=8MB});
ok($ok, 'a string with a backslash');
is((Shards::call($node, q{select count(*) filter (where mutex_acquire('n' || i)) from generate_series(1, 40) as i}, connstr => $node->connstr('s')))[1], 40, 'is that of the shard that is reached');
is(sql('s', q{select conninfo ~ 'options=-c\\\\ work_mem=8MB' from queue_proxy.shard where shard = 2}), 't', 'as it was given');

# Bytes without an encoding are hashed, and carried, as what they are not.
create(qw(aa), q{ascii encoding 'SQL_ASCII' template template0});
for my $where ('aa: ascii', 'ascii: aa')
{
	($ok, $out, $error) = script('install', $where);
	ok(!$ok, "SQL_ASCII is refused: $where");
	like($error, qr/has the encoding SQL_ASCII/, 'which is said');
}
is(sql('aa', q{select count(*) from pg_namespace where nspname like 'queue%'}), 0, 'and nothing is made on the others');

# Odd names.
create('"x]y"', 'odd');
my ($odd) = map { s/dbname=.*/dbname=x]y/r } Shards::conninfo($node);
for my $name ('a|6', "a\nb")
{
	($ok, $out, $error) = script('install', 'odd:', '--shard', "$name=$odd");
	ok(!$ok, 'a shard of an odd name is refused');
	like($error, qr/a name of a shard has no "\|" and no control characters/, 'which the error says');
}
($ok) = script('install', 'odd:', '--shard', "my shard's name=$odd");
ok($ok, 'a space and a quote are not odd, nor is a database of any name');
($ok, $out, $error) = $node->psql('odd', q{select queue_pop('none')}, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($error, qr/42704: queue "none" does not exist/, 'errors come from there as they are');
($ok, $out, $error) = script('install', 'odd:', '--shard', "my shard's name=$odd", '--schema', 'elsewhere');
ok(!$ok, 'functions of the proxy stay in their schema');
like($error, qr/the functions of this proxy are in the schema public/, 'which the error says');

done_testing();
