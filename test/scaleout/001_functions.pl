# The proxy has every function of the extension, or scaleout/routes says why not; and each does over
# three shards what it does on one server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();
my ($proxy, @shards) = Shards::start();

sub sql
{
	my ($sql) = @_;
	return $proxy->safe_psql('postgres', $sql);
}

sub state_of
{
	my ($sql) = @_;
	return (Shards::call($proxy, $sql))[0];
}

# The objects that are installed.
{
	local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($shards[0]->host, $shards[0]->port, 'postgres');
	is(system("$Shards::scaleout/generate", '--check'), 0, 'the generated files are up to date');
}
ok(Shards::install($proxy, @shards), 'it can be installed again');

open(my $in, '<', "$Shards::scaleout/routes") or die $!;
my %none = map { /^(\w+)\s+none\s+\S/ ? ($1 => 1) : () } <$in>;
close $in;
my $signature = q{
	select p.prokind, p.proname, replace(pg_get_function_arguments(p.oid), '%1$s.', ''),
		replace(coalesce(pg_get_function_result(p.oid), ''), '%1$s.', ''), p.proisstrict, p.provolatile, obj_description(p.oid)
	from pg_proc p join pg_namespace n on n.oid = p.pronamespace
	where n.nspname = '%1$s' and p.proname ~ '^(queue|fnv|throttle|lock|mutex|timeout)' order by 2, 3};
