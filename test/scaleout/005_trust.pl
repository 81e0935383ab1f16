# What roles, servers and proxies must not be able to do: act on a shard as another role, take the place of a
# shard's queues, call shards by another map, hold up the calls of others; and what a call that fails leaves.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();
$Shards::keeps_sessions = 0;
my ($proxy, @shards) = Shards::start();
my ($north, $south, $west) = @shards;

sub sql { return $proxy->safe_psql('postgres', $_[0]); }
sub call { return Shards::call($proxy, @_); }
sub state_of { return (call(@_))[0]; }

sub shard_options { return map { ('--shard', $_->name . '=' . Shards::conninfo($_)) } @_; }

for my $role (qw(app eve))
{
	$_->safe_psql('postgres', "create role $role login") for @shards, $proxy;
}
$_->safe_psql('postgres', 'grant create on schema public to eve, app') for @shards, $proxy;
sql(q{set role app; select queue_create('q')});
sql(q{set role eve; select queue_create('hers')});

# A user mapping of one's own would name another user, whom a shard that trusts the proxy's host takes one for.
is(state_of(q{set role eve; create user mapping for eve server queue_shards options (user 'postgres')}), '42501', 'no role has a user mapping of its own');
is(sql(q{select count(*) from pg_user_mapping where umuser <> 0}), 0, 'there is none');
sql(q{create server hers foreign data wrapper plproxy options (p0 ''); grant usage on foreign server hers to eve});
is(state_of(q{set role eve; create user mapping for eve server hers options (user 'eve')}), '', 'other servers may have some');
is(state_of(q{create user mapping for public server hers options (user 'eve'); alter user mapping for eve server hers options (set user 'app')}), '', 'which may be altered');
sql('drop server hers cascade');
sql(q{alter event trigger queue_proxy_mapping disable; create user mapping for eve server queue_shards options (user 'postgres'); alter event trigger queue_proxy_mapping enable})
  if sql(q{select count(*) from pg_event_trigger where evtname = 'queue_proxy_mapping'});
is(state_of(q{set role eve; alter user mapping for eve server queue_shards options (set user 'app')}), '42501', 'one from before cannot be altered');
my ($ok, $out, $error) = Shards::script('install', '--proxy', Shards::conninfo($proxy), shard_options(@shards));
ok(!$ok, 'and is refused by the next installation');
like($error, qr/user mappings.*eve/, 'which names it');
sql('drop user mapping if exists for eve server queue_shards');
$_->safe_psql('postgres', q{do $$ begin execute format('create function queue_%s.stale() returns void language sql security definer as %L', case when to_regclass('queue_proxy.map') is null then 'shard' else 'proxy' end, ''); end $$})
  for $proxy, $north;
# Functions that fit better than PostgreSQL's own, where a search path begins.
$_->safe_psql('postgres', q{create table public.called (who name); grant insert on public.called to public; set role eve;
	create function public.quote_ident(name) returns text language plpgsql as $$ begin insert into public.called values (current_user); return pg_catalog.quote_ident($1); end $$;
	create function public.format(text, name, text) returns text language plpgsql as $$ begin insert into public.called values (current_user); return pg_catalog.format($1, $2, $3); end $$;
	create function public.format(text, jsonb) returns text language plpgsql as $$ begin insert into public.called values (current_user); return pg_catalog.format($1, $2); end $$})
  for $proxy, @shards;
($ok, $out, $error) = Shards::script('install', '--drop-older', '--proxy', Shards::conninfo($proxy) . q{ options='-c work_mem=8MB'}, shard_options(@shards));
ok($ok, 'without, it succeeds');
is($_->safe_psql('postgres', q{select count(*) from pg_proc where proname = 'stale'}), 0, 'and leaves no function of another version on ' . $_->name) for $proxy, $north;

