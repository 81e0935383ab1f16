# 32 clients at a few keys of all shards, whose connections break and one of whose shards is killed:
# of equal jobs there is one, a throttle grants no more than it may, and a lock has one holder.
#
#   DURATION=300 CLIENTS=32 SEED=7 test/torture/scaleout races
#
# The clients note when each call began and when it had its answer, by the clock of the one machine on
# which all run; so what they say of an order is sure.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Test::More;
use Time::HiRes qw(sleep time);
use Torture;

Shards::need();

my $duration = $ENV{DURATION} || 15;
my $clients = $ENV{CLIENTS} || 32;
our $seed = $ENV{SEED} || 1 + int rand 1_000_000;
diag("seed $seed, $duration s, $clients clients");

my ($proxy, @shards) = Shards::start(@Torture::settings);

sub sql
{
	my ($sql) = @_;
	return $proxy->safe_psql('postgres', $sql);
}

# "live": at most one of a key at a time. "once": one of a key, for ever.
sql(q{select queue_create('live', lease => '5 seconds', max_attempts => 1000000)});
sql(q{select queue_create('once', lease => '5 seconds', max_attempts => 1000000, archive => true)});
my $keys = 30;
my $once_keys = 400 * ($duration / 15 < 1 ? 1 : $duration / 15);
my $interval = 0.3;
my $timeout = 2;
sql("select throttle_create('throttle ' || i, '$interval s', 1 + i % 3) from generate_series(1, 9) as i");
cmp_ok(sql(q{select count(distinct place.shard) from generate_series(1, 9) as i, queue_proxy.place_of_bucket(queue_proxy.bucket_of('throttle ' || i)) as place}),
	'==', 3, 'the throttles are on all shards');

# "Equal" payloads are not always spelled alike.
sub spelled
{
	my ($key) = @_;
	my @forms = ("$key", "$key.0", "${key}.00", "${key}e0");
	my $n = int rand 1_000_000;
	return rand() < 0.5 ? qq({"k": $forms[ rand @forms ], "n": $n}) : qq({"n": $n, "k": $forms[ rand @forms ]});
}

sub insert_live
{
	my ($client) = @_;
	my $key = 1 + int rand $keys;
	my $at = time;
	my ($outcome, $row) = $client->call(q{select id, inserted from queue_unique_insert('live', $1, '{k}')}, spelled($key));
	$client->note_down($outcome ne 'done' ? "$outcome live" : $row->[1] ? 'live' : 'live already',
		n => $key, id => $row && $row->[0], at => $at, until => time);
	return;
}

sub insert_live_many
{
	my ($client) = @_;
	my @keys = map { 1 + int rand $keys } 1 .. 8;
	my $at = time;
	my ($outcome, @rows) = $client->call(q{select id, inserted from queue_unique_insert_many('live', $1::jsonb[], '{k}')}, [ map { spelled($_) } @keys ]);
	$client->odd(@rows . ' results for ' . @keys) if $outcome eq 'done' && @rows != @keys;
	$client->note_down($outcome ne 'done' ? "$outcome live" : $rows[$_][1] ? 'live' : 'live already',
		n => $keys[$_], id => $rows[$_] && $rows[$_][0], at => $at, until => time) for 0 .. $#keys;
	return;
}

sub do_live
{
	my ($client) = @_;
	my ($outcome, @rows) = $client->call(q{select id, attempt, (payload ->> 'k')::numeric::bigint from queue_pop('live', $1)}, 1 + int rand 3);
	for my $job (@rows)
	{
		sleep rand 0.01;
		my $at = time;
		($outcome) = $client->call(q{select queue_complete('live', $1, $2)}, @$job[ 0, 1 ]);
		$client->note_down("$outcome end", n => $job->[2], id => $job->[0], attempt => $job->[1], at => $at, until => time);
	}
	return;
}

