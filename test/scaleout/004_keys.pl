# What keys leave behind on their old shard when shards are added: each kind of state is refused with
# 55P03 on the new shard until it has been moved, and goes on there as it was.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;

Shards::need();

my @names = qw(north south west east);
# The one that is added first has another encoding.
my @shards = map { local $Shards::encoding = $_ eq 'west' ? 'LATIN1' : 'UTF8'; Shards::start_node($_) } @names;
my $proxy = Shards::start_node('proxy', $Shards::trusting);
Shards::install($proxy, @shards[ 0, 1 ]) or BAIL_OUT('scaleout/install failed');

sub sql { return $proxy->safe_psql('postgres', $_[0]) =~ s/^\n+//r; }
sub state_of { return (Shards::call($_[1] // $proxy, $_[0]))[0]; }

sub script
{
	my ($name, @arguments) = @_;
	return Shards::script($name, '--proxy', Shards::conninfo($proxy), @arguments);
}

sub grow
{
	my ($count, @more) = @_;
	return script('grow', @more, map { ('--shard', "$names[$_]=" . Shards::conninfo($shards[$_])) } 0 .. $count - 1);
}

# A text of these that goes to the shard that a map of so many adds; $key is SQL of the text k that
# makes the key.
my %used;
sub moving
{
	my ($count, $key) = @_;
	for my $k (split /\n/, sql("select k from (select 'k' || i from generate_series(1, 300) as i) as keys(k)
		join unnest(queue_proxy.plan($count)) with ordinality as p(shard, n) on n = 1 + queue_proxy.bucket_of($key)
		where p.shard = $count - 1 order by k"))
	{
		return $k if !$used{"$key$k"}++;
	}
	die "no such key";
}
my $of_object = q{queue_proxy.unique_key(jsonb_build_object('a|args=b', k), '{a|args=b}')};
my $of_whole = q{queue_proxy.unique_key(jsonb_build_array(1.50, k), null)};

is($proxy->safe_psql('postgres', q{select queue_proxy.plan(2) = buckets from queue_proxy.map_text()}), 't', 'a map for as many shards is the same');
is(sql(q{select count(*), min(n), max(n) from (select count(*) as n from unnest(queue_proxy.plan(3)) as s group by s) as counts}), '3|341|342', 'one for three is even');
is(sql(q{select count(*) from unnest(queue_proxy.plan(3)) with ordinality as p(shard, n) join queue_proxy.bucket b on b.bucket = n - 1
	where b.shard <> p.shard and p.shard < 2}), 0, 'buckets move to the new shard only');
my $keys = q{select string_agg(bucket_of('key' || i)::text || unique_key(jsonb_build_object('k', i * 1.50, 'x.50', '1.0'), case i % 3 when 1 then '{k}'::text[] when 2 then '{x.50}' end), ' ' order by i)
	from generate_series(1, 200) as i};
is($shards[0]->safe_psql('postgres', "set search_path = queue_shard, public; $keys"), sql("set search_path = queue_proxy, public; $keys"),
	'shards and proxy put keys into the same buckets');

# State.
my ($throttle, $dropped) = (moving(3, 'k'), moving(3, 'k'));
my ($mutex, $fence, $schedule, $null_schedule) = map { moving(3, 'k') } 1 .. 4;
sql(qq{select throttle_create('$throttle', '1 hour', 2), lock_throttled_resource('$throttle', 'first'), throttle_create('$dropped', '1 hour')});
sql(qq{select mutex_acquire('$mutex'); select mutex_acquire('$fence'), mutex_release('$fence'), mutex_acquire('$fence'), mutex_release('$fence')});
sql(qq{select queue_create('"Odd.queue"'); select queue_create('leased'); select queue_create('dead'); select queue_create('done'); select queue_create('recurring');
	select queue_create('gone')});
sql(qq{select queue_schedule('recurring', '$schedule', every => '1 day', starts_at => now() + '0.5 s', payload => '{"x": 1}')});
my ($live, $leased, $dead, $done, $period, $late, $gone) = map { moving(3, $of_object) } 1 .. 7;
my $new = moving(3, $of_object);
my $whole = moving(3, $of_whole);

sub insert
{
	my ($queue, $k, @more) = @_;
	return qq{select inserted from queue_unique_insert('$queue', '{"a|args=b": "$k", "other": 1}', } . join(', ', q{'{a|args=b}'}, @more) . ')';
}
my @period = (q{period => '3650 days'});
my @all = (q{states => '{ready,scheduled,leased,dead,done}'});
my @inserts = (
	[ '"Odd.queue"', $live ],
	[ 'leased', $leased ],
	[ 'dead', $dead, q{states => '{ready,dead}'} ],
	[ 'done', $done, @all ],
	[ '"Odd.queue"', $period, @period ],
	[ '"Odd.queue"', $late, q{priority => 3}, q{run_at => '2090-01-01'}, q{max_attempts => 9}, q{kind => 'slow'} ],
	[ 'gone', $gone ]);
is(sql(insert(@$_)), 't', "inserted: @$_") for @inserts;
is(sql(qq{select inserted from queue_unique_insert('"Odd.queue"', '[1.500, "$whole"]')}), 't', 'inserted: a whole payload');
sql(q{select queue_alter('dead', max_attempts => 1)});
$_->safe_psql('postgres', 'update dead set max_attempts = 1') for @shards[ 0, 1 ];
is(sql(q{select queue_fail('dead', id, attempt, 'broken') from queue_pop('dead')}), 't', 'a job is dead');
is(sql(q{select queue_complete('done', id, attempt) from queue_pop('done')}), 't', 'one is done');
is(sql(q{select count(*) from queue_pop('leased', lease => '1 hour')}), 1, 'one is leased');
my ($leased_id, $done_id) = (sql('select id from leased'), sql(qq{select id from queue_unique_insert('done', '{"a|args=b": "$done"}', '{a|args=b}', @all)}));
# A payload that is null, whose bucket is among those that move; and what an owner has added to a table, of any type.
sql(qq{select queue_create('nulls'); select queue_create('typed'); select queue_create('refused');
	select queue_schedule('recurring', '$null_schedule', every => '1 day', starts_at => '2090-01-01', payload => 'null')});
is(sql(q{select inserted from queue_unique_insert('nulls', 'null')}), 't', 'inserted: null');
my %column = (
	j => 'jsonb', js => 'json', ja => 'jsonb[]', dj => 'odd_json', n => 'numeric', f => 'double precision', b => 'bytea', ts => 'timestamptz', iv => 'interval',
	t => 'text', ta => 'text[]', c => 'odd_pair', ch => 'char(4)', v => 'varchar(9)', bits => 'bit varying(9)', r => 'int4range', s => 'smallint');
$_->safe_psql('postgres', q{create domain odd_json as jsonb; create type odd_pair as (a jsonb, "B ""b" text)}) for @shards[ 0 .. 2 ];
$_->safe_psql('postgres', join(' ', 'alter table typed', join(', ', map { "add $_ $column{$_}" } sort keys %column), ', add only_old text')) for @shards[ 0, 1 ];
my %value = (
	j => [ q{'null'}, q{'{"a": null}'}, q{'"x"'}, q{'1.50'}, q{'[]'} ],
	js => [ q{'null'}, q{' {"b": 1,  "a": 2, "b": 3}'}, q{'"\u00e9"'} ],
	ja => [ q{array['null', null, '{"a": [1]}']::jsonb[]}, q{'{}'} ],
	dj => [ q{'null'}, q{'[null]'} ],
	n => [ q{'NaN'}, q{'12345678901234567890.12345678900'}, q{'-Infinity'} ],
	f => [ q{'0.1'}, q{'-0'}, q{'NaN'}, q{'1.7976931348623157e308'} ],
	b => [ q{''}, q{'\x00ff5c27'} ],
	ts => [ q{'infinity'}, q{'2030-05-04 03:02:01.000001+07'}, q{'0044-03-15 BC'} ],
	iv => [ q{'1 mon -3 days 04:05:06.789'}, q{'-1 year'} ],
	t => [ q{''}, q{'null'}, q{'NULL'}, q{e'\\\\\\'"\\n\\t %s $1 $$'} ],
	ta => [ q{array['NULL', null, '', 'a,b', '"']}, q{'[0:1]={a,b}'} ],
	c => [ q{row('null', null)}, q{row(null, '(,)"')}, q{row(null, null)}, q{'(,)'} ],
	ch => [ q{'ab'}, q{''} ],
	v => [ q{'x'}, q{'  '} ],
	bits => [ q{'101'}, q{''} ],
	r => [ q{'[1,5)'}, q{'empty'} ],
	s => [ q{'-7'} ]);
# Letters of more than a byte, and one that the new shard does not have.
my $umlaut = 'schlüssel' . moving(3, q{('schlüssel' || k)});
my $of_umlaut = q{queue_proxy.unique_key(jsonb_build_object('a|args=b', 'ü' || k), '{a|args=b}')};
my $unique_umlaut = 'ü' . moving(3, $of_umlaut);
my $euro = '€' . moving(3, q{('€' || k)});
is(sql("select mutex_acquire('$_')"), 't', 'a mutex is held') for $umlaut, $euro;
my @typed = ((map { moving(3, $of_object) } 1 .. 24), $unique_umlaut);
srand 3;
for my $k (@typed)
{
	sql(insert('typed', $k));
	my $set = join(', ', map { my @of = ('null', @{ $value{$_} }); "$_ = " . $of[ rand @of ] } sort keys %column);
	$_->safe_psql('postgres', qq{update typed set only_old = 'x', $set where payload ->> 'a|args=b' = '$k'}) for @shards[ 0, 1 ];
}
my $typed_rows = q{set client_encoding = 'UTF8'; select jsonb_pretty(jsonb_object_agg(payload ->> 'a|args=b', array[} . join(', ', map { "quote_nullable($_\::text)" } sort keys %column) . q{])) from typed};
my %typed_before = map { %{ decode_json($_->safe_psql('postgres', $typed_rows) || '{}') } } @shards[ 0, 1 ];
is(scalar keys %typed_before, 25, 'jobs with values of many types');
# The history of done jobs, of keys that move and of others.
sql(q{select queue_create('past')});
sql(qq{select count(*) from queue_unique_insert_many('past', array(select jsonb_build_object('a|args=b', 'p' || i) from generate_series(1, 60) as i), '{a|args=b}', $all[0])});
sql(qq{select count(queue_unique_insert('past', jsonb_build_object('a|args=b', 'q' || i), '{a|args=b}', period => '3650 days')) from generate_series(1, 30) as i});
is(sql(q{select count(*) filter (where queue_complete('past', id, attempt)) from queue_pop('past', 1000)}), 90, 'jobs are done');
my $moving_past = sql(qq{select count(*) from (select 'p' || i as k from generate_series(1, 60) as i union all select 'q' || i from generate_series(1, 30) as i) as keys
	join unnest(queue_proxy.plan(3)) with ordinality as p(shard, n) on n = 1 + queue_proxy.bucket_of($of_object) where p.shard = 2});
sub remembered
{
	my %count;
	for my $shard (@shards)
	{
		next if $shard->safe_psql('postgres', q{select to_regclass('past') is null}) eq 't';
		$count{$_}++ for split /\n/, $shard->safe_psql('postgres', q{select encode(digest, 'hex') from queue_unique_job where source = 'past'::regclass});
	}
	my $rows = 0;
	$rows += $_ for values %count;
	return scalar(keys %count) . " keys, $rows rows";
}
is(remembered(), '90 keys, 90 rows', 'and remembered');
# As of an insert past the proxies.
is(join(' ', map { $_->safe_psql('postgres', q{with changed as (update queue_unique_job set shard_bucket = null where source = 'done'::regclass returning 1) select count(*) from changed}) } @shards[ 0, 1 ]), '1 0', 'one without its bucket');
my $refused = moving(3, $of_object);
is(sql(insert('refused', $refused, @all)), 't', 'inserted: one that will be refused');
my $job = q{select priority, run_at, max_attempts, kind, payload, created_at from "Odd.queue" where run_at > '2080-01-01'};
my $before = sql($job);
my $next = sql("select next_run_at from queue_schedules where name = '$schedule'");

# The new map.
my ($ok, $out, $error) = grow(3);
ok(!$ok, 'a key that the new shard cannot have stops a growth');
like($error, qr/has no equivalent in encoding "LATIN1"/, 'which is said');
is(join(' ', map { $_->safe_psql('postgres', 'select version from queue_shard.map') } @shards[ 0, 1 ]), '1 1', 'before a shard is closed');
$_->safe_psql('postgres', "delete from named_lock where task_id = '$euro'") for @shards[ 0, 1 ];
($ok, $out, $error) = grow(3);
ok($ok, 'a shard is added');
like($out, qr/waits for the state of @{[ 42 + $moving_past ]} keys/, 'and waits for the state of keys');
is(state_of("select $_"), '55P03', "refused: $_") for
	"lock_throttled_resource('$throttle', 'me')", "throttle_alter('$throttle', grants => 5)", "throttle_create('$throttle', '1 s')",
	"mutex_acquire('$mutex')", "mutex_acquire('$umlaut')", "mutex_release('$mutex', 1)", "mutex_acquire_fenced('$fence')", "lock_set_retries('$fence', 1)",
	"timeout_acquire('$fence', '1 s')", "queue_schedule('recurring', '$schedule', every => '2 days')", "queue_unschedule('recurring', '$schedule')";
is(state_of(insert(@$_)), '55P03', "refused: @$_") for @inserts;
is(state_of(insert('dead', $dead)), '55P03', 'also where a dead job does not count');
is(state_of(insert('"Odd.queue"', $live, @period)), '', 'but not with another period');
is(state_of(insert('done', $live)), '', 'nor in another queue');
is(state_of(insert('public.leased', $leased)), '55P03', 'by whatever name');
is(state_of(qq{select queue_unique_insert('"Odd.queue"', '[1.5, "$whole"]')}), '55P03', 'refused: a whole payload');
is(state_of(qq{select queue_unique_insert_many('"Odd.queue"', array['{"a|args=b": "$new"}', '{"a|args=b": "$live"}']::jsonb[], '{a|args=b}')}), '55P03',
	'and where it is one of many of its shard');
is(state_of(q{select queue_unschedule('missing', 'x')}), '42704', 'a queue that is missing is that');
is(state_of(qq{select queue_unique_insert('"Odd.queue"', '1', '{a}')}), '22023', 'wrong arguments are wrong');
my $map = q{select array_agg(b.shard order by bucket) from queue_proxy.bucket b};
my $buckets = sql($map);
is(state_of("select queue_shard.close_map(2, 99, '', '$buckets', '$buckets', false, 2)", $shards[2]), '55000', 'no other map before these are moved');
is($shards[2]->safe_psql('postgres', 'select version from queue_shard.map'), 2, 'the version stays');
is(sql(q{select queue_drop('gone')}), 't', 'a queue is dropped meanwhile');

# Moving.
($ok, $out) = script('move', '--list');
is(scalar(split /\n/, $out), 42 + $moving_past, 'all are listed');
unlike($out, qr/^unique public\.recurring/m, 'but the occurrences of a schedule are not jobs of a unique insert');
like($out, qr/^throttle  $throttle from shard [01] to shard 2$/m, 'with where they are');
my $from = sql('select id >> 43 from leased');
my $key = $shards[2]->safe_psql('postgres', q{select key from queue_shard.unmoved where queue = 'public.leased'});
is(state_of("select queue_shard.give_state('unique', 'public.leased', '$key', 2)", $shards[$from]), '55P03', 'a job that a worker has is not given');
my $of_throttle = $shards[2]->safe_psql('postgres', "select shard from queue_shard.unmoved where key = '$throttle'");
like($shards[$of_throttle]->safe_psql('postgres', "select queue_shard.give_state('throttle', '', '$throttle', 2) from generate_series(1, 2)"),
	qr/^(.*"last_locker_details": "first".*)\n\1$/, 'a state is given again');
is($shards[2]->safe_psql('postgres', "select queue_shard.state_moved('throttle', '', '$dropped'), queue_shard.state_moved('throttle', '', '$dropped')"), 't|f',
	'a state may be let go');
is(state_of("select lock_throttled_resource('$dropped', 'x')"), '42704', 'then it is not there');
$shards[2]->safe_psql('postgres', join(' ', 'alter table typed', join(', ', map { "add $_ $column{$_}" } reverse sort keys %column), q{, add only_new text not null default 'new'}));
$shards[2]->safe_psql('postgres', q{create function refuse() returns trigger language plpgsql as $$ begin raise 'not here'; end $$;
	create trigger refuse before insert on refused for each row execute function refuse()});
my $refused_id = sql('select id from refused');
($ok, $out, $error) = script('move');
ok(!$ok, 'all but two are moved');
like($error, qr/keys that are left: 2\. Workers have jobs of them/, 'it says why');
is(sql('select payload, payload is null from queue_pop(\'nulls\')'), 'null|f', 'a payload that is null is there');
is(sql(qq{select payload, next_run_at from queue_schedules where name = '$null_schedule'}), 'null|2090-01-01 00:00:00+00', 'also that of a schedule');
is_deeply(decode_json($shards[2]->safe_psql('postgres', $typed_rows)), \%typed_before, 'values of all types are as they were');
is($shards[2]->safe_psql('postgres', q{select count(*) from typed where only_new = 'new'}), 25, 'and a column that the old shards do not have has its default');
# What a new shard refuses stays a job of the old one.
like($error, qr/not here/, 'a trigger refuses a job');
is(state_of(insert('refused', $refused, @all)), '55P03', 'its key is refused');
is(sql(q{select id, payload ->> 'a|args=b', attempt from refused}), "$refused_id|$refused|0", 'the job is where it was');
my ($its_shard) = grep { $shards[$_]->safe_psql('postgres', 'select count(*) from refused') } 0, 1;
my $refused_key = $shards[2]->safe_psql('postgres', q{select key from queue_shard.unmoved where queue = 'public.refused'});
my $state = $shards[$its_shard]->safe_psql('postgres', "select queue_shard.give_state('unique', 'public.refused', '$refused_key', 2)");
is(sql('select count(*) from refused'), 0, 'given by hand it is in no queue');
my $of_refused = q{select count(*), count(shard_bucket) from queue_unique_job where source = 'refused'::regclass};
is($shards[$its_shard]->safe_psql('postgres', $of_refused), '0|0', 'nor remembered');
my $number = ($state =~ /"given": (\d+)/)[0];
is($shards[2]->safe_psql('postgres', "select queue_shard.refuse_state('unique', 'public.refused', '$refused_key', $its_shard, $number)"), 't', 'the new shard notes that it is given back');
is(state_of("select queue_shard.take_state('$state')", $shards[2]), '55000', 'and does not take it any more');
is($shards[$its_shard]->safe_psql('postgres', "select queue_shard.give_back('unique', 'public.refused', '$refused_key', 2, $number), queue_shard.give_back('unique', 'public.refused', '$refused_key', 2, $number)"),
	't|f', 'so it goes back, once');
is($shards[$its_shard]->safe_psql('postgres', $of_refused), '1|1', 'and is remembered');
is(sql(q{select id, queue_fail('refused', id, attempt, 'x', '0') from queue_pop('refused')}), "$refused_id|t", 'and workers take it');
$shards[2]->safe_psql('postgres', 'drop trigger refuse on refused');
($ok, $out, $error) = script('move', '--queue', 'public.refused');
ok($ok, 'it is moved when it can be');
is(sql(q{select id >> 43, attempt, last_error from refused}), '2|1|x', 'with what has happened to it meanwhile');
is($shards[2]->safe_psql('postgres', "select queue_shard.refuse_state('unique', 'public.refused', '$refused_key', $its_shard, 9)"), 'f', 'then it is not given back');
is(sql("select lock_throttled_resource('$throttle', 'second'), lock_throttled_resource('$throttle', 'third')"), 't|f', 'a throttle has been used once');
is(sql("select mutex_acquire('$mutex'), mutex_release('$mutex', 1)"), 'f|t', 'a mutex is held');
is(sql("select mutex_acquire_fenced('$fence')"), '(t,3)', 'a free one has its token');
is(sql("select mutex_acquire('$umlaut'), (select count(*) from held_locks where task_id = '$umlaut')"), 'f|1', 'also one with a letter of two bytes, once');
is(sql(qq{select inserted, payload from queue_unique_insert('typed', '{"a|args=b": "$unique_umlaut"}', '{a|args=b}') join typed using (id)}), qq{f|{"other": 1, "a|args=b": "$unique_umlaut"}}, 'and a unique job');
is(sql("select name, next_run_at from queue_schedules where name = '$schedule'"), "$schedule|$next", 'a schedule has its next time');
is(sql('select id >> 43, payload from queue_pop(\'recurring\')'), '2|{"x": 1}', 'and its job, which is due');
is(sql(insert(@$_)), 'f', "is there: @$_") for grep { $_->[0] !~ /leased|gone/ } @inserts;
is(sql(insert('dead', $dead)), 't', 'a dead job does not count where it should not');
is(sql(qq{select inserted from queue_unique_insert('"Odd.queue"', '[1.5, "$whole"]')}), 'f', 'is there: a whole payload');
is(sql(qq{select id from queue_unique_insert('done', '{"a|args=b": "$done"}', '{a|args=b}', @all)}), $done_id, 'what is remembered is the job that was done');
is(sql(qq{select id >> 43, inserted from queue_unique_insert('"Odd.queue"', '{"a|args=b": "$live"}', '{a|args=b}')}), '2|f', 'a job has an id of its new shard');
is(sql(qq{select (queue_unique_insert('"Odd.queue"', '{"a|args=b": "$period"}', '{a|args=b}', '3650 days')).id = any (select id from "Odd.queue")}), 't', 'also where it is remembered');
is(sql($job), $before, 'and all else that it had');
my $remembered = insert('"Odd.queue"', $period, @period) =~ s/^select inserted/select id, inserted/r;
my $its_id = sql($remembered) =~ s/\|f$//r;
is(sql(qq{select queue_cancel('"Odd.queue"', $its_id)}), 't', 'it ends on its new shard');
is(sql($remembered), "$its_id|f", 'and is remembered by its new id');
is(sql('select count(*), count(distinct payload) from "Odd.queue" where payload ? \'other\''), '3|2', 'none is there twice');
is($shards[2]->safe_psql('postgres', 'select has_unmoved, (select count(*) from queue_shard.unmoved) from queue_shard.map'), 't|1', 'one is left');
is(state_of(insert('leased', $leased)), '55P03', 'and refused');
($ok, $out) = script('move', '--queue', '"public".leased');
ok(!$ok, 'also if its queue is named in another way');
is(sql("select queue_complete('leased', $leased_id, 1)"), 't', 'its worker completes it');
($ok, $out) = script('move');
ok($ok, 'now it is moved');
is(remembered(), '90 keys, 90 rows', 'what is remembered is on one shard');
is(sql(qq{select count(*) filter (where (queue_unique_insert('past', jsonb_build_object('a|args=b', 'p' || i), '{a|args=b}', $all[0])).inserted)
	+ count(*) filter (where i <= 30 and (queue_unique_insert('past', jsonb_build_object('a|args=b', 'q' || i), '{a|args=b}', period => '3650 days')).inserted) from generate_series(1, 60) as i}), 0, 'and counts there');
is(sql(insert('leased', $leased)), 't', 'and may be inserted again');
is(join(' ', map { $_->safe_psql('postgres', 'select (select has_unmoved from queue_shard.map), count(*) from queue_shard.leaving') } @shards[ 0 .. 2 ]), 'f|0 f|0 f|0', 'nothing is kept');
$shards[2]->safe_psql('postgres', q{insert into queue_shard.unmoved (kind, queue, key, shard) values ('throttle', '', 'gone', 0); select queue_shard.note_moved()});
is($shards[2]->safe_psql('postgres', q{select has_unmoved, queue_shard.state_moved('throttle', '', 'gone') from queue_shard.map; select has_unmoved from queue_shard.map}),
	"t|t\nf", 'where the last one is let go, calls do not look for it any more');
is(join(' ', map { $_->safe_psql('postgres', "select (select count(*) from throttled_resource where resource = '$throttle') + (select count(*) from named_lock where task_id in ('$mutex', '$fence'))
	+ (select count(*) from queue_schedules)") } @shards[ 0 .. 2 ]), '0 0 5', 'the old shards do not have it');

# The order of a key's jobs.
my $partition = moving(4, 'k');
my $send = "select queue_send('done', '1', partition_key => '$partition')";
my $old = sql("select b.shard from queue_proxy.bucket b where b.bucket = queue_proxy.bucket_of('$partition')");
sql($send);
($ok, $out) = grow(4, '--keep-order');
ok($ok, 'a shard is added that keeps the order');
is(state_of($send), '55P03', 'a job with a key waits for older ones');
is(state_of("select queue_send_many('done', '{1}', partition_key => '$partition')"), '55P03', 'many, too');
is(state_of(q{select queue_send('done', '1') from generate_series(1, 8)}), '', 'jobs without a key do not');
is(state_of("select queue_send('done', '1', partition_key => 'stays-' || i) from generate_series(1, 20) as i where (select b.shard from queue_proxy.bucket b
	where b.bucket = queue_proxy.bucket_of('stays-' || i)) < 3"), '', 'nor those of keys that stay');
($ok) = script('move');
ok(!$ok, 'it is not moved while there are older jobs');
is(state_of($send), '55P03', 'and still waits');
sql(q{select queue_send('done', '1', run_at => '2090-01-01') from generate_series(1, 8)});
is(sql('select bool_and(queue_complete(\'done\', id, attempt)) from queue_pop(\'done\', 100)'), 't', 'they are done');
($ok) = script('move', '--kind', 'order', '--queue', 'public.done');
ok($ok, 'of this queue all is moved');
is($shards[3]->safe_psql('postgres', q{select count(*) from queue_shard.unmoved where queue = 'public.done'}), 0, 'then it is');
is(sql("$send >> 43"), 3, 'and goes to its new shard');

($ok) = script('move');
is(remembered(), '90 keys, 90 rows', 'what is remembered has not grown with the second growth');
is(sql(qq{select count(*) filter (where (queue_unique_insert('past', jsonb_build_object('a|args=b', 'p' || i), '{a|args=b}', $all[0])).inserted) from generate_series(1, 60) as i}), 0, 'and still counts');

# A queue that was created again has other jobs of these ids.
sql(q{select queue_drop('done'); select queue_create('done'); select queue_send('done', '1') from generate_series(1, 8)});
my ($one) = grep { $shards[$_]->safe_psql('postgres', 'select count(*) from done') } 0 .. $#shards;
$shards[$one]->safe_psql('postgres', q{insert into queue_shard.leaving (kind, queue, key, shard, jobs) select 'unique', 'public.done', 'feed', 99, array_agg(id) from done});
is($shards[$one]->safe_psql('postgres', q{select jsonb_array_length(queue_shard.give_state('unique', 'public.done', 'feed', 99) -> 'rows'), (select count(*) > 0 from done)}), '0|t', 'jobs that are not of the key stay');
$shards[$one]->safe_psql('postgres', 'delete from queue_shard.leaving where shard = 99');

# A proxy that comes later gets the map of the others.
my $later = Shards::start_node('later');
{
	local @Shards::names = @names;
	ok(Shards::install($later, @shards), 'another proxy is set up');
}
is($later->safe_psql('postgres', 'select count(*) from queue_proxy.map'), 0, 'without a map');
($ok) = grow(4, '--proxy', Shards::conninfo($later));
ok($ok, 'it is given one');
is($later->safe_psql('postgres', "$map"), sql($map), 'that of the other');
is($later->safe_psql('postgres', "select lock_throttled_resource('$throttle', 'x')"), 'f', 'so it finds the keys');

# All jobs of a queue are listed, however many.
sql(q{select queue_create('many'); select count(*) from queue_unique_insert_many('many', array(select to_jsonb(i) from generate_series(1, 6000) as i))});
for my $shard (@shards)
{
	is($shard->safe_psql('postgres', q{select (select count(*) > 1000 from many), (select count(*) from many) - (select count(distinct job) from queue_shard.unique_jobs('public.many'))}),
		't|0', 'all jobs of ' . $shard->name . ' are listed');
}

# Also large ones, and beside what no insert has made.
sql(q{select count(*) from queue_unique_insert_many('many', array(select to_jsonb(string_agg(md5((i * j)::text), '')) from generate_series(1, 20) as i, generate_series(1, 20000) as j group by i))});
for my $shard (@shards)
{
	$shard->safe_psql('postgres', q{update many set unique_key = repeat('0', 16) || '|by=[x]' where id = (select min(id) from many)});
	is((Shards::call($shard, q{select (select count(*) from many) - (select count(distinct job) from queue_shard.unique_jobs('public.many'))}))[1],
		1, 'all but that of ' . $shard->name . ' are listed');
}

# What a call notes that fails is not of the next one.
is($shards[0]->safe_psql('postgres', q{do $$ begin
	begin perform queue_shard.note_buckets(array[5]); raise division_by_zero; exception when division_by_zero then null; end;
	perform queue_unique_insert('past', '{"stray": 1}', '{stray}', period => '1 day');
end $$; select shard_bucket is null from queue_unique_job where job = (select id from past where payload ? 'stray')}), 't', 'the bucket of a call that failed is forgotten');

done_testing();