# Passwords would be in pg_foreign_server and in the list of processes, for all to read.
for my $word (qw(password sslpassword))
{
	($ok, $out, $error) = Shards::script('install', '--proxy', Shards::conninfo($proxy), shard_options($north, $south), '--shard', 'west=' . Shards::conninfo($west) . " $word=secret1");
	ok(!$ok, "$word in a connection string is refused");
	like($error, qr/passfile/, 'the error says what to do');
	unlike($out . $error, qr/secret1/, 'and does not show it');
}
($ok, $out, $error) = Shards::script('install', '--proxy', Shards::conninfo($proxy) . ' password=secret1', shard_options(@shards));
ok(!$ok && $error =~ /passfile/, 'also in that of the proxy');
is(state_of(q{select queue_proxy.set_shard(0, 'north', 'host=a PASSWORD = secret1', 'public')}), '22023', 'and by the function');
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy) . ' password=secret1');
ok(!$ok && $error =~ /passfile/, 'as by scaleout/move');

# A role that holds what locks it can.
my $holder = $proxy->background_psql('postgres');
$holder->query_safe('set role eve; select pg_advisory_lock(1903521645, i) from generate_series(0, 2) as i');
is(state_of("set role eve; begin; lock table queue_proxy.$_ in access share mode"), '42501', "nobody locks queue_proxy.$_")
  for split /\n/, sql(q{select relname from pg_class where relnamespace = 'queue_proxy'::regnamespace and relkind = 'r' and relname like 'probe%'});
sql('select setval(circuit, 1) from queue_proxy.shard');
is(state_of(q{set role app; set statement_timeout = '120s'; select count(queue_send('q', '1')) from generate_series(1, 6)}), '', 'the locks of a role hold up nobody');
$holder->quit;

# Nor does a setting of one session make the others wait, or a look that does not end.
is(sql(q{set queue_proxy.connect_timeout = 60000; select queue_proxy.conninfo_of(0, 'x') ~ ' connect_timeout=10$'}), 't', 'a session looks for ten seconds at most');
$holder = $proxy->background_psql('postgres');
$holder->query_safe('begin; lock table queue_proxy.probe_0 in share update exclusive mode; select setval(circuit, 1) from queue_proxy.shard');
is((call(q{set statement_timeout = '150s'; select queue_proxy.reach(0)}))[1], 'f', 'who waits for the look of another does not wait without end');
is((call(q{set role app; set statement_timeout = '150s'; select count(queue_send('q', '1')) from generate_series(1, 6)}))[1], 6, 'and sends go elsewhere');
$holder->query_safe('rollback');
$holder->quit;
sql('select setval(circuit, 1) from queue_proxy.shard');
sql(q{set role app; select queue_purge('q')});
sql(q{set role app; select count(queue_send('q', '1')) from generate_series(1, 6)});

# An error of the caller's own, in the middle of the look.
sql(q{set role eve; create function public.deep(value bigint) returns void language plpgsql as $$ begin
	begin perform public.deep(value); exception when statement_too_complex then perform queue_proxy.probe(0, value); end;
end $$});
for (1 .. 3)
{
	call(q{set role eve; set queue_proxy.retry_after = 60000; do $$ declare v bigint := pg_sequence_last_value(circuit) from queue_proxy.shard where shard = 0;
		begin perform public.deep(v); end $$});
	is(sql('select pg_sequence_last_value(circuit) > 0 from queue_proxy.shard where shard = 0'), 't', 'no shard is left out for an error of who looks');
}
sql(q{select setval(circuit, queue_proxy.milliseconds() + 14000) from queue_proxy.shard});
is(sql(q{select max(pg_sequence_last_value(circuit)) > 1 from queue_proxy.shard, queue_proxy.note_doubt(shard)}), 't', 'nor is one doubted that was reached just now');
is(sql(q{select setval(circuit, queue_proxy.milliseconds() - 500) from queue_proxy.shard where shard = 0; select queue_proxy.note_doubt(0);
	select pg_sequence_last_value(circuit) from queue_proxy.shard where shard = 0}) =~ /\n1$/ ? 1 : 0, 1, 'but a little later');

# A clock that was set back: what it said before is no longer known.
for my $sign ('-', '')
{
	is(sql(qq{select from setval((select circuit from queue_proxy.shard where shard = 0), $sign(queue_proxy.milliseconds() + 3600000));
		select queue_proxy.reach(0), abs(pg_sequence_last_value(circuit) - queue_proxy.milliseconds()) < 600000 from queue_proxy.shard where shard = 0}) =~ s/^\n//r,
		't|t', "a time that is $sign an hour ahead is looked at anew");
}
sql(q{select setval(circuit, queue_proxy.milliseconds() + 3600000) from queue_proxy.shard where shard = 0; select queue_proxy.note_doubt(0)});
is(sql('select pg_sequence_last_value(circuit) from queue_proxy.shard where shard = 0'), 1, 'or doubted');

