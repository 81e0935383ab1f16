# Jobs over three shards, two are killed, and connections break. Each shard has a ledger
# of what was sent and what was done, written in the same transaction; the clients note what they
# heard. At the end every job whose sending was acknowledged is done once, none is done that was not
# sent, and what the clients heard is in the ledger. Outcomes that they did not hear of are counted
# apart.
#
#   JOBS=1000000 CLIENTS=24 PAUSE=8 SEED=7 test/torture/scaleout ledger
#
# PAUSE is the seconds between two faults, BATCH how many jobs a call for many has.

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

my $jobs = $ENV{JOBS} || 20_000;
my $clients = $ENV{CLIENTS} || 12;
my $batch = $ENV{BATCH} || 20;
my $pause = $ENV{PAUSE} || 2;
our $seed = $ENV{SEED} || 1 + int rand 1_000_000;
diag("seed $seed, $jobs jobs, $clients clients");

my ($proxy, @shards) = Shards::start(@Torture::settings);
my @victims = @shards[ 0, 2 ];

sub sql
{
	my ($sql) = @_;
	return $proxy->safe_psql('postgres', $sql);
}

# Ledgers without any constraint: they must show what happened.
sql(q{select queue_create('q', lease => '10 seconds', max_attempts => 1000000, archive => true)});
$_->safe_psql('postgres', q{
	create table sent (id bigint, n bigint);
	create table done (id bigint, attempt integer, n bigint);
	create function note_sent() returns trigger language plpgsql as $$
	begin
		insert into sent values (new.id, (new.payload ->> 'n')::bigint);
		return null;
	end $$;
	create function note_done() returns trigger language plpgsql as $$
	begin
		insert into done values (new.id, new.attempt, (new.payload ->> 'n')::bigint);
		return null;
	end $$;
	create trigger note_sent after insert on q for each row execute function note_sent();
	create trigger note_done after insert on q_archive for each row execute function note_done();
}) for @shards;

sub payload { return qq({"n": $_[0]}); }

# Sends $share jobs: one by one, many at once, unique ones; with a key and without. Those that are
# refused do not count.
sub send_jobs
{
	my ($client, $share) = @_;
	my $n = $client->{number} * 10_000_000;
	my $end = $n + $share;
	while ($n < $end)
	{
		my $key = rand() < 0.4 ? 'key ' . int rand 1000 : undef;
		my $kind = rand;
		if ($kind < 0.5)
		{
			$n++;
			my ($outcome, $row) = $client->call(q{select queue_send('q', $1, partition_key => $2)}, payload($n), $key);
			$client->note_down($outcome eq 'done' ? 'sent' : "$outcome send", n => $n, id => $row && $row->[0]);
			$end++ if $outcome eq 'refused';
		}
		elsif ($kind < 0.6)
		{
			# This one may be repeated until it has an answer.
			$n++;
			my ($outcome, $row);
			for (1 .. 900)
			{
				($outcome, $row) = $client->call(
					q{select id from queue_unique_insert('q', $1, states => '{ready,scheduled,leased,dead,done}')}, payload($n));
				last if $outcome eq 'done';
				sleep 0.2;
			}
			$client->note_down($outcome eq 'done' ? 'sent' : 'unknown send', n => $n, id => $row && $row->[0]);
			$client->note_down('unique', n => $n);
		}
		else
		{
			my @n = map { ++$n } 1 .. ($end - $n < $batch ? $end - $n : $batch);
			my ($outcome, @rows) = $client->call(
				q{select * from queue_send_many('q', $1::jsonb[], partition_key => $2)}, [ map { payload($_) } @n ], $key);
			$client->odd(@rows . ' ids for ' . @n) if $outcome eq 'done' && @rows != @n;
			$client->note_down($outcome eq 'done' ? 'sent' : "$outcome send", n => $n[$_], id => $rows[$_] && $rows[$_][0]) for 0 .. $#n;
			$end += @n if $outcome eq 'refused';
		}
		sleep 0.1 if rand() < 0.01;
	}
	return;
}

# Completes one, and repeats it now and then when no answer came.
sub complete
{
	my ($client, $id, $attempt) = @_;
	for (1 .. 100)
	{
		my ($outcome, $row) = $client->call(q{select queue_complete('q', $1, $2)}, $id, $attempt);
		$client->note_down($outcome eq 'done' ? ($row->[0] ? 'done' : 'not done') : "$outcome done", id => $id, attempt => $attempt);
		last if $outcome eq 'done' || $outcome eq 'odd' || ($outcome eq 'unknown' && rand() < 0.5);
		sleep 0.1;
	}
	return;
}

