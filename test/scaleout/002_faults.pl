# Shards that are down, that hang, and connections that break: a shard's fault harms its own keys and
# jobs only, within a bounded time, and errors say which shard and whether something was done.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;
use Time::HiRes qw(sleep time);

Shards::need();
$Shards::keeps_sessions = 0;
# Shards are down here, or hang: not for long.
my ($proxy, @shards) = Shards::start('queue_proxy.connect_timeout = 2000');
my ($north, $south, $west) = @shards;

# A call that would wait until a server goes on does not end.
my %limit = (timeout => $PostgreSQL::Test::Utils::timeout_default);
sub sql { return $proxy->safe_psql('postgres', $_[0], %limit); }
sub call { return Shards::call($proxy, $_[0], %limit); }
sub state_of { return (call(@_))[0]; }

# A key of a kind of name that a shard has.
sub key_of
{
	my ($shard) = @_;
	return sql(qq{select min('k' || i) from generate_series(1, 1000) as i
		join queue_proxy.bucket b on b.bucket = queue_proxy.bucket_of('k' || i) where b.shard = $shard});
}

sub signal_south { Shards::signal_all($south, $_[0]) > 1 or die 'a server without processes'; return; }

my @key = map { key_of($_) } 0 .. 2;
sql(q{select queue_create('q', lease => '1 hour')});
sql(qq{select throttle_create('$_', '1 hour', 100), queue_send('q', '1', partition_key => '$_') }) for @key;
my $of_south = $south->safe_psql('postgres', 'select id from q');

# No role can leave a shard out for others.
sql('create role somebody login');
sql('set session authorization somebody; set queue_proxy.retry_after = 1000000000; select queue_proxy.probe(0, -1), queue_proxy.note_doubt(0)');
is(sql(q{select pg_sequence_last_value(circuit) > 0 from queue_proxy.shard where shard = 0}), 't', 'a probe that nobody needs changes nothing');
is(sql('set queue_proxy.retry_after = 1000000000; select queue_proxy.setting_of($$retry_after$$, 1)'), 60000, 'no setting counts for more than a minute');

# Of several hosts the first one may be silent: then PL/Proxy, which has no timeout, waits for it, though the look finds the next one.
for my $string ('host=/tmp,' . $south->host . ' port=' . $south->port, "host = '/tmp, /var/tmp'", 'hostaddr=10.0.0.1,127.0.0.1')
{
	my ($ok, undef, $error) = Shards::script('install', '--proxy', Shards::conninfo($proxy), '--shard', "north=$string dbname=postgres");
	ok(!$ok, "several hosts are refused: $string");
	like($error, qr/has several hosts/, 'which is said');
	is(state_of('select queue_proxy.set_shard(1, $$south$$, $$' . $string . '$$, $$public$$)'), '22023', 'also by the function');
}

# Down.
my $session = $proxy->background_psql('postgres', on_error_stop => 0);
$session->query('select count(*) from queue_counts(\'q\')');
$south->stop;
my ($state, $out, $error) = call(qq{select lock_throttled_resource('$key[1]', 'me')});
is($state, '08001', 'a key of a shard that is down');
like($error, qr/shard "south" cannot be reached/, 'the error has its name');
like($session->query(qq{select lock_throttled_resource('$key[1]', 'me'); select 1 as one}), qr/^1$/m, 'a session that was connected');
like($session->{stderr}, qr/shard "south" cannot be reached/, 'is told the same');
is(sql(qq{select lock_throttled_resource('$key[0]', 'me'), lock_throttled_resource('$key[2]', 'me')}), 't|t', 'keys of others go on');
is(sql(q{select count(distinct id >> 43) from (select queue_send('q', '2') as id from generate_series(1, 12)) as s}), 2,
	'jobs without a key go elsewhere');
is(state_of(qq{select queue_send('q', '1', partition_key => '$key[1]')}), '08001', 'those of its keys do not');
is(sql(q{select count(*) from queue_pop('q', 100)}), 14, 'a pop has the jobs of the others');
is(sql(q{select count(*) from queue_pop('q', 100)}), 0, 'and none if they have none');
is(state_of("select queue_cancel('q', $of_south)"), '08001', 'its ids cannot be had');
($state, $out, $error) = call(qq{select queue_release_many('q', array_agg(id) || $of_south\::bigint, array_agg(1) || 1)
	from (values (1), (1 + (2::bigint << 43))) as job(id)});