# A pop that has jobs, when it looks whether another shard is there.
sql(q{revoke execute on function queue_proxy.probe from public});
sql(q{select setval(circuit, case when shard = 0 then queue_proxy.milliseconds() + 14000 else 1 end) from queue_proxy.shard});
is((call(q{set role app; set queue_proxy.turn = 2; select count(*) from queue_pop('q', 10, lease => '1 microsecond')}))[1], 2, 'a pop that has jobs does not raise for a look at another shard');
sql(q{grant execute on function queue_proxy.probe to public; select setval(circuit, 1) from queue_proxy.shard});

# Who calls: the role that counts at that moment, as for functions.
sql(q{create schema eve authorization eve; grant usage on schema eve to public});
sql(q{set role eve;
	create function eve.delete() returns void language plpgsql security definer as $$ declare _n bigint; begin call public.queue_delete_where('q', 'true', jobs => _n); end $$;
	create function eve.maintain() returns void language plpgsql security definer as $$ begin call public.queue_maintain('q'); end $$;
	create function eve.wait() returns void language plpgsql security definer as $$ begin call public.queue_wait('q', '0.1 s'); end $$;
	create function eve.pop_wait() returns bigint language plpgsql security definer as $$ declare j public.queue_job; begin
		call public.queue_pop_wait('q', '0.1 s', null, null, j.id, j.attempt, j.payload, j.priority, j.run_at, j.max_attempts, j.leased_until,
			j.leased_by, j.last_error, j.created_at, j.kind); return j.id; end $$;
	create function eve.pop() returns bigint language sql security definer as $$ select id from public.queue_pop('q') $$;
	create function eve.wait_any() returns boolean language sql security definer as $$ select queue_proxy.wait_any(queue_proxy.ticket(), 'public.q', now(), null) $$});
for my $role (qw(postgres app))
{
	is(state_of("set session authorization $role; select eve.$_()"), '42501', "$_ in a function of another role acts as that role, and not as $role") for qw(pop delete maintain wait pop_wait);
}
isnt(state_of('select eve.wait_any()'), '', 'nor is there a way around');
# What a session notes of its connections is no secret.
my $noted = $proxy->background_psql('postgres', on_error_stop => 0);
$noted->query(q{set session authorization app; call queue_wait('q', '0.1 s')});
$noted->query(q{select set_config('queue_proxy.waits_' || shard, md5(concat_ws(',', 'public.q', 'eve')), false), set_config('queue_proxy.wait_ends_' || shard, '', false) from queue_proxy.shard});
$noted->{stderr} = '';
$noted->query('select eve.wait_any()');
like($noted->{stderr}, qr/42501|permission denied/, 'the connection of another role is not taken for its own');
$noted->quit;
is(state_of(q{do $$ declare n bigint := queue_proxy.ticket(); begin perform queue_proxy.redeem(n), queue_proxy.redeem(n); end $$}), '42501', 'a ticket is redeemed once');
is(state_of(q{do $$ declare n bigint := queue_proxy.ticket(); m bigint := queue_proxy.ticket(); begin perform queue_proxy.redeem(n); end $$}), '42501', 'and only the last');
is(state_of(q{do $$ begin perform queue_proxy.ticket(); perform queue_proxy.redeem(0); end $$}), '42501', 'and nothing else');
is(sql(q{select queue_proxy.redeem(queue_proxy.ticket())}), 'postgres', 'it stands for who took it');
is(sql('select count(*) from queue_counts(\'q\') where ready + leased = 6'), 1, 'nothing is deleted');