sub insert_once
{
	my ($client) = @_;
	my $key = 1 + int rand $once_keys;
	my ($outcome, $row) = $client->call(
		q{select id, inserted from queue_unique_insert('once', $1, '{k}', states => '{ready,scheduled,leased,dead,done}')}, spelled($key));
	$client->note_down($outcome ne 'done' ? "$outcome once" : $row->[1] ? 'once' : 'once already', n => $key, id => $row && $row->[0]);
	return;
}

sub do_once
{
	my ($client) = @_;
	my ($outcome, @rows) = $client->call(q{select id, attempt from queue_pop('once', 5)});
	$client->call(q{select queue_complete('once', $1, $2)}, @$_) for @rows;
	return;
}

sub lock_throttle
{
	my ($client) = @_;
	my $number = 1 + int rand 9;
	my $at = time;
	my ($outcome, $row) = $client->call(q{select lock_throttled_resource($1::text, 'c')}, "throttle $number");
	$client->note_down($outcome ne 'done' ? "$outcome throttle" : $row->[0] ? 'granted' : 'denied', n => $number, at => $at, until => time);
	return;
}

# A mutex whose holder is unknown stays acquired: others have other names after a while. The token
# tells the clients' notes of a lock from each other.
sub hold
{
	my ($client, $timed) = @_;
	my $number = ($timed ? 0 : 1_000_000 + 10 * (int(time) % 10_000)) + int rand 9;
	my $name = "lock $number";
	my $at = time;
	my ($outcome, $row) = $timed
	  ? $client->call(q{select acquired, token from timeout_acquire_fenced($1, $2)}, $name, "$timeout s")
	  : $client->call(q{select acquired, token from mutex_acquire_fenced($1)}, $name);
	if ($outcome ne 'done' || !$row->[0])
	{
		$client->note_down($outcome eq 'done' ? 'not held' : "$outcome hold", n => $number);
		return;
	}
	my $from = time;
	sleep rand 0.02;
	my $until = time;
	$until = $at + $timeout if $timed && $until > $at + $timeout;
	$client->note_down('held', n => $number, id => $row->[1], at => $from, until => $until) if $from < $until;
	my ($how, $released);
	for (1 .. 600)
	{
		($how, $released) = $client->call(q{select mutex_release($1, $2)}, $name, $row->[1]);
		last if $how ne 'refused';
		sleep 0.1;
	}
	$client->note_down('not released', n => $number, id => $row->[1])
	  if $how eq 'done' && !$released->[0] && !($timed && time > $at + $timeout);
	return;
}

my @work = (
	(\&insert_live) x 5, \&insert_live_many, (\&do_live) x 4, (\&insert_once) x 4, \&do_once, (\&lock_throttle) x 6,
	(sub { hold($_[0], 0) }) x 3, (sub { hold($_[0], 1) }) x 2);
for my $number (1 .. $clients)
{
	Torture::start_client($proxy, $number, sub {
		my ($client) = @_;
		while (!Torture::is_over())
		{
			$work[ rand @work ]->($client);
			$client->{calls}++;
		}
		$client->note_down('calls', n => $client->{calls});
	});
}

srand $seed;
my $began = time;
my $next_kill = $began + $duration / 3;
# On a busy machine it goes on until there were enough of each fault, and of outcomes.
sub is_enough { return time >= $began + $duration && $Torture::cuts > 5 && $Torture::lost > 0 && $Torture::kills > 0 && Torture::noted() > 200_000 }
while (!is_enough() && time < $began + 20 * $duration + 300)
{
	sleep 0.1 + rand 0.4;
	Torture::cut_connections($_, 1) for grep { rand() < 0.4 } $proxy, @shards;
	Torture::lose_answers($shards[ rand @shards ]) if rand() < 0.4;
	next if time < $next_kill;
	$next_kill = time + ($duration < 60 ? $duration / 3 : 20);
	my $victim = $shards[ rand @shards ];
	Torture::kill_server($victim);
	sleep rand 1;
	Torture::start_server($victim);
}
Torture::end_clients();
Torture::load($proxy);
# A shard that was killed last is passed by for a moment.
ok($proxy->poll_query_until('postgres', 'select bool_and(queue_proxy.reach(shard)) from queue_proxy.shard'), 'all shards are there at the end');

