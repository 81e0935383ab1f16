# Two shards become four, by scaleout/grow, while clients of two proxies send, pop, complete, insert
# unique jobs, and take throttles and mutexes. The script is killed twice in the middle and run
# again; state that keys leave behind is refused with 55P03 until scaleout/move has moved it. No job
# is lost or done twice, and no promise of a key is broken.

use strict;
use warnings;

use DBI;
use DBD::Pg;
use FindBin;
use lib $FindBin::RealBin;
use IO::Handle;
use POSIX qw(setsid);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Shards;
use Time::HiRes qw(sleep time);
use Test::More;

Shards::need();

my @names = (qw(north south west east));
my @shards = map { Shards::start_node($_) } @names;
my @proxies = map { Shards::start_node($_, $Shards::trusting) } qw(proxy_1 proxy_2);
my ($proxy) = @proxies;
Shards::install($_, @shards[ 0, 1 ]) or BAIL_OUT('scaleout/install failed') for @proxies;
$_->safe_psql('postgres', 'create role worker login') for @shards, @proxies;

sub sql { return $proxy->safe_psql('postgres', $_[0]); }
sub state_of { return (Shards::call($_[1] // $proxy, $_[0]))[0]; }

# The arguments of Shards::script() for scaleout/grow, of the first so many shards.
sub grow_command
{
	my ($count, @more) = @_;
	return ('grow', @more, (map { ('--proxy', Shards::conninfo($_)) } @proxies),
		map { ('--shard', "$names[$_]=" . Shards::conninfo($shards[$_])) } 0 .. $count - 1);
}

# What the queues are that shards that join must have.
sql(q{
	select queue_create('q', archive => true, lease => '1 minute', max_attempts => 7);
	select queue_create('z_dead');
	select queue_create('u', dead_keep => '30 days', dead_queue => 'z_dead');
	select queue_create('h', kinds => true);
	select queue_create('paused');
	select queue_pause('paused');
	select throttle_create('t' || i, '1 hour', 3) from generate_series(1, 30) as i;
	select queue_schedule('u', 's' || i, every => '1 hour', payload => '{}', starts_at => '2100-01-01') from generate_series(1, 12) as i;
	select mutex_acquire('held' || i) from generate_series(1, 30) as i});
$_->safe_psql('postgres', 'create schema jobs authorization worker') for @shards[ 0, 1 ], @proxies;
sql(q{select queue_create('jobs.mine')});
$_->safe_psql('postgres', 'alter table jobs.mine owner to worker; grant select on q to worker; grant select on throttled_resource to worker')
  for @shards[ 0, 1 ];

# Clients. Each runs these statements again and again until it is told to stop; %d is the number of
# the run, %c that of the client.
my $main = $$;
my $dir = PostgreSQL::Test::Utils::tempdir();
my %client = (
	send => q{
		select 'sent', n, queue_send('q', jsonb_build_object('n', n)) from format('%s-%s', '%c', %d) as n;
		select 'sent', n, queue_send('q', jsonb_build_object('n', n), partition_key => 'k' || %d % 37) from format('%s-%s-key', '%c', %d) as n;
		select 'many', '%c-%d', count(*) from queue_send_many('q', array(select jsonb_build_object('n', format('%c-%d-many-%s', i)) from generate_series(1, 5) as i));
	},
	work => q{
		select 'done', queue_complete('q', id, attempt) from queue_pop('q', 2);
		select 'many', count(*) from (select queue_complete_many('q', coalesce(array_agg(id), '{}'), coalesce(array_agg(attempt), '{}')) from queue_pop('q', 6)) as done;
		select 'done', queue_complete('h', id, attempt) from queue_pop('h', 2);
	},
	unique => q{
		select 'unique', k, inserted from (select %d % 150 as k) as one, queue_unique_insert('u', jsonb_build_object('k', k), '{k}');
		select 'many', n, inserted from queue_unique_insert_many('u', array(select jsonb_build_object('k', %d % 40 + 1000 + i) from generate_series(1, 3) as i), '{k}')
			with ordinality as r(id, inserted, n);
		select 'period', k, inserted from (select %d % 150 as k) as one, queue_unique_insert('h', jsonb_build_object('k', k), '{k}', '3650 days');
	},
	lock => q{
		select 'throttle', 1 + %d % 30, lock_throttled_resource('t' || 1 + %d % 30, 'x');
		select 'mutex', %d % 60, mutex_acquire('m' || %d % 60);
		select 'token', %d % 10, token from mutex_acquire_fenced('f' || %d % 10) where acquired;
		select mutex_release('f' || %d % 10);
		select 'held', mutex_acquire('held' || 1 + %d % 30);
	},
);

# Kinds that a client runs in turn, in a session. While the map is half changed each call of a client connects to a
# shard ten times a second, so there are no more clients than it takes for calls of a kind to come through both proxies.
my @runs = ([qw(send work)], [qw(unique lock)]);

sub run_client
{
	my ($node, @kinds) = @_;
	my ($db, %out);
	for my $kind (@kinds)
	{
		open($out{$kind}, '>>', "$dir/$kind-" . $node->name . '.out') or die $!;
		$out{$kind}->autoflush;
	}
	for (my $run = 1; !-e "$dir/stop" && getppid() == $main; $run++)
	{
		# To connect, on each server, is most of the work: so some runs share a session.
		if ($run % 20 == 1)
		{
			$db->disconnect if $db;
			$db = DBI->connect('dbi:Pg:' . $node->connstr('postgres'), '', '',
				{ RaiseError => 1, PrintError => 0, PrintWarn => 0, AutoCommit => 1, pg_bool_tf => 1, pg_server_prepare => 0 });
			$db->do('set client_min_messages = error');
		}
		for my $kind (@kinds)
		{
			my $name = $kind . '-' . $node->name;
			for my $statement (grep { /\S/ } split /;\n/, $client{$kind} =~ s/%c/$name/gr =~ s/%d/$run/gr)
			{
				my $began = time;
				my $rows = eval { $db->selectall_arrayref($statement) };
				print STDERR 'ERROR:  ', $db->state, ': ', $db->errstr =~ s/^ERROR: +|\n.*//gsr, "; began $began\n" if !$rows;
				print { $out{$kind} } join('|', map { $_ // '' } @$_), "\n" for @{ $rows // [] };
			}
		}
		# Leaves some of the machine to the scripts.
		sleep 1;
	}
	return;
}

sub start_client
{
	my ($node, @kinds) = @_;
	my $pid = fork() // die $!;
	return $pid if $pid;
	eval { run_client($node, @kinds); 1 } or print STDERR "ERROR: $@";
	POSIX::_exit(0);
}

sub output_of
{
	my ($kind) = @_;
	return map { s/\n//r } map { -e $_ ? do { open(my $in, '<', $_) or die $!; <$in> } : () } glob "$dir/$kind-proxy_*.out";
}

my @pids;
{
	open(my $saved, '>&', \*STDERR) or die $!;
	open(STDERR, '>>', "$dir/errors") or die $!;
	for my $kinds (@runs) { push @pids, map { start_client($_, @$kinds) } @proxies }
	open(STDERR, '>&', $saved) or die $!;
}
# However the test ends, they do too.
END
{
	if (defined $main && $$ == $main && @pids)
	{
		append_to_file("$dir/$_", '') for qw(stop stop_long);
		waitpid($_, 0) for @pids;
	}
}
sub wait_for_progress
{
	my ($kind, $more) = @_;
	my $until = output_of($kind) + $more;
	for (1 .. 3000)
	{
		return 1 if output_of($kind) >= $until;
		sleep 0.1;
	}
	return 0;
}
ok(wait_for_progress($_, 40), "clients of kind $_ have begun") for qw(send unique lock);

# A transaction that began before and goes on: its session learns of new shards in the middle.
my $long = $proxy->background_psql('postgres', on_error_stop => 0, timeout => 3600);
$long->query_until(qr/begun/, q{\echo begun
	do $$
	declare
		_call text;
		_until timestamptz;
	begin
		for i in 1 .. 100000 loop
			foreach _call in array array[format($call$queue_send('q', '{"n": "long-%1$s"}', partition_key => 'k' || mod(%1$s, 50))$call$, i),
				$call$queue_complete_many('q', array[(0::bigint << 43) + 1, (1::bigint << 43) + 1], '{1000,1000}')$call$] loop
				-- Calls try again for twenty seconds while the map is half changed, and a slow machine takes longer for that.
				_until := clock_timestamp() + interval '5 min';
				loop
					begin
						execute 'select from ' || _call;
						exit;
					exception when object_not_in_prerequisite_state then
						if clock_timestamp() > _until then raise; end if;
					end;
				end loop;
			end loop;
			perform set_config('long.sent', i::text, false);
			perform pg_sleep(0.3);
			exit when pg_ls_dir is not null from pg_ls_dir('} . $dir . q{') where pg_ls_dir = 'stop_long';
		end loop;
	end
	$$;
	select 'long', coalesce(nullif(current_setting('long.sent', true), ''), 'failed'), 'end';
});

# Runs scaleout/grow until it says something, and kills it.
sub kill_at
{
	my ($pattern, $name, @arguments) = @_;
	my $log = "$dir/grow." . time();
	my $pid = fork() // die $!;
	if (!$pid)
	{
		setsid();
		open(STDOUT, '>', $log) or POSIX::_exit(1);
		open(STDERR, '>&', \*STDOUT) or POSIX::_exit(1);
		Shards::with_limit(sub { exec("$Shards::scaleout/$name", @arguments) or POSIX::_exit(1) });
	}
	my $seen = 0;
	for (1 .. 3000)
	{
		$seen = -e $log && slurp_file($log) =~ $pattern and last;
		sleep 0.1;
	}
	kill 'KILL', -$pid;
	waitpid($pid, 0);
	note(slurp_file($log));
	return $seen;
}

sub versions_of
{
	my ($table, @nodes) = @_;
	return join(' ', map { $_->safe_psql('postgres', "select max(version) from $table") } @nodes);
}

my ($ok, $out, $error) = Shards::script(grow_command(4, '--dry-run'));
like($out, qr/map 1 has 2 shards; map 2 has 4, and 512 of 1,024/, 'a dry run says what would be done');
($ok, $out, $error) = Shards::script('grow', '--proxy', Shards::conninfo($proxy), '--shard', 'south=' . Shards::conninfo($shards[1]));
ok(!$ok, 'the shards that are there come first');
like($error, qr/north, south/, 'it says which');

# Something holds up the second shard that the rehearsal has not met; the first is closed when the script dies.
my $holder = $shards[1]->background_psql('postgres');
$holder->query_safe(q{
	create function wait_here() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(77); return null; end $$;
	create trigger wait_here before insert or update on queue_shard.map for each statement execute function wait_here();
	begin; select pg_advisory_xact_lock(77)});
ok(kill_at(qr/shard south: calls are running/, grow_command(4)), 'killed when one shard is closed');
is(versions_of('queue_shard.map', @shards[ 0, 1 ]), '2 1', 'the shards have different versions');
$holder->query_safe('rollback; drop trigger wait_here on queue_shard.map');
($ok, $out) = Shards::script(grow_command(2));
ok($ok, 'the growth is taken back');
is(versions_of('queue_shard.map', @shards[ 0, 1 ]) . ' ' . versions_of('queue_proxy.map', @proxies), '3 3 3 3', 'by a newer version');
ok(wait_for_progress($_, 20), "clients of kind $_ go on") for qw(send unique lock);
is($shards[0]->safe_psql('postgres', 'select count(*) from queue_shard.leaving'), 0, 'no key leaves');

# One proxy has the new map when the script dies.
$holder = $proxies[1]->background_psql('postgres');
$holder->query_safe('begin; lock table queue_proxy.map in row exclusive mode');
ok(kill_at(qr/proxy 2: calls are running/, grow_command(4)), 'killed when one proxy has the new map');
is(versions_of('queue_proxy.map', @proxies), '4 3', 'the proxies have different versions');
($ok, $out, $error) = Shards::script(grow_command(2));
ok(!$ok, 'then it is not taken back');
ok(wait_for_progress($_, 5), "clients of kind $_ of the first proxy go on") for qw(send unique lock);
$holder->query_safe('rollback');
($ok, $out) = Shards::script(grow_command(4));
ok($ok, 'it is run again');
like($out, qr/proxy 1: had the map before\nproxy 2: has map 4\ncalls waited for \d+ ms at most\ndone; calls for \d+ keys/, 'and completes');
is(versions_of('queue_proxy.map', @proxies) . ' ' . versions_of('queue_shard.map', @shards), '4 4 4 4 4 4', 'all have one version');
is(sql('select array_agg(buckets order by shard) from queue_proxy.shards'), '{256,256,256,256}', 'the buckets are divided evenly');
is($proxies[0]->safe_psql('postgres', 'select md5(buckets::text) from queue_proxy.map_text()'),
	$proxies[1]->safe_psql('postgres', 'select md5(buckets::text) from queue_proxy.map_text()'), 'in the same way by both proxies');
ok(wait_for_progress($_, 25), "clients of kind $_ go on with four shards") for qw(send unique lock);
($ok, $out) = Shards::script(grow_command(4));
ok($ok, 'to run it again changes nothing');
is(versions_of('queue_proxy.map', @proxies), '4 4', 'nor the version');

# The queues of the new shards.
my $settings = q{select queue, lease, max_attempts, archive, paused, dead_keep, dead_queue, (select relowner::regrole from pg_class where oid = source),
	(select relacl from pg_class where oid = source), (select count(*) from pg_index where indrelid = source)
	from queues order by 1};
is($_->safe_psql('postgres', $settings), $shards[0]->safe_psql('postgres', $settings), 'the queues of ' . $_->name . ' are those of the others')
  for @shards[ 2, 3 ];
is($shards[3]->safe_psql('postgres', q{select has_table_privilege('worker', 'throttled_resource', 'select'), has_table_privilege('worker', 'named_lock', 'select')}),
	't|f', 'and the privileges');
is($shards[3]->safe_psql('postgres', q{select min(id) >> 43, max(id) >> 43 from (select id from q union all select id from q_archive) as j}), '3|3', 'ids have their number');

# Keys with state, and keys without.
sub moved_key
{
	my ($keys) = @_;
	return sql("select k from ($keys) as keys(k) join queue_proxy.bucket b on b.bucket = queue_proxy.bucket_of(k)
		where b.shard >= 2 order by 1 limit 1");
}
my $throttle = moved_key(q{select 't' || i from generate_series(1, 30) as i});
my $mutex = moved_key(q{select 'held' || i from generate_series(1, 30) as i});
my $schedule = moved_key(q{select 's' || i from generate_series(1, 12) as i});
is(state_of("select lock_throttled_resource('$throttle', 'me')"), '55P03', 'a throttle whose state is elsewhere is refused');
is(state_of("select throttle_drop('$throttle')", $proxies[1]), '55P03', 'by each proxy');
is(state_of("select mutex_acquire('$mutex')"), '55P03', 'as is a mutex');
is(state_of("select mutex_release('$mutex')"), '55P03', 'also to release it');
is(state_of("select queue_schedule('u', '$schedule', every => '1 day')"), '55P03', 'a schedule');
my $unique = sql(q{select k from generate_series(5000, 5100) as k join queue_proxy.bucket b
	on b.bucket = queue_proxy.bucket_of(queue_proxy.unique_key(jsonb_build_object('k', k), '{k}')) where b.shard >= 2 limit 1});
is(sql(qq{select inserted from queue_unique_insert('u', '{"k": $unique}', '{k}')}), 't', 'a moved key without state is served');
my $new = moved_key(q{select 'new' || i from generate_series(1, 100) as i});
is(sql("select mutex_acquire('$new'), mutex_acquire('$new')"), 't|f', 'also a mutex');
my ($state, $text, $message) = Shards::call($proxy, "select lock_throttled_resource('$throttle', 'me')");
like($message, qr/the state of throttle "$throttle" has not been moved to this shard\nDETAIL:  It is on shard [01].\nHINT:.*scaleout\/move/, 'the error says what to do');
my @errors = split /\n/, slurp_file("$dir/errors");
cmp_ok(scalar(grep { /ERROR:  55P03: the state of this unique job/ } @errors), '>', 0, 'clients have met unique jobs that were not moved');
cmp_ok(scalar(grep { /ERROR:  55P03: the state of (throttle|mutex)/ } @errors), '>', 0, 'and throttles and mutexes');

# One by hand.
my ($from) = $message =~ /It is on shard ([01])/;
my $to = sql("select b.shard from queue_proxy.bucket b where b.bucket = queue_proxy.bucket_of('$throttle')");
my $given = $shards[$from]->safe_psql('postgres', "select queue_shard.give_state('throttle', '', '$throttle', $to)");
is($shards[$from]->safe_psql('postgres', "select queue_shard.give_state('throttle', '', '$throttle', $to)"), $given, 'a state is given twice');
my $before = $given =~ /"last_locker_details": "x"/;
ok($before, 'with what has happened to it');
is($shards[$to]->safe_psql('postgres', "select queue_shard.take_state('$given'), queue_shard.take_state('$given')"), 't|f', 'and taken once');
isnt(state_of("select lock_throttled_resource('$throttle', 'me')"), '55P03', 'then its key is served');
is(sql("select count(*) from throttled_resource where resource = '$throttle'"), 1, 'it is there once');
is(state_of("select mutex_acquire('$mutex')"), '55P03', 'others still wait');

# Once more, before all is moved: refused before anything is changed.
my $fifth = Shards::start_node('fifth');
$fifth->safe_psql('postgres', 'create role worker login');
my @five = (grow_command(4), '--shard', 'fifth=' . Shards::conninfo($fifth));
my $kept = q{select md5(coalesce(string_agg(l::text, ' ' order by l::text), '')) from queue_shard.leaving l};
my @kept = map { $_->safe_psql('postgres', $kept) } @shards;
for my $more ([], ['--dry-run'])
{
	($ok, $out, $error) = Shards::script(@five, @$more);
	ok(!$ok, "no second growth before all is moved @$more");
	like($error, qr/the state of \d+ keys is still on other shards: run scaleout\/move first/, 'it says why');
}
is(versions_of('queue_shard.map', @shards), '4 4 4 4', 'no shard is closed');
is_deeply([ map { $_->safe_psql('postgres', $kept) } @shards ], \@kept, 'and keeps what it has given');
($state, $out, $error) = Shards::call($shards[$from], q{select queue_shard.close_map(shard, 5, 'x', (select array_agg(0) from generate_series(1, 1024)),
	(select array_agg(0) from generate_series(1, 1024)), false, 4) from queue_shard.map});
is($state, '55000', 'nor does a shard let go what it has given');
like($error, qr/the state of \d+ keys has been given to other shards and is kept here/, 'and says so');

# All, while clients run, and repeated.
($ok, $out) = Shards::script('move', '--proxy', Shards::conninfo($proxies[1]), '--kind', 'mutex', '--key', $mutex);
ok($ok, 'one by the script');
is(state_of("select mutex_acquire('$mutex')"), '', 'is served again');
ok(kill_at(qr/from shard north/, 'move', '--proxy', Shards::conninfo($proxy)), 'the script is killed');
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy), '--wait', '300');
ok($ok, 'and run again');
is(join(' ', map { $_->safe_psql('postgres', 'select count(*) from queue_shard.unmoved') } @shards), '0 0 0 0', 'all are moved');
is(join(' ', map { $_->safe_psql('postgres', 'select bool_or(has_unmoved) from queue_shard.map') } @shards), 'f f f f', 'calls do not look for them any more');
is(join(' ', map { $_->safe_psql('postgres', 'select count(*) from queue_shard.leaving') } @shards), '0 0 0 0', 'and nothing is kept');
# What an interrupted run has left is ended by the next one, and by a growth.
my $left = q{insert into queue_shard.leaving (kind, queue, key, shard, state) values ('throttle', '', 'gone', 2, '{}')};
$shards[0]->safe_psql('postgres', $left);
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy));
ok($ok, 'with nothing left to move');
is($shards[0]->safe_psql('postgres', 'select count(*) from queue_shard.leaving'), 0, 'what was kept goes');
my $moved_at = time;
ok(wait_for_progress($_, 25), "clients of kind $_ go on when all is moved") for qw(send unique lock);
# One that began before may come to its end only now.
is(join("\n", grep { /55P03.*; began (\S+)$/ && $1 > $moved_at } split /\n/, slurp_file("$dir/errors")), '', 'and meet no 55P03 any more');
is(sql("select name, every, next_run_at from queue_schedules where name = '$schedule'"), "$schedule|01:00:00|2100-01-01 00:00:00+00", 'a schedule goes on');
is(sql('select count(*), count(distinct name) from queue_schedules'), '12|12', 'each is there once');
is(state_of("select queue_schedule('u', '$schedule', every => '1 day')"), '', 'and may be changed');

# A fifth.
$shards[0]->safe_psql('postgres', $left);
($ok, $out, $error) = Shards::script(@five);
ok($ok, 'now the second growth succeeds');
is($shards[0]->safe_psql('postgres', q{select count(*) from queue_shard.leaving where shard <> 4 or state is not null}), 0, 'keys leave for the new shard only');
push @shards, $fifth;
push @names, 'fifth';
is(versions_of('queue_proxy.map', @proxies) . ' ' . versions_of('queue_shard.map', @shards), '5 5 5 5 5 5 5', 'all have one version');
($ok, $out, $error) = Shards::script('move', '--proxy', Shards::conninfo($proxy), '--wait', '300');
ok($ok, 'its keys are moved');
is(join(' ', map { $_->safe_psql('postgres', 'select (select count(*) from queue_shard.unmoved) + (select count(*) from queue_shard.leaving)') } @shards), '0 0 0 0 0', 'all of them');
ok(wait_for_progress($_, 25), "clients of kind $_ go on with five shards") for qw(send unique lock);

# The end: all is done, and counted.
append_to_file("$dir/stop_long", '');
my ($long_sent) = $long->query_until(qr/long\|.*\|end/, '') =~ /long\|(\w+)\|end/;
$long->quit;
append_to_file("$dir/stop", '');
waitpid($_, 0) for @pids;
@pids = ();
for (1 .. 1000)
{
	last if sql(q{select count(queue_complete('q', id, attempt)) from queue_pop('q', 200)}) == 0;
}
# Those of the second proxy may have been refused for longer than calls try, while it had no map.
@errors = grep { /ERROR|FATAL|PANIC/ && !/55P03|55000: the shard has another version of the map; began/ } split /\n/, slurp_file("$dir/errors");
is(join("\n", @errors[ 0 .. ($#errors < 5 ? $#errors : 5) ]), '', 'clients have seen no other error');

my (%sent, %done);
for (output_of('send'))
{
	my ($what, $n, $count) = split /\|/;
	if ($what eq 'sent') { $sent{$n}++; }
	else { $sent{"$n-many-$_"}++ for 1 .. 5; }
}
for my $shard (@shards)
{
	$done{$_}++ for split /\n/, $shard->safe_psql('postgres', q{select payload ->> 'n' from q_archive where state = 'completed'});
}
my @long = grep { /^long-/ } keys %done;
is(scalar @long, $long_sent, 'the long transaction has sent each of its jobs');
delete @done{@long};
is(scalar(grep { $done{$_} > 1 } keys %done), 0, 'no job was done twice');
is_deeply([ grep { !$done{$_} } sort keys %sent ], [], 'each job that was sent is done');
is_deeply([ grep { !$sent{$_} } sort keys %done ], [], 'and no other');
is(sql('select ready + scheduled + leased from queue_counts(\'q\')'), 0, 'none is left');

# How many keys they come to depends on the machine.
my (%asked, %inserted, %of_period, %throttled, %acquired, %token, $held);
for (output_of('unique'))
{
	my ($what, $k, $is) = split /\|/;
	$asked{$k}++ if $what eq 'unique';
	next if $is ne 't';
	$inserted{$k}++ if $what eq 'unique';
	$of_period{$k}++ if $what eq 'period';
}
cmp_ok(scalar(keys %asked), '>=', 20, 'unique jobs were asked for');
is_deeply([ sort keys %inserted ], [ sort keys %asked ], 'and inserted');
is_deeply([ grep { $inserted{$_} > 1 } keys %inserted ], [], 'each once');
is_deeply([ grep { $of_period{$_} > 1 } keys %of_period ], [], 'also once in a period, though they are done');
is(sql(q{select count(*), count(distinct payload) from u where payload ? 'k' and payload ->> 'k' < '2'}) =~ /^(\d+)\|\1$/ ? 1 : 0, 1, 'they are there once');
is(sql(q{select count(*) - count(distinct payload) from u where payload ? 'k'}), 0, 'those inserted by the array, too');
for (output_of('lock'))
{
	my ($what, $k, $is) = split /\|/;
	$throttled{$k}++ if $what eq 'throttle' && $is eq 't';
	$acquired{$k}++ if $what eq 'mutex' && $is eq 't';
	$token{"$k-$is"}++ if $what eq 'token';
	$held = 1 if $what eq 'held' && $k eq 't';
}
is_deeply([ grep { $throttled{$_} > 3 } keys %throttled ], [], 'no throttle was taken too often');
is_deeply([ grep { $acquired{$_} > 1 } keys %acquired ], [], 'no mutex was taken twice');
is_deeply([ grep { $token{$_} > 1 } keys %token ], [], 'no fencing token was given twice');
ok(!$held, 'nor was one that was held before');
is(sql('select count(*), count(distinct task_id) from held_locks') =~ /^(\d+)\|\1$/ ? 1 : 0, 1, 'each is held once');

for my $node (@proxies, @shards)
{
	my @lines = grep { /\b(PANIC|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @lines), '', 'the log of ' . $node->name . ' is quiet');
}

done_testing();