# A connection has its time, and a statement its own.
my $slow = q{'select pg_sleep(60) where $1 <> $2', 'a', 'b'};
is(state_of("select queue_proxy.connect_within(100, $slow)"), '08001', 'a connection that takes too long ends');
is(state_of("set statement_timeout = '1s'; select queue_proxy.connect_within(200000, $slow)"), '57014', 'a statement whose time is over is not taken for that');
my $stalled = $proxy->background_psql('postgres', on_error_stop => 0);
my $pid = $stalled->query(q{select pg_backend_pid()});
my $waits = "select exists (select from pg_stat_activity where pid = $pid and wait_event = 'PgSleep')";
sub begin_slow { return $stalled->query_until(qr/begun/, "\\echo begun\nselect queue_proxy.connect_within($_[0], $slow);\n\\echo :SQLSTATE ended\n"); }
begin_slow(200000);
$proxy->poll_query_until('postgres', $waits) or die;
sql("select pg_cancel_backend($pid)");
like($stalled->query_until(qr/ended/, ''), qr/^57014 ended/m, 'nor is one that is cancelled');
# After a stall both are over at once. It must begin before the time of the connection is over.
$stalled->query(q{set statement_timeout = '6s'});
my $ended;
for (1 .. 20)
{
	my $began = time;
	begin_slow(4000);
	$proxy->poll_query_until('postgres', $waits) or die;
	Shards::signal_and_wait('STOP', $pid);
	my $is_early = time - $began < 3;
	sleep 7 if $is_early;
	Shards::signal_and_wait('CONT', $pid);
	$ended = $stalled->query_until(qr/ended/, '');
	last if $is_early;
}
like($ended, qr/^57014 ended/m, 'nor is one whose time is over at the same moment');
$stalled->quit;
is(sql(q{select count(queue_proxy.connect_within(60000, 'select $1 || $2', 'a', i::text)) from generate_series(1, 20) as i}), 20, 'what is in time is done');
# The hash takes longer, and heeds no interrupt, but what comes behind it does.
is(state_of(q{select queue_proxy.connect_within(20, 'select md5($2) where $1 <> $2', 'a', repeat('b', 30000000)) from generate_series(1, 2)}), '', 'what does not wait is not interrupted');
is(sql("do \$\$ begin perform queue_proxy.connect_within($_); exception when division_by_zero or sqlclient_unable_to_establish_sqlconnection then perform pg_sleep(0.5); end \$\$; select 'on'"),
	'on', 'nor is what comes afterwards')
  for "100, $slow", q{300, 'select 1 / length($1 || $2)', '', ''};
is(state_of(q{select queue_proxy.connect_within(0, 'select', 'a', 'b')}), '22023', 'no time is refused');
is(state_of("set role eve; select queue_proxy.$_"), '42501', "nobody else may use $_") for q{connect_within(1000, 'select', 'a', 'b')}, q{connect('a', 'b')};
is(state_of("set role app; call queue_wait('q', '0.1 s')"), '', 'a role itself may wait');
is(sql("set default_transaction_read_only = on; set role app; call queue_wait('q', '0.1 s'); select 1"), 1, 'also in a read-only transaction');
is(sql("begin; savepoint s; set role app; call queue_wait('q', '0.1 s'); rollback to s; select current_user"), 'postgres', 'and in a subtransaction');

# A completion whose next pop fails.
sql(q{set role app; select queue_purge('q')});
my $key = sql(q{select min('k' || i) from generate_series(1, 1000) as i join queue_proxy.bucket b on b.bucket = queue_proxy.bucket_of('k' || i) where b.shard = 0});
sql(qq{set role app; select queue_send('q', '1', partition_key => '$key') from generate_series(1, 10)});
$_->safe_psql('postgres', 'alter table q owner to postgres') for $south, $west;
my ($job) = split /\n/, (call(q{set role app; set queue_proxy.turn = 2; select id || ', ' || attempt from queue_pop('q', 10)}))[1];
is((call("set role app; set queue_proxy.turn = 0; select completed, id from queue_complete_pop('q', $job)"))[1], 't|', 'a completion is told, though the pop behind it fails');
is($north->safe_psql('postgres', 'select count(*) from q'), 9, 'it has taken effect');
$_->safe_psql('postgres', 'alter table q owner to app') for $south, $west;