is($state, '08001', 'nor among others');
like($error, qr/Done for the ids \{1,17592186044417\}, on other shards/, 'which are done, and the error says so');
is($_->safe_psql('postgres', 'select count(*) from q where leased_until is null'), 1, 'as it is on ' . $_->name) for $north, $west;
is(state_of("select queue_$_"), '08001', "queue_$_ with a shard down")
  for "create('new')", "drop('q')", "alter('q', lease => '1 s')", "pause('q')", "counts('q')", "purge('q')";
is(state_of("call queue_maintain('q')"), '08001', 'queue_maintain with a shard down');
is(state_of('select * from queue_stats'), '08001', 'a sum would be wrong');
like((call("select queue_pause('q')"))[2], qr/shard "south" cannot be reached/, 'the error has its name');
is($_->safe_psql('postgres', 'select count(*) from queues where not paused'), 1, 'nothing was done on ' . $_->name) for $north, $west;
is(sql(q{select finding, severity, detail from queue_health() where finding = 'shard_down'}),
	'shard_down|critical|Shard "south" cannot be reached.', 'queue_health finds it');
is(sql('select string_agg(name, \' \') from queue_proxy.shards where not reachable'), 'south', 'and the view of shards');
is((call(q{select from setval((select circuit from queue_proxy.shard where shard = 1), queue_proxy.milliseconds() + 10000); select detail from queue_health() where finding = 'shard_down'}))[1]
	=~ s/^\n//r, 'Shard "south" cannot be reached.', 'also one that goes down meanwhile');
sql('select from setval((select circuit from queue_proxy.shard where shard = 1), 1)');
like(sql(q{call queue_pop_wait('q', '5 s')}), qr/^\d+\|\d+\|/, 'a wait claims what there is');

# Back.
$south->start;
$proxy->poll_query_until('postgres', qq{select queue_proxy.reach(1)}) or die;
# PL/Proxy does not look whether a connection that it has used in the last two seconds still is one.
sleep 3;
is(sql(qq{select lock_throttled_resource('$key[1]', 'me')}), 't', 'back again: its keys');
is($session->query(qq{select queue_send('q', '1', partition_key => '$key[1]') > 0}), 't', 'also in a session from before');
is(sql('select count(*), min(id) = ' . $of_south . q{ from queue_pop('q', 100) where id >> 43 = 1}), '2|t', 'and its jobs');

# DDL that was done on some shards is completed.
sql(q{select queue_remote.queue_create(0, queue_proxy.version(), null, 'part', '30 s', 25, '1 s', '1 h', false, false, null, null, null, null)});
is(sql(q{select queue_create('part')}), 'part', 'a queue that one shard has is created on the others');
is(state_of(q{select queue_create('part')}), '42710', 'then it exists');
is($_->safe_psql('postgres', q{select count(*) from queues where queue = 'public.part'}), 1, 'on ' . $_->name) for @shards;
sql(q{select queue_remote.queue_create(0, queue_proxy.version(), null, 'other', '30 s', 25, '1 s', '1 h', false, false, null, null, null, null)});
($state, $out, $error) = call(q{select queue_create('other', lease => '1 s')});
is($state, '55000', 'not with other settings');
like($error, qr/queue "other" has other settings on shard "south"/, 'which the error says');
is(sql(q{select queue_drop('other')}), 't', 'it can be dropped');
$north->safe_psql('postgres', q{select queue_drop('part')});
is(sql(q{select queue_drop('part')}), 't', 'a queue that one shard has dropped is dropped on the others');
is($_->safe_psql('postgres', q{select count(*) from queues}), 1, 'on ' . $_->name) for @shards;
# It goes down in the middle: the proxy still believes in it.
$west->safe_psql('postgres', q{revoke execute on function queue_shard.queue_pause from public;
	create role app login; grant select, insert, update, delete on q to app});
$_->safe_psql('postgres', q{create role app login; alter table q owner to app}) for $north, $south;
$proxy->safe_psql('postgres', 'create role app login');
($state, $out, $error) = Shards::call($proxy, q{set role app; select queue_pause('q')});
is($state, '42501', 'an error on the last shard');
like($error, qr/On shard "west"\. Done on: north, south\. Call again to complete it/, 'says where it is done');
$west->safe_psql('postgres', q{grant execute on function queue_shard.queue_pause to public; alter table q owner to app});
is(sql(q{set role app; select queue_pause('q')}), 't', 'called again it is completed');
is($_->safe_psql('postgres', q{select paused from queues}), 't', 'on ' . $_->name) for @shards;
sql(q{select queue_resume('q')});

# A role is its own role on the shards, and sees no connection strings.
is(state_of(q{set role app; select queue_send('q', '1')}), '', 'a role with rights');
$proxy->safe_psql('postgres', 'create role stranger login');
$_->safe_psql('postgres', 'create role stranger login') for @shards;
is(state_of(q{set role stranger; select queue_send('q', '1')}), '42501', 'a role without');
is(state_of(q{set role stranger; call queue_pop_wait('q', '0 s')}), '42501', 'when it waits');
is(state_of(q{set role stranger; call queue_wait('q', '1 s')}), '42501', 'by whatever connection');
is(state_of(q{set role stranger; call queue_maintain('q')}), '42501', 'and by a procedure');
is(state_of(qq{set role stranger; select $_}), '42501', "$_ is not for it")
  for 'conninfo from queue_proxy.shard', q{queue_proxy.conninfo_of(0, 'x')}, q{queue_proxy.call_on(0, 'queue_maintain()', 'x')}, q{queue_proxy.call_on_all('queue_maintain()', 'x')}, q{queue_proxy.redeem(0)}, 'queue_proxy.connects(0)',
  q{queue_proxy.first_map('')}, 'queue_proxy.define_cluster()', q{queue_proxy.set_shard(1, 'x', '', '')};
is((Shards::call($north, 'set role stranger; select queue_shard.set_map(0, 2)'))[0], '42501', 'nor is the map of a shard');

# A broken connection: the outcome is unknown.
my $holder = $south->background_psql('postgres');
$holder->query(qq{begin; select throttle_alter('$key[1]', grants => 99)});
my $victim = $proxy->background_psql('postgres', on_error_stop => 0);
$victim->query_until(qr/begun/, "\\echo begun\n\\set VERBOSITY verbose\nselect throttle_alter('$key[1]', grants => 98);\n\\echo ended\n");
$south->poll_query_until('postgres', q{select count(*) = 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%throttle_alter%'}) or die;
$south->safe_psql('postgres', q{select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and query like '%throttle_alter%'});
$victim->query_until(qr/ended/, '');
like($victim->{stderr}, qr/08006: connection to shard "south" was lost/, 'a broken connection has the name of the shard');
like($victim->{stderr}, qr/HINT:  Whether the call took effect is unknown/, 'and says that the outcome is unknown');
$victim->{stderr} = '';
$holder->query('rollback');
$holder->quit;
is($victim->query(qq{select lock_throttled_resource('$key[1]', 'me')}), 't', 'the session goes on');
$holder = $south->background_psql('postgres');
$holder->query('begin; lock table q in access exclusive mode');
$victim->query_until(qr/begun/, "\\echo begun\nselect count(*) from q;\n\\echo ended\n");
my $waiting = q{from pg_stat_activity where wait_event_type = 'Lock' and query like '%queue_rows%'};
$south->poll_query_until('postgres', "select count(*) = 1 $waiting") or die;
$south->safe_psql('postgres', "select pg_terminate_backend(pid) $waiting");
$victim->query_until(qr/ended/, '');
like($victim->{stderr}, qr/08006: connection to shard "south" was lost/, 'so has that of a view');
$victim->{stderr} = '';
$holder->query('rollback');
$holder->quit;
my $payload = "{\"a\": \"x\"}";
my $home = sql(qq{select shard from queue_proxy.bucket where bucket = queue_proxy.bucket_of(queue_proxy.unique_key('$payload', null))});
$shards[$home]->safe_psql('postgres', qq{
	create function die() returns trigger language plpgsql as \$\$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end \$\$;
	create constraint trigger die after insert on q deferrable initially deferred for each row execute function die()});
is(state_of(qq{select queue_unique_insert('q', '$payload')}), '08006', 'a unique insert whose outcome is unknown');
is(state_of(qq{set queue_proxy.turn = @{[ ($home + 2) % 3 ]}; select queue_send('q', '5')}), '08006', 'a send likewise');
is(sql(q{select count(*) from q where payload = '5'}), 0, 'which is not made elsewhere');
$shards[$home]->safe_psql('postgres', 'drop trigger die on q');
sql(qq{select queue_unique_insert('q', '$payload')}) for 1 .. 2;
is(sql(qq{select count(*) from q where payload = '$payload'}), 1, 'is safe to repeat');
$victim->quit;

# A pop that has jobs does not raise for another shard.
sql(q{select queue_purge('q')});
sql(qq{select queue_send('q', '3', partition_key => '$key[$_]')}) for 0, 2;
$south->safe_psql('postgres', 'alter table q owner to current_user');
is(join(' ', sort map { (call(qq{set role app; set queue_proxy.turn = $_; select count(*) from queue_pop('q', 10, lease => '1 microsecond')}))[1] =~ s/^$/error/r } 0 .. 2),
	'2 2 error', 'a shard that fails raises only where it comes first');
$south->safe_psql('postgres', 'alter table q owner to app');

# Hanging: it takes connections, and says nothing.
$session->query('select queue_counts(\'q\')');
sql(q{select queue_purge('q')});
signal_south('STOP');
sleep 2;
# Without its timeout it would wait until the server goes on.
is(state_of(qq{set queue_proxy.retry_after = 10000; select lock_throttled_resource('$key[1]', 'me')}), '08001', 'a shard that hangs is found out');
my $noted = q{select pg_sequence_last_value(circuit) from queue_proxy.shard where shard = 1};
my $note = sql($noted);
is(state_of(qq{select lock_throttled_resource('$key[1]', 'me')}), '08001', 'the next session');
is(sql($noted), $note, 'need not find out for itself');
# That time is just over, or is not yet: the call that tries again takes two seconds, the others none.
is(sql(q{select count(*) from queue_pop('q')}), 0, "pop $_ goes on without it") for 1 .. 3;
is(sql(q{select count(queue_send('q', '4')) from generate_series(1, 6)}), 6, 'so do sends');
# A call that is under way waits until the server answers, or is killed. Others do not.
signal_south('CONT');
$proxy->poll_query_until('postgres', 'select queue_proxy.reach(1)') or die;
$session->query(qq{select queue_send('q', '1', partition_key => '$key[1]')});
$session->{stderr} = '';
signal_south('STOP');
$session->query_until(qr/begun/, "\\echo begun\nselect queue_send('q', '1', partition_key => '$key[1]');\n\\echo ended\n");
sleep 2;
is(state_of(qq{select lock_throttled_resource('$key[1]', 'me')}), '08001', 'another session does not wait with it');
signal_south('KILL');
my $said = $session->query_until(qr/ended/, '');
like($session->{stderr}, qr/connection to shard "south" was lost/, 'a call that was under way is told of the end')
  or diag("it said $said");
$south->start;
$proxy->poll_query_until('postgres', 'select queue_proxy.reach(1)') or die;
is($session->query(qq{select queue_send('q', '1', partition_key => '$key[1]') > 0}), 't', 'then all is well');
$session->quit;

# What no shard has to do, any of them can answer.
$north->stop;
is((call(q{select count(*) from queue_complete_many('q', '{}', '{}')}))[1], 0, 'no ids, with the first shard down');
is((call(q{select count(*) from queue_unique_insert_many('q', '{}')}))[1], 0, 'no payloads');
is((call(q{select queue_complete('q', 1000::bigint << 43, 1)}))[1], 'f', 'and an id of no shard');
is(state_of(q{select queue_complete_many('missing', '{}', '{}')}), '42704', 'though in no queue');
is(state_of(q{select queue_complete_many('q', '{}', '{1}')}), '22023', 'or with too many attempts');
is(state_of(q{select queue_complete('q', null, 1)}), '22004', 'and an id that is null');

# None.
$_->stop for $south, $west;
is(state_of("select $_"), '08001', "$_ without any shard") for "queue_send('q', '1')", "queue_pop('q')";
is(state_of("call queue_pop_wait('q', '3 s')"), '08001', 'nor can it be waited');
$_->start for @shards;
$proxy->poll_query_until('postgres', 'select bool_and(queue_proxy.reach(shard)) from queue_proxy.shard') or die;
is(sql(q{select queue_send('q', '1') > 0}), 't', 'all are back');

# The map. Calls try again for about twenty seconds: their sessions are connected before, and those that a slow machine
# has kept for longer try the next version.
my %call_of = map { $_ => "select 'rows', count(*) from $_" } qw(q queues queue_stats queue_wait_histogram queue_schedules held_locks throttled_resource);
$call_of{pop} = q{select 'sent', queue_send('q', '1'), count(*) from queue_pop('q', 5)};
my @calls = sort keys %call_of;
is(sql(q{select count(queue_send('q', '1')) from generate_series(1, 12)}), 12, 'jobs for a pop');
my %session_of = map { $_ => $proxy->background_psql('postgres', on_error_stop => 0) } @calls;
$session_of{$_}->query_safe($call_of{$_} =~ s/, 5\)/, 1)/r) for @calls;
my (%state_of, %result_of);
for my $version (2 .. 12)
{
	my @waiting = grep { ($state_of{$_} // '55000') eq '55000' } @calls;
	last if !@waiting;
	$_->safe_psql('postgres', "select queue_shard.set_map(shard, $version) from queue_shard.map") for @shards;
	is(state_of(q{begin isolation level repeatable read; select queue_send('q', '1')}), '55000', 'another version is refused') if $version == 2;
	my $began = $north->safe_psql('postgres', 'select clock_timestamp()');
	$session_of{$_}->query_until(qr/begun/, "\\echo begun\n$call_of{$_};\n\\echo :SQLSTATE ended\n") for @waiting;
	# Each has met the old map.
	$north->poll_query_until('postgres', q{select count(distinct query) >= } . (grep { $_ ne 'pop' } @waiting)
		. qq{ from pg_stat_activity where query like '%queue_shard.%' and query_start > '$began' and pid <> pg_backend_pid()}) or die;
	sql("update queue_proxy.map set version = $version");
	for my $call (@waiting)
	{
		($result_of{$call}, $state_of{$call}) = $session_of{$call}->query_until(qr/ended/, '') =~ /^(.*?)\s*^(\w+) ended$/ms;
	}
}
$_->quit for values %session_of;
like($result_of{pop}, qr/^sent\|\d+\|5$/, 'a call waits for the new map, and comes to its end under it');
like($result_of{$_}, qr/^rows\|\d+$/, "so does a look at $_") for grep { $_ ne 'pop' } @calls;
is((Shards::call($north, 'select queue_shard.set_map(0, 1)'))[0], '55000', 'a version does not go back');
is((Shards::call($north, 'select queue_shard.set_map(1, 2)'))[0], '55000', 'a shard does not change its number');
sql(q{update queue_proxy.shard set conninfo = case shard when 0 then (select conninfo from queue_proxy.shard where shard = 1) else conninfo end;
	select queue_proxy.define_cluster()});
is(state_of(qq{select queue_send('q', '1', partition_key => '$key[0]')}), '55000', 'a connection string of another shard is noticed');

# A setting of one session that is no number does no harm.
is(sql(q{set queue_proxy.connect_timeout = '2s'; select queue_proxy.setting_of('connect_timeout', 7)}), 7, 'a setting that is no number is the default');
is(sql(q{set queue_proxy.connect_timeout = '-5'; select queue_proxy.setting_of('connect_timeout', 7)}), 7, 'so is one below zero');

done_testing();