sub complete_many
{
	my ($client, @job) = @_;
	for (1 .. 100)
	{
		my ($outcome, @rows) = $client->call(q{select * from queue_complete_many('q', $1, $2)},
			[ map { $_->[0] } @job ], [ map { $_->[1] } @job ]);
		my %is_done = map { $_->[0] => 1 } @rows;
		$client->note_down($outcome eq 'done' ? ($is_done{ $_->[0] } ? 'done' : 'not done') : 'unknown done',
			id => $_->[0], attempt => $_->[1]) for @job;
		last if $outcome eq 'done' || $outcome eq 'odd' || rand() < 0.3;
		sleep 0.1;
	}
	return;
}

# Takes jobs until there are none and the parent says so.
sub do_jobs
{
	my ($client) = @_;
	while (1)
	{
		my $kind = rand;
		my $is_draining = Torture::is_draining();
		my ($outcome, @rows);
		if ($kind < 0.2 && $client->{number} % 4 == 0)
		{
			($outcome, @rows) = $client->call(q{call queue_pop_wait('q', '0.5 s')});
			@rows = map { [ @$_[ 0, 1 ], $_->[2] =~ /(\d+)/ ] } grep { defined $_->[0] } @rows;
		}
		else
		{
			($outcome, @rows) = $client->call(q{select id, attempt, payload ->> 'n' from queue_pop('q', $1)}, $kind < 0.6 ? 1 : $batch);
		}
		if ($outcome ne 'done')
		{
			$client->note_down("$outcome pop");
			sleep 0.1;
			next;
		}
		$client->note_down('popped', n => $_->[2], id => $_->[0], attempt => $_->[1]) for @rows;
		if (!@rows)
		{
			last if $is_draining && Torture::is_over();
			sleep 0.05 + rand 0.1;
		}
		elsif (rand() < 0.03)
		{
			# They come back.
			my $call = rand() < 0.5 ? q{select queue_fail('q', $1, $2, 'x', '0')} : q{select queue_release('q', $1, $2)};
			$client->call($call, $_->[0], $_->[1]) for @rows;
		}
		elsif (@rows > 1)
		{
			complete_many($client, @rows);
		}
		elsif ($kind < 0.3)
		{
			my ($id, $attempt) = @{ $rows[0] };
			for (1 .. 10)
			{
				my ($outcome, $row) = $client->call(
					q{select completed, id, attempt, payload ->> 'n' from queue_complete_pop('q', $1, $2)}, $id, $attempt);
				$client->note_down($outcome eq 'done' ? ($row->[0] ? 'done' : 'not done') : "$outcome done", id => $id, attempt => $attempt);
				undef $id;
				last if $outcome ne 'done' || !defined $row->[1];
				(undef, $id, $attempt) = @$row;
				$client->note_down('popped', n => $row->[3], id => $id, attempt => $attempt);
			}
			complete($client, $id, $attempt) if defined $id;
		}
		else
		{
			complete($client, @{ $rows[0] });
		}
	}
	return;
}

my $senders = int($clients / 3) || 1;
my $share = int($jobs / $senders);
my $began = time;
my @senders = map { my $number = $_; Torture::start_client($proxy, $number, sub { send_jobs($_[0], $share) }) } 1 .. $senders;
Torture::start_client($proxy, $_, \&do_jobs) for $senders + 1 .. $clients;

# Faults, until all is sent, both servers were killed twice, and answers were lost.
srand $seed;
my %killed = map { $_->name => 0 } @victims;
my $round = 2; # the loss of answers first, while all are busy
while (Torture::running(@senders) || ($round < 60 && (!$Torture::lost || grep { $_ < 2 } values %killed)))
{
	sleep $pause * (0.5 + rand);
	my $fault = $round++ % 6;
	if ($fault == 1)
	{
		Torture::cut_connections($_, 2) for $proxy, @shards;
	}
	elsif ($fault == 2)
	{
		Torture::lose_answers($shards[ rand @shards ]);
	}
	elsif ($fault == 4)
	{
		Torture::kill_backend($victims[ rand @victims ]);
	}
	else
	{
		my @now = rand() < 0.2 ? @victims : ((sort { $killed{ $a->name } <=> $killed{ $b->name } || rand() <=> 0.5 } @victims)[0]);
		Torture::kill_server($_) for @now;
		$killed{ $_->name }++ for @now;
		sleep rand $pause;
		Torture::start_server($_) for @now;
	}
}
my $sent_after = time - $began;

# All are back: the jobs that are left are done, also those that were claimed by calls whose connection broke.
Torture::set('drain');
my $is_empty = $proxy->poll_query_until('postgres', q{select ready + scheduled + leased + dead = 0 from queue_counts('q')});
Torture::end_clients();
ok($is_empty, 'all jobs are finished at the end');
my $took = time - $began;