# A procedure that is cancelled on its second shard.
sql(q{set role app; select queue_purge('q'); select queue_send('q', '1') from generate_series(1, 9)});
my $lock = $south->background_psql('postgres');
$lock->query_safe('begin; lock table q in access exclusive mode');
my $state;
my $deleting = $proxy->background_psql('postgres', on_error_stop => 0);
$deleting->query_until(qr/begun/, "\\set VERBOSITY verbose\nset role app;\n\\echo begun\ncall queue_delete_where('q', 'true');\n\\echo ended\n");
ok($south->poll_query_until('postgres', q{select count(*) = 1 from pg_stat_activity where query like 'call%queue_delete_where%' and wait_event_type = 'Lock'}), 'a procedure waits on its second shard');
$proxy->safe_psql('postgres', q{select pg_cancel_backend(pid) from pg_stat_activity where query like 'call%queue_delete_where%'});
$deleting->query_until(qr/ended/, '');
$error = $deleting->{stderr};
$deleting->{stderr} = '';
$deleting->quit;
like($error, qr/ERROR:  57014: /, '... and is cancelled');
like($error, qr/On shard "south"\. Done on: north \(3 jobs\)\. Call again to complete it\./, 'and says where it was, and what is done');
ok($south->poll_query_until('postgres', q{select not exists (select from pg_stat_activity where query like 'call%' and state = 'active')}), 'on the shard, too');
$lock->query_safe('rollback');
my $session = $proxy->background_psql('postgres', on_error_stop => 0);
$lock->query_safe('begin; lock table q in access exclusive mode');
$session->query(q{set role app; set statement_timeout = '1500ms'; call queue_delete_where('q', 'true'); set statement_timeout = 0});
$lock->query_safe('rollback');
like($session->{stderr}, qr/canceling statement/, 'cancelled in a session');
$session->{stderr} = '';
is($session->query(q{call queue_delete_where('q', 'true')}), 6, 'which can call it again');
is($session->{stderr}, '', 'without an error');
$session->quit;
$lock->quit;
sql(q{set role app; select queue_send('q', '1') from generate_series(1, 9)});
$south->safe_psql('postgres', 'alter table q owner to postgres');
($state, $out, $error) = call(q{set role app; call queue_delete_where('q', 'true')});
is($state, '42501', 'an error of a shard');
like($error, qr/On shard "south"\. Done on: north \(3 jobs\)\. Call again to complete it\./, 'says so, too');
$south->safe_psql('postgres', 'alter table q owner to app');
is(state_of(q{set role app; call queue_delete_where('q', 'no_such_column')}), '42703', 'one of the first shard is its own');

# A role that the shards do not let in.
$_->safe_psql('postgres', 'alter role eve nologin') for @shards;
for my $call (q{queue_maintain('hers')}, q{queue_wait('hers', '0.3 s')})
{
	($state, $out, $error) = call("set role eve; call $call");
	is($state, '08001', "$call by a role that the shards do not let in");
	like($error, qr/DETAIL:.*"eve" is not permitted to log in/, 'says so');
}
$_->safe_psql('postgres', 'alter role eve login') for @shards;
# One of them, which is up: it is not passed over for ever.
sql(q{set role eve; select queue_purge('hers')});
sql(q{set role eve; select count(queue_send('hers', '1')) from generate_series(1, 30)});
my $hers = sql('select count(*) from hers where id >> 43 <> 1');
my $of_south = sql(q{select min('k' || i) from generate_series(1, 1000) as i join queue_proxy.bucket b on b.bucket = queue_proxy.bucket_of('k' || i) where b.shard = 1});
for my $way ([ 'alter role eve nologin', 'alter role eve login', qr/"eve" is not permitted to log in/ ],
	[ 'revoke connect on database postgres from public', 'grant connect on database postgres to public', qr/permission denied for database/ ])
{
	$south->safe_psql('postgres', $way->[0]);
	($state, $out, $error) = call("set role eve; select mutex_acquire('$of_south')");
	is($state, '42501', "a key of a shard that does not let a role in: $way->[0]");
	like($error, qr/shard "south" does not let role "eve" in/, 'the error has its name');
	like($error, $way->[2], 'and the reason');
	is(state_of(qq{set role eve; select $_}), '42501', "also of $_") for q{count(*) from queue_counts('hers')}, q{count(*) from queue_health()}, q{queue_complete_many('hers', array[1, 1 + (1::bigint << 43)], '{1,1}')};
	is((call(q{set role eve; select count(queue_send('hers', '1')) from generate_series(1, 6)}))[1], 6, 'jobs without a key go elsewhere');
	$hers += 6;
	is((call(q{set role eve; select count(*) from queue_pop('hers', 100, lease => '1 hour')}))[1], $hers, 'a pop has the jobs of the others');
	is(state_of(q{set role eve; select count(*) from queue_pop('hers', 100)}), '42501', 'and says so when they have none');
	is(state_of(q{set role eve; call queue_pop_wait('hers', '5 s')}), '42501', 'as does a wait');
	is(sql(q{select bool_and(pg_sequence_last_value(circuit) >= 0) from queue_proxy.shard}), 't', 'no shard is left out for others');
	$south->safe_psql('postgres', $way->[1]);
	is(sql(q{set role eve; select count(*) > 0 from queue_pop('hers', 100, lease => '1 microsecond')}), 't', 'then its jobs are there');
	sql(q{select queue_release('hers', id, attempt) from hers where leased_until > now()});
}
$_->safe_psql('postgres', 'alter role eve nologin') for @shards;
is(state_of(q{set role eve; select queue_send('hers', '1')}), '42501', 'a send that no shard lets in');
$_->safe_psql('postgres', 'alter role eve login') for @shards;
sql(q{set role eve; select queue_purge('hers')});