sub none { return Torture::none($proxy, @_); }

none('no call had an unexpected end', q{what, count(*) from heard where what like 'odd%' group by 1});

# From the answer of its insert to the call that ended it a job was live: no other of its key was
# inserted by a call that lies in between.
sql(q{
	create table ends as select id, min(at) as at from heard where what like '%end' group by id;
	create table life as
		select h.n, h.id, h.at, h.until as born, coalesce(e.at, 'infinity') as ends
		from heard h left join ends e using (id) where h.what = 'live';
	create index on life (n, born);
	analyze life;
});
none('live: no job was inserted while there was another of its key',
	'a.n, a.id, b.id from life a join life b on b.n = a.n and b.id <> a.id and b.at > a.born and b.born < a.ends');
none('live: the others were told of a job of their key',
	q{h.n, h.id from heard h join life l on l.id = h.id where h.what = 'live already' and l.n <> h.n});
none('live: an id is one job', 'id from life group by id having count(*) > 1');
none('live: one of each key at the end', q{(payload ->> 'k')::numeric from live group by 1 having count(*) > 1});
none('once: one of each key', q{k from (
	select (payload ->> 'k')::numeric as k from once
	union all } . join(' union all ', map { "select k from done_$_" } 0 .. 2) . q{) as j group by k having count(*) > 1})
  if gather_once();
none('once: each key has one id', q{n from heard where what in ('once', 'once already') group by n having count(distinct id) > 1});
none('once: inserted once', q{n from heard where what = 'once' group by n having count(*) > 1});
cmp_ok(sql(q{select count(distinct id >> 43) from heard where what in ('once', 'live')}), '==', 3, 'keys are on all shards');

# Those grants that lie in an interval for sure. Two may have begun at the same time.
none('throttle: no interval with too many grants', qq{g.n, array_agg(h.at - g.at order by h.at) from heard g join heard h using (n)
	where g.what = 'granted' and h.what = 'granted' and h.at >= g.at and h.until <= g.at + $interval group by g.n, g.ctid having count(*) > 1 + g.n % 3});
none('lock: never two holders', q{a.n, a.id, b.id from heard a join heard b on b.n = a.n and b.id <> a.id and b.at < a.until and a.at < b.until
	where a.what = 'held' and b.what = 'held'});
none('lock: a token is given once', q{n, id from heard where what = 'held' group by n, id having count(*) > 1});
none('lock: tokens grow', q{n from (
	select n, id, lag(id) over (partition by n order by at) as before from heard where what = 'held') as t where id <= before});
none('lock: each could release its own', q{n, id from heard where what = 'not released'});
cmp_ok(sql("select count(*) from heard where what = '$_'"), '>', 10, "there were outcomes: $_")
  for 'live', 'live already', 'done end', 'once', 'once already', 'granted', 'denied', 'held', 'not held';
cmp_ok($Torture::cuts, '>', 5, 'connections were ended');
cmp_ok($Torture::lost, '>', 0, 'answers were lost');
Torture::logs_are_quiet($proxy, @shards);

# The archives of the shards, which the proxy does not have.
sub gather_once
{
	for my $number (0 .. 2)
	{
		sql("create table done_$number (k numeric)");
		my $k = $shards[$number]->safe_psql('postgres', q{select string_agg('(' || (payload ->> 'k') || ')', ',') from once_archive});
		sql("insert into done_$number values $k") if $k ne '';
	}
	return 1;
}

diag(sql(q{select 'calls: ' || sum(n) from heard where what = 'calls'})
	. "; $Torture::kills times a server was killed, $Torture::cuts connections were ended, "
	. "and $Torture::lost between a commit and its answer");
diag(sql(q{select string_agg(what || ' ' || count, ', ' order by what) from (
	select what, count(*) from heard where what <> 'calls' group by what) as h}));

done_testing();