# Neither schema is in the search path, so both are in the texts, and are taken out of them.
sub signatures
{
	my ($schema) = @_;
	(my $text = $signature) =~ s/%1\$s/$schema/g;
	return split /\n/, sql("set search_path = pg_catalog; $text");
}
my @of_extension = grep { !$none{ (split /\|/)[1] } } signatures('queue_local');
my @of_proxy = map { s/, partition_key text DEFAULT NULL::text//r } signatures('public');
cmp_ok(scalar @of_extension, '>', 45, 'there are functions');
is_deeply(\@of_proxy, \@of_extension, 'the functions of the proxy are those of the extension');
is(sql(q{select count(*) from pg_proc where proname ~ '^queue_send' and pronamespace = 'public'::regnamespace
	and pg_get_function_arguments(oid) like '%, partition_key text DEFAULT NULL::text'}),
	2, 'sends take a key');
my $columns = q{select c.relname, a.attname, replace(format_type(a.atttypid, a.atttypmod), '%1$s.', '')
	from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
	where c.relnamespace = '%1$s'::regnamespace
		and (c.relkind = 'v' or c.relname in ('queue_job', 'queue_finding', 'throttled_resource'))
		and c.relname not in ('queue_claim_stats', 'queue_queues') order by 1, a.attnum};
my ($of_extension, $of_proxy) = map { sql("set search_path = pg_catalog; " . $columns =~ s/%1\$s/$_/gr) } qw(queue_local public);
is($of_proxy, $of_extension, 'and so are its views and types');

# Queues.
is(sql(q{select queue_create('q', archive => true, lease => '1 minute')}), 'q', 'a queue is created');
is(state_of(q{select queue_create('q')}), '42710', 'and not twice');
is(sql('select queue, source, lease from queues'), 'public.q|q|00:01:00', 'it is listed once');
is($_->safe_psql('postgres', 'select count(*) from queues'), 1, $_->name . ' has it') for @shards;

# Where jobs go, and what their ids say.
is(sql(q{select count(distinct queue_send('q', to_jsonb(i)) >> 43) from generate_series(1, 9) as i}),
	3, 'jobs without a key go to all shards');
is(sql(q{select count(distinct queue_send('q', to_jsonb(i), partition_key => 'k') >> 43) from generate_series(1, 9) as i}),
	1, 'jobs of a key go to one');
is(sql(q{select count(*), max(id) < 2 ^ 53 from q}), '18|t', 'the ids of the highest shard fit into a double');
is($shards[$_]->safe_psql('postgres', 'select distinct id >> 43 from q'), $_, "those of shard $_ have its number") for 0 .. 2;
is(sql(q{select count(*) from queue_send_many('q', array['1', '2']::jsonb[])}), 2, 'jobs are sent by the array');
is(sql('select ready from queue_counts(\'q\')'), 20, 'all are counted');

# Pop and finish.
is(sql(q{select count(*), count(distinct id) from queue_pop('q', 20)}), '20|20', 'one pop has the jobs of all shards');
is(sql(q{select count(*) from queue_pop('q')}), 0, 'then there are none');
is(sql(q{with asked as (select array_agg(id order by -id % 7, id) as ids from q)
	select ids = array(select queue_extend_many('q', ids, array_fill(1, array[20]))) from asked}),
	't', 'the results for many are in the order of the ids');
is(sql(q{with asked as (select array_agg(id order by -id % 7, id) as ids from q)
	select array(select queue_extend_many('q', ids || ids[3] || 17, array_fill(1, array[20]) || 1 || 1))
		= ids from asked}), 't', 'once where they are twice, not where they are of no job');
is(sql(q{select queue_complete('q', id, 2), queue_complete('q', id, 1), queue_complete('q', id, 1) from (select min(id) as id from q) as job}),
	'f|t|f', 'a job is completed on its shard, once');
is(sql(q{select state, result from queue_result('q', 1)}), 'completed|', 'its result is there');
is(sql(q{select queue_complete('q', 1::bigint << 50, 1), queue_complete('q', -1, 1)}), 'f|f', 'ids of no shard are of no job');
is(sql(q{select count(*) from (select queue_fail_many('q', array_agg(id), array_agg(attempt), array_agg('e'||id), '0') from q where id % 2 = 0) as f}),
	sql(q{select count(*) from q where id % 2 = 0}), 'many fail');
is(sql(q{select bool_and(last_error = 'e' || id) from queue_pop('q', 3)}), 't', 'each with its error');
is(sql(q{select bool_and(queue_release('q', id, attempt)) from q where leased_until > now()}), 't', 'they are released');
is(state_of($_->[1]), $_->[0], $_->[2])
  for [ '42704', q{select queue_pop('x')}, 'a queue that is missing' ],
  [ '42704', q{select queue_send('x', '1')}, 'also for a send' ],
  [ '22023', q{select queue_pop('q', 0)}, 'too few jobs' ],
  [ '22004', q{select queue_complete('q', null, 1)}, 'no id' ],
  [ '22004', q{select queue_complete_many('q', array[1, 1::bigint << 43, null], '{1,1,1}')}, 'no id among many' ],
  [ '22004', q{select queue_complete_many('q', null, '{1}')}, 'no ids' ],
  [ '22023', q{select queue_complete_many('q', array[1, 1::bigint << 43], '{1}')}, 'too few attempts' ];
my ($state, $out, $error) = Shards::call($proxy, q{select queue_pop('x')});
like($error, qr/ERROR:  42704: queue "x" does not exist\nHINT:  Create it with/, 'an error is in the words of the shard');
unlike($error, qr/NOTICE|WARNING|REMOTE|PL\/Proxy/, 'and of the shard only');
is(sql(q{select completed is null, id is not null from queue_complete_pop('q', null, null)}), 't|t', 'complete_pop only claims');
is(sql(q{
	create temporary table done (id bigint primary key);
	do $$
	declare
		job record;
	begin
		job := queue_complete_pop('q', null, null);
		while job.id is not null loop
			insert into done values (job.id);
			job := queue_complete_pop('q', job.id, job.attempt);
			assert job.completed;
		end loop;
	end
	$$;
	select (select count(distinct id >> 43) from done), (select count(*) from q where leased_until is null)}),
	'3|0', 'and completes and claims until all shards are empty');
is(sql(q{select queue_purge('q')}), 1, 'what is left is purged');
sql(q{select queue_create('first'); select count(queue_send(n, '1')) from unnest('{first,first,q,q}'::text[]) as n});
is(sql(q{select string_agg(queue, ' ') from queue_pop_any('{first,q}', 3)}), 'first first q', 'jobs of several queues, in their order');
is(sql(q{select string_agg(queue, ' ') from queue_pop_any('{first,q}', 3, weights => '{1,3}')}), 'q', 'by weights');
is(sql(q{select count(*) from queue_pop_any('{q,first}')}), 0, 'and if there are none');
is(state_of($_->[1]), $_->[0], "several queues: $_->[2]")
  for [ '22023', q{select queue_pop_any('{}')}, 'none' ],
  [ '22004', q{select queue_pop_any('{q,null}')}, 'a null' ],
  [ '42704', q{select queue_pop_any('{x,q}')}, 'one that is missing' ],
  [ '22023', q{select queue_pop_any('{q}', 0)}, 'too few jobs' ],
  [ '22023', q{select queue_pop_any('{q}', weights => '{0}')}, 'a weight out of range' ],
  [ '22023', q{select queue_pop_any('{q,first}', weights => '{1}')}, 'too few weights' ];
my $none = '|' x 11;
is(sql(q{select queue_send('first', '1') is null; call queue_pop_wait_any('{q,first}')}) =~ s/\|.*//r, "f\nfirst", 'a wait for several claims what there is');
is(sql(q{call queue_pop_wait_any('{q,first}', '0.3 s', weights => '{1,3}')}), $none, 'and ends without a job');
is(sql(q{call queue_pop_wait_any('{q}', '0.3 s')}), $none, 'also for one');
is(state_of($_->[1]), $_->[0], "a wait for several: $_->[2]")
  for [ '22023', q{call queue_pop_wait_any('{}')}, 'none' ],
  [ '42704', q{call queue_pop_wait_any('{x,q}')}, 'one that is missing' ],
  [ '22023', q{call queue_pop_wait_any('{q}', '-1 s')}, 'a negative time' ],
  [ '22004', q{call queue_pop_wait_any('{q}', null)}, 'no time' ];
sql(q{select queue_drop('first'), queue_purge('q'), queue_purge('q', 'leased')});

is(sql(q{set queue_proxy.heartbeat = 0; begin read only; select ready from queue_counts('q')}), 0, 'it can be counted read-only');

# Unique inserts.
is(sql(q{select inserted from queue_unique_insert('q', '{"a": 1.50, "b": 1}', '{a}')}), 't', 'a unique insert');
is(sql(q{select inserted from queue_unique_insert('q', '{"b": 2, "a": 1.5}', '{a}')}), 'f', 'again, with an equal number');
is(sql(q{select array_agg(inserted order by n), count(distinct id) from queue_unique_insert_many('q',
	array['{"a": 1.5}', '{"a": "x.0"}', '{"a": "x"}', '{"a": 3}', '{"a": 4}', '{"a": 3.000}', '{"a": []}', '{"a": null}']::jsonb[], '{a}')
	with ordinality as r(id, inserted, outcome, n)}), '{f,t,t,t,t,f,t,t}|7', 'many, in the order of the array');
is(sql(q{select count(*), count(distinct id >> 43) > 1 from q}), '7|t', 'they are on several shards');
is(sql(q{select bool_or(inserted) from queue_unique_insert_many('q', (select array_agg(payload) from q), '{a}')}),
	'f', 'none is inserted again');
is(sql(q{select outcome from queue_unique_insert('q', '{"a": 3, "b": "newer"}', '{a}', on_conflict => 'replace')}), 'replaced', 'one is replaced');
is(sql(q{select string_agg(outcome, ' ' order by n) from queue_unique_insert_many('q', array['{"a": 4}', '{"a": "new"}', '{"a": 4, "b": 1}']::jsonb[], '{a}', on_conflict => 'replace')
	with ordinality as r(id, inserted, outcome, n)}), 'replaced inserted replaced', 'and many are');
is(sql(q{select inserted from queue_unique_insert('q', '[1, 2.0]')}), 't', 'the whole payload');
is(sql(q{select inserted from queue_unique_insert('q', '[1.0, 2]')}), 'f', 'is compared by value');
is(state_of(q{select queue_unique_insert('q', '1', '{a}')}), '22023', 'a payload without keys is refused');
is(state_of(q{select queue_unique_insert_many('q', null)}), '22004', 'as are no payloads');

# By name.
is(sql(q{select throttle_create('t' || i, '1 hour', 2) from generate_series(1, 6) as i;
	select lock_throttled_resource('t1', 'me'), lock_throttled_resource('t1', 'me'), lock_throttled_resource('t1', 'me')})
	=~ s/^\n+//r, 't|t|f', 'a throttle');
is(state_of(q{select throttle_create('t1', '1 hour')}), '42710', 'is there once');
is(sql(q{select acquired, retry_at > now() from throttle_acquire('t1', 'me')}), 'f|t', 'and when to ask again');
is(sql(q{create type color as enum ('t1'); select lock_throttled_resource('t1'::color, 'me')}), 'f', 'also by the label of an enum');
is(sql(q{select count(*), count(*) filter (where last_locker_details = 'me') from throttled_resource}), '6|1', 'they are listed');
is(sql(q{select mutex_acquire('m'), mutex_acquire('m'), mutex_release('m', 7), mutex_release('m')}), 't|f|f|t', 'a mutex');
is(sql(q{select mutex_acquire('n' || i) from generate_series(1, 6) as i; select count(*) from held_locks}) =~ s/^(t\n)+//r, 6, 'they are listed');
is(sql(q{select queue_schedule('q', 's', every => '1 hour') > now(), queue_schedule('q', 's', every => '2 hours') > now()}), 't|t', 'a schedule, and changed');
is(sql(q{select name, every from queue_schedules}), 's|02:00:00', 'it is there once');
is(sql(q{select queue_unschedule('q', 's'), queue_unschedule('q', 's')}), 't|f', 'and then not');

# On all shards.
is(sql(q{select queue_pause('q'), queue_pause('q')}), 't|f', 'the queue is paused');
is(sql(q{select count(*) from queue_pop('q')}), 0, 'on all shards');
is(sql(q{select queue_resume('q'), queue_resume('q')}), 't|f', 'it is resumed');
sql(q{select queue_alter('q', lease => '7 minutes')});
is($_->safe_psql('postgres', 'select lease from queues'), '00:07:00', 'altered on ' . $_->name) for @shards;
is(sql(q{call queue_cancel_where('q', 'true')}), 9, 'a condition cancels jobs on all shards');
is(sql(q{call queue_maintain('q'); select ready from queue_counts('q')}), 0, 'maintained');
my $sent = 0;
$sent += $_->safe_psql('postgres', 'select sent from queue_stats') for @shards;
is(sql(q{select sent, claimed > 20 from queue_stats}), "$sent|t", 'statistics are sums');
is(sql(q{select jobs > 20 from queue_wait_histogram where le = 'infinity'}), 't', 'histograms too');
is(sql(q{select queue_stats_reset('q'); select sent from queue_stats}) =~ s/^\n+//r, 0, 'they begin anew');
is(sql(q{select count(*) from queue_health('q') where finding = 'shard_down'}), 0, 'all shards are healthy');

# Waiting.
my $begin = sql('select clock_timestamp()');
# A job's end.
my $ended = sql(q{select queue_send('q', '"its end"')});
is(sql("call queue_wait_done('q', $ended, '10 ms')"), 'ready|', 'a job that has not ended');
sql("select queue_cancel('q', $ended)");
is(sql("call queue_wait_done('q', $ended, '1 min')"), 'cancelled|', 'and that has');
is(state_of("call queue_wait_done('q', $ended, null)"), '22004', 'no time to wait');
is(state_of("call queue_wait_done('x', $ended)"), '42704', 'a queue that is missing');
# Another queue gets its name, and has a job of that id.
sql(q{select queue_create('again', archive => true)});
$ended = sql(q{select queue_send('again', '1')});
my $asker = $proxy->background_psql('postgres', on_error_stop => 0);
$asker->query_until(qr/begun/, "\\echo begun\ncall queue_wait_done('again', $ended, '10 hours');\n\\echo asked :LAST_ERROR_SQLSTATE\n");
$proxy->poll_query_until('postgres', q{select count(*) = 1 from pg_stat_activity where query ~ '^call queue_wait_done' and wait_event = 'PgSleep'}) or die;
$shards[ $ended >> 43 ]->safe_psql('postgres', qq{
	begin;
	select queue_drop('again'), queue_create('again', archive => true);
	insert into again (id, payload) overriding system value values ($ended, '"other"');
	select queue_complete('again', id, attempt, '"of another queue"') from queue_pop('again');
	commit});
my $asked = $asker->query_until(qr/asked/, '');
like($asked, qr/asked 42704/, 'a job of a queue that was dropped is not waited for');
unlike($asked, qr/another/, 'nor is that of another one returned');
$asker->quit;
sql(q{select queue_drop('again')});

is(sql(q{call queue_pop_wait('q', '1.2 s')}), '||||||||||', 'a wait without a job');
cmp_ok(sql(qq{select extract(epoch from clock_timestamp() - '$begin')}), '>=', 1.2, 'takes its time');
my $waiter = $proxy->background_psql('postgres');
for my $shard (0 .. 2)
{
	# By itself it would wait for longer than we do.
	$waiter->query_until(qr/begun/, "\\echo begun\ncall queue_pop_wait('q', '10 hours');\n\\echo popped\n");
	$proxy->poll_query_until('postgres', q{select sum(waiting) >= 3 from queue_stats}) or die;
	$shards[$shard]->safe_psql('postgres', qq{select queue_send('q', '"from $shard"')});
	like($waiter->query_until(qr/popped/, ''), qr/from $shard/, "a job on shard $shard wakes a waiter");
}
$waiter->quit;
{
	# Killed while it waits, so that it says nothing to the server.
	local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($proxy->host, $proxy->port, 'postgres');
	my $client = IPC::Run::start([ 'psql', '-X', '-c', q{call queue_pop_wait('q', '10 min')} ], '<', \undef, '>&', \my $said);
	$proxy->poll_query_until('postgres', q{select count(*) = 1 from pg_stat_activity where query like 'call%10 min%'}) or die 'it does not wait';
	$client->signal('KILL');
	eval { $client->finish };
}
ok($proxy->poll_query_until('postgres', q{select count(*) = 0 from pg_stat_activity where query like 'call%queue_pop_wait%'}),
	'a client that is gone waits no longer');
is(state_of(q{call queue_pop_wait('x', '10 s')}), '42704', 'a queue that is missing is not waited for');
is(state_of(q{call queue_wait('q', '-1 s')}), '22023', 'nor a negative time');

# The end.
is(sql(q{select queue_drop('q')}), 't', 'the queue is dropped');
is($_->safe_psql('postgres', 'select count(*) from queues'), 0, 'on ' . $_->name) for @shards;
is(state_of(q{select queue_drop('q')}), '42704', 'and is not there any more');
is(sql(q{select queue_drop('q', true), to_regclass('q') is null}), 'f|t', 'nor its view');

for my $node ($proxy, @shards)
{
	my @lines = grep { /^TRAP|\] (PANIC|FATAL): / && !/connection to client lost/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @lines), '', 'the log of ' . $node->name . ' is quiet');
}

# Times are what they are, whatever the client's DateStyle is.
is(sql(q{set timezone = 'UTC'; set datestyle = 'SQL, DMY'; select queue_create('dates'); select queue_send('dates', '1', run_at => make_timestamptz(2030, 5, 4, 0, 0, 0)) > 0;
	set datestyle = 'ISO'; select run_at from dates}), "dates\nt\n2030-05-04 00:00:00+00", 'a time in another style');
is(sql(q{set timezone = 'Asia/Kolkata'; set datestyle = 'SQL, DMY'; call queue_change_where('dates', 'true', run_at => make_timestamptz(2030, 5, 14, 0, 0, 0));
	set datestyle = 'ISO'; select run_at from dates}), "1\n2030-05-14 00:00:00+05:30", 'also of a procedure');
is(sql(q{set datestyle = 'German'; call queue_wait('dates', '0.1 s'); set datestyle = 'SQL, DMY'; call queue_wait('dates', '0.1 s'); select 1}), 1, 'and waits go on');

# Where nothing is compared, all are equal.
is(sql(q{select queue_create('one'); select count(*) filter (where inserted) from unnest(array['"x"', '1', '[1]', '{"a": 1}', '{}']::jsonb[]) as p, queue_unique_insert('one', p, unique_by => '{}')}),
	"one\n1", 'unique by nothing is one job');

# The last arguments get there, too.
is(sql(q{select queue_create('graves'); select queue_create('codes', dead_queue => 'graves', on_expire => 'dead')}), "graves\ncodes", 'a queue with all its settings');
is(sql(q{select dead_queue, on_expire from queues where queue = 'public.codes'}), 'graves|dead', 'it has them');
sql(q{select count(*) from (select queue_send('codes', '1', expires_at => now()) union all select queue_send_many('codes', array['2', '3']::jsonb[], expires_at => now())
	union all select id from queue_unique_insert('codes', '{"n": 4}', expires_at => now()) union all select id from queue_unique_insert_many('codes', array['{"n": 5}', '{"n": 6}']::jsonb[], expires_at => now())) as s});
sql(q{select queue_send('codes', '7', expires_in => '1 hour')});
is(sql(q{call queue_maintain('codes'); select payload from queue_pop('codes', 9)}), '7', 'what has expired is not handed out');
is(sql(q{select count(*) from graves where last_error = 'expired'}), 6, 'but goes where the queue says');
is(sql(q{select unstarted, moved from queue_stats where queue = 'public.codes'}), '6|6', 'and is counted');

# A call without a version is none.
is(state_of(q{select queue_remote.mutex_acquire(1, null, null, 'nobody')}), '55000', 'a call without a version of the map is refused');

done_testing();