# Rows that move are written as the owner of their table.
for my $shard ($north, $south)
{
	$shard->safe_psql('postgres', q{create schema eve authorization eve; set role eve;
		create table eve.seen (who name, outer_role text);
		create function eve.see() returns trigger language plpgsql as $$ begin
			insert into eve.seen values (current_user, current_setting('role'));
			begin execute 'reset role'; execute format('set role %I', (select rolname from pg_roles where oid = 10)); exception when others then null; end;
			insert into eve.seen values (current_user, '');
			return coalesce(new, old); end $$;
		create trigger see before insert or update or delete on hers for each row execute function eve.see()});
}
sql(q{set role eve; select queue_unique_insert('hers', jsonb_build_object('n', n)), queue_schedule('hers', 's' || n, every => '1 hour', payload => '{}') from generate_series(1, 20) as n});
my $digest = $north->safe_psql('postgres', q{insert into queue_shard.leaving (kind, queue, key, shard, jobs)
	select 'unique', 'public.hers', digest, 1, array[job] from queue_shard.unique_jobs('public.hers') limit 1 returning key});
$south->safe_psql('postgres', q{create constraint trigger later after insert on hers deferrable initially deferred for each row execute function eve.see()});
my $schedule = $north->safe_psql('postgres', q{insert into queue_shard.leaving (kind, queue, key, shard)
	select 'schedule', 'public.hers', name, 1 from queue_schedules limit 1 returning key});
$south->safe_psql('postgres', "insert into queue_shard.unmoved values ('unique', 'public.hers', '$digest', 0), ('schedule', 'public.hers', '$schedule', 0)");
$_->safe_psql('postgres', 'delete from eve.seen') for $north, $south;
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy));
ok(!$ok, 'what would run at the end of the transaction, as the role of the session, is refused');
like($error, qr/security-restricted operation/, 'by PostgreSQL');
is($south->safe_psql('postgres', 'select count(*) from eve.seen'), 0, 'and has not run');
$south->safe_psql('postgres', 'drop trigger later on hers');
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy));
ok($ok, 'keys of a queue with triggers are moved');
for my $shard ($north, $south)
{
	is($shard->safe_psql('postgres', 'select distinct who from eve.seen'), 'eve', 'the triggers ran as its owner on ' . $shard->name);
}
is($south->safe_psql('postgres', qq{select count(*) from queue_schedules where name = '$schedule'}), 1, 'the schedule is there');
is($south->safe_psql('postgres', qq{select count(*) from queue_shard.unique_jobs('public.hers') where digest = '$digest'}), 1, 'and the unique job');
is(state_of(qq{set role eve; select queue_unschedule('hers', name) from queue_schedules}), '', 'who may change the schedules');
is((Shards::call($north, q{begin; grant execute on function queue_shard.run_as_owner to eve; set local role eve; select queue_shard.run_as_owner('q', 'select 1', null)}))[0], '42501', 'nor with the right to call it');
is((Shards::call($north, q{set role eve; select queue_shard.run_as_owner('q', 'select 1', null)}))[0], '42501', 'nobody else writes in the name of others');