Torture::load($proxy);
Torture::gather($proxy, 'sent', 'id bigint, n bigint', @shards);
Torture::gather($proxy, 'done', 'id bigint, attempt integer, n bigint', @shards);
# Calls that were repeated have several outcomes.
sql(q{
	create table acknowledged as select n, id from heard where what = 'sent';
	create table completed as select id, attempt, count(*) from heard where what = 'done' group by id, attempt;
	create table uncertain as select distinct id, attempt from heard where what = 'unknown done';
	analyze acknowledged, completed, uncertain;
});

sub none { return Torture::none($proxy, @_); }

none('no call had an unexpected end', q{what, count(*) from heard where what like 'odd%' group by 1});
# Of what was sent.
cmp_ok(sql('select count(*) from acknowledged'), '>', 0, 'jobs were sent');
none('an id is given once', 'id from sent group by id having count(*) > 1');
none('an id has the number of its shard', 'id from sent where id >> 43 <> shard');
none('a call sends once', 'n from sent group by n having count(*) > 1');
none('each job whose sending was acknowledged is there',
	'a.* from acknowledged a left join sent s using (n, id) where s.id is null');
none('what was refused was not sent', q{s.* from sent s join heard h using (n) where h.what = 'refused send'});
none('all else that was sent is of calls without an answer',
	q{s.* from sent s left join acknowledged a using (n) left join heard h on h.n = s.n and h.what = 'unknown send'
		where a.n is null and h.n is null});
none('a unique insert that was repeated has inserted once, and been answered',
	q{h.n from (select n from heard where what = 'unique') h left join sent s using (n) left join acknowledged a on a.n = h.n and a.id = s.id
		where a.id is null});
# Of what was done.
none('each is done once', 'id from done group by id having count(*) > 1');
none('nothing is done that was not sent', 'd.* from done d left join sent s using (shard, id, n) where s.id is null');
none('all that was sent is done', 's.* from sent s left join done d using (shard, id, n) where d.id is null');
none('each job whose sending was acknowledged is done once',
	'a.n from acknowledged a left join done d using (n, id) group by a.n having count(d.id) <> 1');
none('each completion that was acknowledged is in the ledger, with its attempt',
	'c.* from completed c left join done d using (id, attempt) where d.id is null');
none('no completion was acknowledged twice', 'id, attempt from completed where count > 1');
none('all else that was done is of calls without an answer',
	'd.* from done d left join completed c using (id, attempt) left join uncertain u using (id, attempt) where c.id is null and u.id is null');
# Of claims.
none('no attempt is handed out twice', q{id, attempt from heard where what = 'popped' group by id, attempt having count(*) > 1});
none('jobs have their payloads', q{h.* from heard h join sent s using (id) where h.what = 'popped' and h.n <> s.n});
none('what was done was claimed by that attempt',
	q{c.* from completed c left join heard h on h.id = c.id and h.attempt = c.attempt and h.what = 'popped' where h.id is null});
is(sql('select count(*) from q'), 0, 'the queue is empty');
cmp_ok($Torture::lost, '>', 0, 'answers were lost') if $round < 60; # else all was done before
cmp_ok($_, '>=', 2, 'both were killed') for values %killed;
Torture::logs_are_quiet($proxy, @shards);

diag(sprintf '%d jobs in %.0f s (sent after %.0f s); %d times a server was killed, %d times a backend; %d connections were ended, and %d between a commit and its answer',
	sql('select count(*) from done'), $took, $sent_after, $Torture::kills, $Torture::crashes, $Torture::cuts,
	$Torture::lost);
diag(sql(q{select 'jobs by shard: ' || string_agg(n::text, ', ' order by shard) from (select shard, count(*) as n from done group by shard) as d}));
diag(sql(q{select 'sends: ' || (select count(*) from acknowledged) || ' acknowledged, all done once; '
	|| count(*) || ' without an answer, of which ' || count(s.n) || ' took effect, all done once; '
	|| (select count(*) from heard where what = 'refused send') || ' refused, of which none took effect'
	from heard h left join sent s using (n) where h.what = 'unknown send'}));
diag(sql(q{select 'completions: ' || (select count(*) from completed) || ' acknowledged; ' || count(*)
	|| ' without an answer, of which ' || count(d.id) || ' took effect; '
	|| (select count(*) from heard where what = 'not done') || ' too late'
	from uncertain u left join done d using (id, attempt)}));
diag(sql(q{select 'claims: ' || count(*) || ' of ' || count(distinct id) || ' jobs' from heard where what = 'popped'}));

done_testing();