# A queue of another role by that name, and a relation that is no view of it.
sql(q{set role eve; drop view hers});
is(state_of(q{set role app; select queue_create('hers')}), '42710', 'a queue of another role is not taken for the own');
sql(q{set role eve; select queue_create('hers')});
sql(q{set role eve; create table public.v (id bigint)});
is(state_of(q{set role app; select queue_create('public.v')}), '42P07', 'nor is a table on the proxy for the view');
sql('drop table public.v');
is(sql(q{set role app; select queue_create('public.v')}), 'v', 'without it the queue is completed');
is(state_of(q{set role eve; select queue_create('pg_temp.t')}), '0A000', 'nobody has a temporary queue');
is($_->safe_psql('postgres', q{select count(*) from queues where queue like '%.t'}), 0, 'on ' . $_->name) for @shards;

# A key that cannot be moved does not hold up others.
sql(q{set role app; select queue_unique_insert('q', jsonb_build_object('u', n)) from generate_series(1, 200) as n});
$north->safe_psql('postgres', q{set role eve; create function eve.refuse() returns trigger language plpgsql as $$ begin raise 'not mine' using errcode = tg_argv[0]; end $$});
for my $code (qw(P0001 57014 P0004))
{
	$north->safe_psql('postgres', qq{create or replace trigger refuse before delete on hers for each row execute function eve.refuse('$code')});
	$digest = $north->safe_psql('postgres', q{insert into queue_shard.leaving (kind, queue, key, shard, jobs)
		select 'unique', 'public.hers', digest, 1, array[job] from queue_shard.unique_jobs('public.hers') limit 1 returning key});
	# They are moved in random order, but for what is only remembered, which is the first.
	my $others = $north->safe_psql('postgres', q{insert into queue_shard.leaving (kind, queue, key, shard, jobs)
		select 'unique', 'public.q', digest, 1, array[job] from queue_shard.unique_jobs('public.q') limit 10 returning key});
	$north->safe_psql('postgres', q{insert into queue_shard.leaving (kind, queue, key, shard) values ('unique', 'public.zero', 'x', 1)});
	$south->safe_psql('postgres', "insert into queue_shard.unmoved values ('unique', 'public.zero', 'x', 0)"
		. join('', map { ", ('unique', 'public.q', '$_', 0)" } split /\n/, $others) . ", ('unique', 'public.hers', '$digest', 0)");
	($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy));
	ok(!$ok, "a key cannot be moved: $code");
	like($error, qr/not mine.*keys that are left: 1/s, 'which is said');
	is($south->safe_psql('postgres', 'select key from queue_shard.unmoved'), $digest, 'the others are moved');
	$north->safe_psql('postgres', 'drop trigger refuse on hers');
	($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy));
	ok($ok, 'and it, when it can be');
}

# A proxy that divides the keys otherwise.
my $other = Shards::start_node('other');
($ok, $out, $error) = Shards::script('install', '--proxy', Shards::conninfo($other), shard_options($north, $south));
ok(!$ok, 'a proxy of fewer shards is refused');
like($error, qr/another map of that version/, 'by them');
is($other->safe_psql('postgres', 'select count(*) from queue_proxy.map'), 0, 'and has no map');
($ok, $out, $error) = Shards::script('install', '--proxy', Shards::conninfo($other), '--shard', 'nord=' . Shards::conninfo($north), shard_options($south, $west));
ok(!$ok, 'so is one that has another name for a shard');
($ok, $out, $error) = Shards::script('install', '--proxy', Shards::conninfo($other), shard_options(@shards));
ok($ok, 'one with the same shards is not, though it was before');
is($other->safe_psql('postgres', 'select string_agg(name, $$ $$ order by shard) from queue_proxy.shard'), 'north south west', 'and has these');
is($other->safe_psql('postgres', q{select queue_send('q', '1') > 0}), 't', 'and is served');
$other->stop;

# A new shard that has a queue, or a table, of its own of that name.
my $east = Shards::start_node('east');
my @grow = ('--proxy', Shards::conninfo($proxy), shard_options(@shards, $east));
$east->safe_psql('postgres', q{create role app login; create role eve login; create extension queue_ext; select queue_create('q'), queue_send('q', '1')});
($ok, $out, $error) = Shards::script('grow', @grow);
ok(!$ok, 'a shard that has a queue of its own of that name is refused');
like($error, qr/"public\.q" of this server was not created through a proxy/, 'the error says so');
is(join(' ', map { $_->safe_psql('postgres', 'select version from queue_shard.map') } @shards), '1 1 1', 'no map was closed');
$east->safe_psql('postgres', q{select queue_drop('q'); create table q (id bigint)});
($ok, $out, $error) = Shards::script('grow', @grow);
ok(!$ok, 'also one that has a table of that name');
like($error, qr/"public\.q" of this server was not created through a proxy/, 'the error says so');
$east->safe_psql('postgres', q{drop table q});
# The owner of a queue has code where jobs are listed; and a role holds what lock it can.
$west->safe_psql('postgres', q{create schema eve authorization eve; set role eve;
	create table eve.seen (who name);
	create type eve.evil as (a text);
	create function eve.see(eve.evil) returns text language plpgsql as $$ begin insert into eve.seen values (current_user); return $1.a; end $$;
	create cast (eve.evil as text) with function eve.see(eve.evil) as implicit;
	alter table public.hers alter column unique_key type eve.evil using row(unique_key)::eve.evil});
$west->safe_psql('postgres', q{select count(*) from queue_shard.unique_jobs('public.hers')});
is($west->safe_psql('postgres', 'select distinct who from eve.seen'), 'eve', 'code of a queue that is listed runs as its owner');
# What an owner may do to queues, and names that are too long for an index.
sql(q{set role eve; select queue_create('public.broken'); select queue_create('public.dropped'); select queue_create('public.renamed')});
$south->safe_psql('postgres', 'set role eve; alter table public.broken drop column unique_key');
$west->safe_psql('postgres', 'set role eve; drop table public.dropped');
my $long = sql(q{select string_agg(md5(i::text), '') from generate_series(1, 84) as i});
sql(qq{select mutex_acquire('$long'), mutex_acquire('$long' || i) from generate_series(1, 8) as i});
$east->safe_psql('postgres', q{grant create on schema public to eve; set role eve; select queue_create('renamed')});
$east->safe_psql('postgres', join(';', $east->safe_psql('postgres', q{select format('alter table renamed alter column id set minvalue %s set maxvalue %s set start %s restart', (3::bigint << 43) + 1, (4::bigint << 43) - 1, (3::bigint << 43) + 1)})));
$east->safe_psql('postgres', 'alter table renamed owner to app');
($ok, $out, $error) = Shards::script('grow', @grow);
ok(!$ok, 'a queue of another role, with the ids of the new shard, is refused');
like($error, qr/queue "public\.renamed" of this server belongs to another role than on the other shards/, 'the error says so');
$east->safe_psql('postgres', q{select queue_drop('renamed')});
$holder = $north->background_psql('postgres');
$holder->query_safe(q{set role eve; select pg_advisory_lock(hashtext('scaleout/grow'))});
# Who holds the map is waited for before any shard is closed.
my $reader = $west->background_psql('postgres');
$reader->query_safe('set role eve; begin; select * from queue_shard.map');
my ($growing, $said) = ('', '');
my $run = Shards::start_script(\$growing, \$said, 'grow', @grow);
$run->pump until $said =~ /calls are running.*: \d+ of postgres/ || !$run->pumpable;
is(join(' ', map { $_->safe_psql('postgres', 'select version from queue_shard.map') } @shards), '1 1 1', 'who holds the map is named, and no map is closed');
$reader->quit;
$run->finish;
note($growing, $said);
ok($run->result == 0, 'then it goes on');
$holder->quit;
like($said, qr/columns of queue "public\.broken" have been changed/, 'an owner who breaks a queue harms that queue');
is($_->safe_psql('postgres', 'select count(*) from called'), 0, 'no function in public was called on ' . $_->name) for $proxy, @shards;
is((map { $_->safe_psql('postgres', 'select queue_shard.own_queues(1)') } $east)[0], '', 'no queue of another number is its own');
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy));
ok($ok, 'and gets its keys');

for my $node ($proxy, @shards, $east)
{
	my @lines = grep { /\b(PANIC|TRAP)\b|\[XX\d\d\d\]/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @lines), '', 'the log of ' . $node->name . ' is quiet');
}

done_testing();
