# One client of a storm: a process that does one random thing after the other until it is
# told to stop, whatever happens to its connection.
#
# It logs, a line each, what it was told: "sent QUEUE TOKEN ack|refused|unknown",
# "claim QUEUE ID ATTEMPT", and "error SQLSTATE COUNT ACTION" at its end. An outcome is
# unknown if the connection was lost before the reply; refused if the server reported an
# error, for then the transaction was rolled back.

package Storm::Client;

use strict;
use warnings;

use DBI;
use DBD::Pg;
use Time::HiRes qw(sleep time);

use Storm::Schema;

my %form = %Storm::Schema::form;

# What each kind of client does, with weights.
our %habits = (
	sender => { send => 5, send_many => 2, send_with_business => 3, send_rows => 4, send_unique => 3, spoil_send => 1 },
	worker => { pop_apart => 6, pop_at_once => 5, pop_batch => 2, send_again => 2, pop_waiting => 4, pop_next => 3, pop_any => 3, pop_waiting_any => 3, wait => 2, work => 2, pop_rows => 5,
		pop_rows_apart => 3, pop_locked => 3, pop_unique => 1, pop_recurring => 4, read_results => 2, maintain => 1, repair => 1 },
	holder => { pop_held => 5, pop_rows_apart => 1, send_rows => 1 },
	locker => { throttle => 4, mutex => 4 },
	keeper => { repair => 3, maintain => 4, scratch => 3, side => 2, alter => 2, upgrade => 1, pause => 1, add_column => 1, truncate_other => 1,
		schedule => 3, lose_occurrences => 2, change_kind => 3, rebuild_kinds => 1, expire => 2 },
);

sub new
{
	my ($class, %self) = @_;
	my $self = bless {%self}, $class;
	open $self->{log}, '>', $self->{log_file} or die "$self->{log_file}: $!";
	$self->{log}->autoflush(1);
	srand($self->{seed} * 1000 + $self->{number});
	$self->{next} = 0;
	return $self;
}

sub say_to_log
{
	my ($self, @words) = @_;
	print { $self->{log} } join("\t", @words), "\n";
}

sub pick
{
	my (@choices) = @_;
	return $choices[ int rand @choices ];
}

sub pick_habit
{
	my ($habits) = @_;
	my @all = map { ($_) x $habits->{$_} } sort keys %$habits;
	return pick(@all);
}

sub token
{
	my ($self) = @_;
	return "$self->{phase}.$self->{number}." . ++$self->{next};
}

sub connect
{
	my ($self) = @_;
	my $direct = do { open my $in, '<', $self->{target_file} or die $!; local $/; <$in> };
	my $target = $self->{kind} ne 'holder' && $self->{pooled} && rand() < 0.3 ? $self->{pooled} : $direct;
	$self->{db} = DBI->connect("dbi:Pg:$target", $self->{user}, '',
		{ RaiseError => 1, PrintError => 0, AutoCommit => 1, pg_server_prepare => ($target eq $direct ? 1 : 0) });
	$self->{db}->do(q{set client_min_messages = error});
	# Of some, definitions come and go.
	$self->{db}->do(q{set queue_ext.definition_cache_size = '64kB'}) if rand() < 0.3;
	$self->{is_pooled} = $target ne $direct;
}

# Does the SQL, in a transaction of its own if it is many; returns the rows of the last.
sub do_all
{
	my ($self, $level, @statements) = @_;
	my $db = $self->{db};
	my $rows;
	$db->begin_work;
	$db->do("set transaction isolation level $level") if $level;
	for my $statement (@statements)
	{
		my ($sql, @values) = @$statement;
		$rows = $self->rows($sql, @values);
	}
	$db->commit;
	return $rows;
}

sub rows
{
	my ($self, $sql, @values) = @_;
	my $statement = $self->{db}->prepare($sql);
	$statement->execute(@values);
	return $statement->{NUM_OF_FIELDS} ? $statement->fetchall_arrayref : [];
}

# What an error says of the transaction that it ended.
sub outcome
{
	my ($self) = @_;
	my $state = $self->{db} ? $self->{db}->state : '08006';
	return 'unknown' if !$self->{db} || !$self->{db}->ping || $state =~ /^(?:57P0|08|S8|00|$)/;
	return 'refused';
}

# Runs the code that sends these tokens, and logs what was heard.
sub sending
{
	my ($self, $queue, $tokens, $code) = @_;
	my $is_sent = eval { $code->(); 1 };
	my $error = $@;
	my $outcome = $is_sent ? 'ack' : $self->outcome;
	$self->say_to_log('sent', $queue, $_, $outcome) for @$tokens;
	die $error unless $is_sent;
}

my %action;

# Of one queue jobs have kinds, and workers name some of them; the payload says the kind, too.
sub a_kind
{
	my ($queue) = @_;
	return $queue eq 'various' ? pick(qw(a a b c), undef) : undef;
}

sub some_kinds
{
	my ($queue) = @_;
	return $queue eq 'various' ? pick('{a}', '{b}', '{c}', '{c,a}', '{a,b,c}', undef) : undef;
}

# How long a worker may take to start a job; null: for ever.
sub an_expiry { return $_[0] eq 'perishable' ? pick(undef, '1 ms', '50 ms', '500 ms', '1 hour') : undef }

# Sending

$action{send} = sub {
	my ($self) = @_;
	my ($queue, $token) = (pick(qw(jobs jobs kept big mended mortal perishable perishable fleeting fleeting various various)), $self->token);
	$self->sending($queue, [$token], sub {
		$self->rows(q{with s as materialized (select queue_send($1, jsonb_build_object('t', $2::text, 'k', $5::text),
				priority => $3, run_at => now() + $4::integer * interval '100 ms', kind => $5, expires_in => $6::interval) as id)
			insert into sent select $1, $2 from s returning 1}, $queue, $token, pick(0, 0, 0, 1, -1), pick(0, 0, 0, 0, 1, 5), a_kind($queue), an_expiry($queue));
	});
};

$action{send_many} = sub {
	my ($self) = @_;
	my ($queue, @tokens) = (pick(qw(jobs kept big mended mended mortal perishable fleeting various)), map { $self->token } 1 .. 1 + int rand 40);
	$self->sending($queue, \@tokens, sub {
		$self->do_all('',
			[ q{insert into sent select $1, t from unnest($2::text[]) as t}, $queue, \@tokens ],
			[ q{select count(*) from queue_send_many($1, (select array_agg(jsonb_build_object('t', t, 'k', $3::text)) from unnest($2::text[]) as t),
				kind => $3, expires_in => $4::interval)}, $queue, \@tokens, a_kind($queue), an_expiry($queue) ]);
	});
};

$action{send_with_business} = sub {
	my ($self) = @_;
	my ($queue, $token) = (pick(qw(jobs kept)), $self->token);
	$self->sending($queue, [$token], sub {
		$self->do_all(pick('', 'repeatable read', 'serializable'),
			[ q{insert into business values ($1)}, $token ],
			[ q{insert into sent values ($1, $2)}, $queue, $token ],
			[ q{select queue_send($1, jsonb_build_object('t', $2::text))}, $queue, $token ]);
	});
};

# A savepoint is rolled back in the middle: what was sent in it is not there.
$action{spoil_send} = sub {
	my ($self) = @_;
	my ($token, $spoiled) = ($self->token, $self->token);
	my $db = $self->{db};
	$self->say_to_log('sent', 'jobs', $spoiled, 'refused');
	$self->sending('jobs', [$token], sub {
		$db->begin_work;
		$db->do('savepoint s');
		$self->rows(q{select queue_send('jobs', jsonb_build_object('t', $1::text))}, $spoiled);
		$self->rows(q{insert into claimed select 'jobs', id, attempt, -1 from queue_pop('jobs', 3) returning 1}) if rand() < 0.5;
		$db->do('rollback to s');
		$self->rows(q{select queue_send('jobs', jsonb_build_object('t', $1::text))}, $token);
		$db->do(q{insert into sent values ('jobs', $1)}, undef, $token);
		$db->commit;
	});
};

$action{send_rows} = sub {
	my ($self) = @_;
	my $queue = pick(qw(items items audited parts locked held));
	my @tokens = map { $self->token } 1 .. 1 + int rand 5;
	my $more = $queue eq 'parts' ? ', part' : '';
	my $value = $queue eq 'parts' ? ', ' . int rand 3 : '';
	$self->sending($queue, \@tokens, sub {
		$self->do_all('',
			[ q{insert into sent select $1, t from unnest($2::text[]) as t}, $queue, \@tokens ],
			[ "insert into $queue (token$more) select t$value from unnest(\$1::text[]) as t returning 1", \@tokens ]);
	});
};

$action{send_unique} = sub {
	my ($self) = @_;
	my $key = 'key ' . int rand $self->{keys};
	if (rand() < 0.7)
	{
		$self->do_all(pick('', 'repeatable read', 'serializable'), [ q{with u as materialized (select * from queue_unique_insert('unique_jobs',
				jsonb_build_object('t', $1::text), states => '{ready,scheduled,leased,dead,done}'))
			insert into unique_told select $1, id, inserted from u returning 1}, $key ]);
		return;
	}
	my %keys = map { ('key ' . int rand $self->{keys}, 1) } 1 .. 5;
	$self->do_all('', [ q{with u as materialized (select k, (row_number() over ()) as n from unnest($1::text[]) as k),
			r as materialized (select * from queue_unique_insert_many('unique_jobs',
				(select array_agg(jsonb_build_object('t', k) order by n) from u),
				states => '{ready,scheduled,leased,dead,done}') with ordinality as r(id, inserted, outcome, n))
		insert into unique_told select u.k, r.id, r.inserted from u join r using (n) returning 1}, [ sort keys %keys ] ]);
};

# Claiming

my $pop = q{with j as materialized (select * from queue_pop($1, $2, $3::interval, 'client ' || $4, kinds => $5::text[])),
	c as (insert into claimed select $1, id, attempt, $4::integer from j),
	k as (insert into kind_claimed select id, attempt, kind, payload ->> 'k', $5::text[] from j where $1 = 'various')};
# The result, where the queue keeps one, is what the ledger says of the job.
my $result = q{case when $1 = 'fleeting' then jsonb_build_object('t', $2::text, 'a', $4::integer) end};
my $done = qq{insert into done select \$1, \$2, \$3::bigint, \$4::integer, \$5 where queue_complete(\$1, \$3::bigint, \$4::integer, $result) returning 1};

# Those of these whose tables are not of 0.1.
my %is_of_new_layout = map { $_ => 1 } qw(mended mortal perishable fleeting);

# The ways in which work ends: in time, too late, badly, or never.
sub finish
{
	my ($self, $queue, $id, $attempt, $token) = @_;
	my $way = pick(qw(complete complete complete complete late extend fail release abandon cancel));
	if ($way eq 'extend')
	{
		$self->rows('select queue_extend($1, $2, $3, progress => $4::jsonb)', $queue, $id, $attempt,
			$is_of_new_layout{$queue} ? $attempt : undef);
		$way = 'complete';
	}
	sleep 2.2 if $way eq 'late' && rand() < 0.2;
	if ($way eq 'complete' || $way eq 'late')
	{
		$self->rows($done, $queue, $token, $id, $attempt, $self->{number});
	}
	elsif ($way eq 'fail')
	{
		$self->rows('select queue_fail($1, $2, $3, $4, retry => $5)', $queue, $id, $attempt, 'so it goes',
			$is_of_new_layout{$queue} ? pick(1, 1, 0) : 1);
	}
	elsif ($way eq 'release')
	{
		$self->rows('select queue_release($1, $2, $3)', $queue, $id, $attempt);
	}
	elsif ($way eq 'cancel')
	{
		# To the accounts a job that was cancelled is one that is done.
		$self->rows(q{insert into done select $1, $2, $3, $4, -7 where queue_cancel($1, $3, $4) returning 1}, $queue, $token, $id, $attempt);
	}
}

sub pop_some
{
	my ($self, $queue) = @_;
	my $jobs = $self->rows("$pop select id, attempt, payload ->> 't' from j", $queue, pick(1, 1, 1, 5), pick('2 s', '2 s', '1 ms'),
		$self->{number}, some_kinds($queue));
	$self->say_to_log('claim', $queue, @$_[ 0, 1 ]) for @$jobs;
	$self->finish($queue, @$_) for @$jobs;
}

$action{pop_apart} = sub {
	my ($self) = @_;
	$self->pop_some(pick(qw(jobs jobs kept big mended mortal perishable fleeting fleeting various various)));
};

# A job that is claimed after a wait goes into the ledger in the transaction of the claim.
$action{pop_waiting} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs jobs kept big mended mortal perishable various various));
	my $job = $self->rows('call pop_waiting($1::text, $2::interval, $3::interval, $4::integer, $5::text[], null, null, null)', $queue,
		pick('0', '20 ms', '1 s'), pick('2 s', '2 s', '1 ms'), $self->{number}, some_kinds($queue))->[0];
	return unless defined $job->[0];
	$self->say_to_log('claim', $queue, @$job[ 0, 1 ]);
	$self->finish($queue, @$job);
};

# Each end of a job claims the next one.
$action{pop_next} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs kept big mortal perishable fleeting various various));
	my ($id, $attempt, $token);
	for (1 .. 2 + int rand 4)
	{
		my $job = $self->rows(qq{with p as materialized (select * from queue_complete_pop(\$1, \$3::bigint, \$4::integer, '2 s', kinds => \$6::text[],
					result => case when \$3 is not null then $result end)),
				d as (insert into done select \$1, \$2, \$3, \$4, \$5::integer from p where completed),
				c as (insert into claimed select \$1, id, attempt, \$5 from p where id is not null),
				k as (insert into kind_claimed select id, attempt, kind, payload ->> 'k', \$6 from p where id is not null and \$1 = 'various')
			select id, attempt, payload ->> 't' from p}, $queue, $token, $id, $attempt, $self->{number}, some_kinds($queue))->[0];
		($id, $attempt, $token) = @$job;
		return unless defined $id;
		$self->say_to_log('claim', $queue, $id, $attempt);
	}
	$self->finish($queue, $id, $attempt, $token);
};

$action{pop_any} = sub {
	my ($self) = @_;
	my @queues = map { pick(qw(jobs kept big mended mortal perishable fleeting)) } 1 .. pick(1, 2, 3);
	my $jobs = $self->rows(q{with j as materialized (select * from queue_pop_any($1::text[], $2, '2 s', 'client ' || $3, weights => $4::integer[])),
			c as (insert into claimed select queue, id, attempt, $3::integer from j)
		select queue, id, attempt, payload ->> 't' from j}, \@queues, pick(1, 3), $self->{number}, pick(undef, [ map { pick(1, 9) } @queues ]));
	for my $job (@$jobs)
	{
		$self->say_to_log('claim', @$job[ 0 .. 2 ]);
		$self->finish(@$job);
	}
};

$action{pop_waiting_any} = sub {
	my ($self) = @_;
	my @queues = map { pick(qw(jobs kept big mended mortal perishable fleeting)) } 1 .. pick(1, 2, 3);
	my $job = $self->rows('call pop_waiting_any($1::text[], $2::interval, $3::interval, $4::integer, $5::integer[], null, null, null, null)', \@queues,
		pick('0', '20 ms', '1 s'), pick('2 s', '2 s', '1 ms'), $self->{number}, pick(undef, [ map { pick(1, 9) } @queues ]))->[0];
	return unless defined $job->[0];
	$self->say_to_log('claim', @$job[ 0 .. 2 ]);
	$self->finish(@$job);
};

$action{wait} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs kept various recurring items audited parts held));
	my $db = $self->{db};
	my $is_block = rand() < 0.3;
	$db->begin_work if $is_block;
	$self->rows('call queue_wait($1::text, $2::interval, $3::text[])', $queue, pick('0', '20 ms', '500 ms'), some_kinds($queue));
	$db->commit if $is_block;
	$self->pop_some($queue) if ($form{$queue} // '') eq 'managed';
};

$action{pop_at_once} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs kept big mended mortal perishable fleeting various));
	my $db = $self->{db};
	$db->begin_work;
	my $level = pick('', '', 'repeatable read', 'serializable');
	$db->do("set transaction isolation level $level") if $level;
	my $jobs = $self->rows("$pop select id, attempt, payload ->> 't' from j", $queue, pick(1, 3), '2 s', $self->{number}, some_kinds($queue));
	for my $job (@$jobs)
	{
		my ($id, $attempt, $token) = @$job;
		$self->rows($done, $queue, $token, $id, $attempt, $self->{number});
	}
	rand() < 0.3 ? $db->rollback : $db->commit;
};

# What has died comes again, under the same name.
$action{send_again} = sub {
	my ($self) = @_;
	$self->rows(q{call queue_maintain('mortal')}) if rand() < 0.2;
	$self->rows(q{with l as (delete from letters where id in (select id from letters order by id limit 20 for update skip locked)
				returning payload, origin),
			a as (insert into sent_again select payload ->> 't', origin from l)
		select queue_send('mortal', payload) from l});
};

$action{pop_batch} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs kept fleeting various));
	$self->do_all('', [ qq{$pop, d as materialized (select id from queue_complete_many(\$1,
			(select coalesce(array_agg(id order by id desc), '{}') from j), (select coalesce(array_agg(attempt order by id desc), '{}') from j),
			case when \$1 = 'fleeting' then (select coalesce(array_agg(jsonb_build_object('t', payload ->> 't', 'a', attempt) order by id desc), '{}') from j) end)
				as d(id))
		insert into done select \$1, j.payload ->> 't', j.id, j.attempt, \$4::integer from d join j using (id) returning 1},
		$queue, pick(10, 100), '2 s', $self->{number}, some_kinds($queue) ]);
};

$action{work} = sub {
	my ($self) = @_;
	$self->rows('select work($1, $2, $3, $4)', $self->{number}, pick(qw(jobs kept)), 1 + int(rand 5), int rand 4);
};

$action{pop_rows} = sub {
	my ($self) = @_;
	my $queue = pick(qw(items audited parts));
	$self->do_all(pick('', '', 'repeatable read'), [ qq{with j as materialized (select r from queue_pop_rows(null::$queue, \$1, \$2::integer) as r),
			c as (insert into claimed select \$1, (r).id, (r).tries, \$3::integer from j)
		insert into done select \$1, (r).token, (r).id, (r).tries, \$3::integer from j where queue_complete_row(\$1, r) returning 1},
		$queue, pick(1, 1, 4), $self->{number} ]);
};

$action{pop_rows_apart} = sub {
	my ($self) = @_;
	my $queue = pick(qw(items audited parts));
	my $jobs = $self->rows(qq{with j as materialized (select r from queue_pop_rows(null::$queue, \$1, \$2::integer) as r),
			c as (insert into claimed select \$1, (r).id, (r).tries, \$3::integer from j)
		select (r).id, (r).tries, r::text, (r).token, queue_receipt(\$1, r) from j}, $queue, pick(1, 3), $self->{number});
	for my $job (@$jobs)
	{
		my ($id, $tries, $row, $token, $receipt) = @$job;
		$self->say_to_log('claim', $queue, $id, $tries);
		my $way = pick(qw(complete complete complete late release fail abandon extend));
		sleep 2.2 if $way eq 'late' && rand() < 0.2;
		# By the row as text, or by its receipt.
		my ($form, $type, $named) = rand() < 0.5 ? ('row', "::$queue", $row) : ('receipt', '', $receipt);
		$self->rows("select queue_extend_$form(\$1, \$2$type)", $queue, $named) if $way eq 'extend';
		$self->rows("select queue_release_$form(\$1, \$2$type)", $queue, $named) if $way eq 'release';
		$self->rows("select queue_fail_$form(\$1, \$2$type, 'no')", $queue, $named) if $way eq 'fail';
		$self->rows("insert into done select \$1, \$3, \$4, \$5, \$6 where queue_complete_$form(\$1, \$2$type) returning 1",
			$queue, $named, $token, $id, $tries, $self->{number}) if $way eq 'complete' || $way eq 'late';
	}
};

$action{pop_locked} = sub {
	my ($self) = @_;
	my $db = $self->{db};
	$db->begin_work;
	my $jobs = $self->rows(q{select r::text, (r).token, (r).id from queue_pop_rows(null::locked, 'locked', $1::integer) as r}, pick(1, 2));
	sleep rand 0.05;
	for my $job (@$jobs)
	{
		next if rand() < 0.2;
		my ($row, $token, $id) = @$job;
		$self->rows(q{insert into done select 'locked', $2, $3, 0, $4 where queue_complete_row('locked', $1::locked) returning 1},
			$row, $token, $id, $self->{number});
	}
	rand() < 0.3 ? $db->rollback : $db->commit;
};

$action{pop_held} = sub {
	my ($self) = @_;
	my $jobs = $self->rows(q{select r::text, (r).token, (r).id from queue_pop_rows(null::held, 'held', $1::integer) as r}, pick(1, 1, 3));
	for my $job (@$jobs)
	{
		my ($row, $token, $id) = @$job;
		my $way = pick(qw(complete complete complete complete release));
		$self->rows(q{select queue_release_row('held', $1::held)}, $row) if $way eq 'release';
		$self->rows(q{insert into done select 'held', $2, $3, 0, $4 where queue_complete_row('held', $1::held) returning 1},
			$row, $token, $id, $self->{number}) if $way eq 'complete';
	}
	$self->{db}->do('discard all') if rand() < 0.05;
};

$action{pop_unique} = sub {
	my ($self) = @_;
	$self->rows(q{with j as materialized (select * from queue_pop('unique_jobs', 5))
		insert into done select 'unique_jobs', payload ->> 't', id, attempt, $1 from j
		where queue_complete('unique_jobs', id, attempt) returning 1}, $self->{number});
};

# An occurrence goes into the ledger in the transaction that claims it, and sends the next one.
$action{pop_recurring} = sub {
	my ($self) = @_;
	my $db = $self->{db};
	$self->rows(q{call queue_wait('recurring', $1::interval)}, pick('0', '20 ms', '1 s')) if rand() < 0.5;
	$db->begin_work;
	my $jobs = $self->rows(q{with j as materialized (select * from queue_pop('recurring', $1::integer)),
			o as (insert into occurred select payload ->> 'n', run_at, id, attempt, $2::integer from j)
		select id, attempt from j}, pick(1, 1, 3), $self->{number});
	for my $job (@$jobs)
	{
		my $way = pick(qw(complete complete complete fail release abandon));
		$self->rows("select queue_$way('recurring', \$1, \$2)", @$job) if $way ne 'abandon';
	}
	rand() < 0.2 ? $db->rollback : $db->commit;
};

# What the ledger says that it was done must be found, or be past its keep: where the clock does not step, they
# can be compared.
$action{read_results} = sub {
	my ($self) = @_;
	return if $self->{phase} eq 'clock';
	$self->rows(q{insert into result_read select d.id, d.attempt, d.token, d.client, d.at, r.state, r.finished_at, r.result, statement_timestamp(), clock_timestamp()
		from (select * from done where queue = 'fleeting' and at > statement_timestamp() - $1::interval order by at limit 10) as d
			cross join lateral queue_result('fleeting', d.id) as r returning 1}, pick('1 s', '5 s', '6 s', '8 s'));
};

$action{maintain} = sub {
	my ($self) = @_;
	$self->rows(pick(q{call queue_maintain('fleeting')}, q{call queue_maintain('fleeting')}, 'call queue_maintain()'));
};

# Of two queues jobs become dead: one's are requeued or cancelled, the other's are archived when they have been so for
# too long. Only jobs that somebody has claimed, as the accounts ask for the claim of each done job.
$action{expire} = sub {
	my ($self) = @_;
	$self->rows(q{update fleeting set dead_at = clock_timestamp() where id in (select id from fleeting where attempt > 0 and leased_until is null and dead_at is null
		limit 5 for update skip locked)});
	$self->rows(q{call queue_requeue_where('fleeting', 'id % 2 = 0')}) if rand() < 0.3;
};

# A schedule's job changes, not its times; another one comes and goes.
$action{schedule} = sub {
	my ($self) = @_;
	my $name = "$self->{phase} " . pick(@Storm::Schema::rules);
	if (rand() < 0.5)
	{
		$self->rows(q{select queue_schedule('recurring', $1, '1 second', missed => $2, payload => jsonb_build_object('n', $1::text, 'm', $3::integer), priority => $3)},
			$name, $name =~ s/.* //r, int rand 3);
		return;
	}
	my $db = $self->{db};
	$db->begin_work;
	$self->rows(q{select queue_schedule('recurring', 'aside', '1 second', starts_at => now() - $1::integer * interval '1 s', payload => '{"n": "aside"}')}, int rand 5);
	$self->rows(q{select queue_unschedule('recurring', 'aside')}) if rand() < 0.5;
	rand() < 0.2 ? $db->rollback : $db->commit;
};

# Chains are cut, and mend themselves. By the rule "all" a cancelled occurrence would be missed.
$action{lose_occurrences} = sub {
	my ($self) = @_;
	my $way = pick(qw(delete delete truncate cancel unschedule));
	$self->{db}->do('delete from recurring where attempt = 0 and id % 3 = ?', undef, int rand 3) if $way eq 'delete';
	$self->{db}->do('truncate recurring') if $way eq 'truncate';
	$self->rows(q{select queue_cancel('recurring', job) from queue_schedules where name = $1}, "$self->{phase} " . pick('once', 'skip')) if $way eq 'cancel';
	$self->rows(q{select queue_unschedule('recurring', 'aside')}) if $way eq 'unschedule';
};

$action{change_kind} = sub {
	my ($self) = @_;
	$self->rows(q{update various set kind = $1, payload = payload || jsonb_build_object('k', $1::text) where id in (select id from various
		where id % 10 = $2::integer and leased_until is null limit 20 for update skip locked)}, a_kind('various'), int rand 10);
};

# For a moment no worker can name kinds.
$action{rebuild_kinds} = sub {
	my ($self) = @_;
	my $db = $self->{db};
	my $is_block = rand() < 0.5;
	$db->begin_work if $is_block;
	$self->rows(q{select queue_alter('various', kinds => false)});
	$self->rows(q{select queue_alter('various', kinds => true)});
	$db->commit if $is_block;
};

# Bulk repairs, and what they are for. Only jobs that somebody has claimed are cancelled, as the accounts ask
# for the claim of each done job.
$action{repair} = sub {
	my ($self) = @_;
	my $part = '(id + arguments::integer) % 3 = 0';
	my ($n, $batch) = (int rand 3, pick(1, 10, 1000));
	my $way = pick(qw(die die requeue requeue change run_at cancel cancel));
	if ($way eq 'die')
	{
		$self->rows(q{update mended set dead_at = clock_timestamp() where leased_until is null and dead_at is null and id % 4 = $1::integer}, int rand 4);
	}
	elsif ($way eq 'requeue')
	{
		$self->rows("call queue_requeue_where('mended', \$1, to_jsonb(\$2::integer), \$3::integer)", pick('true', $part), $n, $batch);
	}
	elsif ($way eq 'cancel')
	{
		$self->rows("call queue_cancel_where('mended', \$1, to_jsonb(\$2::integer), \$3::integer)", pick("state = 'leased' and ", '') . "attempt > 0 and $part", $n, $batch);
	}
	else
	{
		my ($priority, $run_at) = $way eq 'change' ? (int(rand 5), undef) : (undef, pick('200 ms', '-1 s'));
		$self->rows("call queue_change_where(\$1::text, \$2, to_jsonb(\$3::integer), \$4::integer, clock_timestamp() + \$5::interval, \$6::integer)",
			pick(qw(mended mended jobs kept fleeting various)), pick('true', $part, "state in ('ready', 'scheduled')"), $n, $priority, $run_at, $batch);
	}
};

# It may say nothing, where the time is over.
$action{wait_done} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs kept fleeting));
	my $id = $self->rows("select coalesce(max(id), 1) - (random() * 20)::integer from $queue")->[0][0];
	$self->rows("call queue_wait_done('$queue', $id, " . pick("'0'", "'20 ms'", "'300 ms'") . ')');
};

# Throttles and locks

$action{throttle} = sub {
	my ($self) = @_;
	my $resource = 'resource ' . int rand 3;
	my $db = $self->{db};
	$db->begin_work;
	my $is_granted = $self->rows(pick(q{select lock_throttled_resource($1, 'storm')}, q{select acquired from throttle_acquire($1, 'storm')}), $resource)->[0][0];
	$self->rows(q{insert into granted select $1, last_locked, $2 from throttled_resource where resource = $1 returning 1},
		$resource, $self->{phase}) if $is_granted;
	rand() < 0.2 ? $db->rollback : $db->commit;
};

# The counter is read in one transaction and written in another one: only the lock makes
# that add up.
$action{mutex} = sub {
	my ($self) = @_;
	my $task = 'task ' . int rand 4;
	my $got = $self->rows(q{with a as materialized (select * from mutex_acquire_fenced($1)),
			l as (insert into acquired select $1, token, $2::integer from a where acquired)
		select token from a where acquired}, $task, $self->{number})->[0];
	$self->release($task, $got->[0]) if $got;
};

sub release
{
	my ($self, $task, $token) = @_;
	my $value = $self->rows(q{select value from counter where task = $1}, $task)->[0][0];
	sleep rand 0.01;
	$self->rows(q{with r as materialized (select mutex_release($1, $2) as is_released),
			l as (insert into released select $1, $2::bigint from r where is_released)
		update counter set value = $3::bigint + 1 from r where task = $1 and is_released returning 1}, $task, $token, $value);
}

# Gives back what an earlier connection of this client had acquired, whether it heard of
# that or not.
sub pay
{
	my ($self) = @_;
	$self->release(@$_) for @{ $self->rows(q{select task, token from acquired as a where client = $1
		and not exists (select from released as r where (r.task, r.token) = (a.task, a.token))}, $self->{number}) };
	$self->{is_in_debt} = 0;
}

# Definitions

$action{scratch} = sub {
	my ($self) = @_;
	my $queue = 'scratch_' . int rand 6;
	my $db = $self->{db};
	$db->begin_work;
	$self->rows('select queue_create($1)', $queue) unless $self->rows('select to_regclass($1)', $queue)->[0][0];
	$self->rows(q{select queue_send($1, '1')}, $queue);
	$self->rows('select queue_complete($1, id, attempt) from queue_pop($1)', $queue);
	$self->rows('select queue_drop($1)', $queue) if rand() < 0.5;
	rand() < 0.2 ? $db->rollback : $db->commit;
};

# A table that is attached, used and detached, and at times altered under its users.
$action{side} = sub {
	my ($self) = @_;
	my $db = $self->{db};
	$db->begin_work;
	$db->do('create table if not exists side (id bigint generated always as identity primary key, done boolean not null default false)');
	$self->rows(q{select queue_detach('side', true)});
	$self->rows(q{select queue_attach('side', 'side', 'not done', order_by => 'id', on_claim => 'done = true', wake => $1)}, pick('t', 'f'));
	$db->do('insert into side select from generate_series(1, 3)');
	$db->commit;
	$self->rows(q{select id from queue_pop_rows(null::side, 'side', 2)});
	$db->do(pick('alter table side add column extra text', 'alter table side drop column extra', 'drop table side'));
};

$action{alter} = sub {
	my ($self) = @_;
	$self->rows('select queue_alter($1, backoff_cap => $2::interval)', pick(qw(jobs kept other fleeting various recurring)), pick('100 ms', '200 ms'));
};

$action{upgrade} = sub {
	my ($self) = @_;
	$self->rows('select queue_upgrade($1)', pick(qw(jobs kept other), undef));
};

$action{pause} = sub {
	my ($self) = @_;
	my $queue = pick(qw(jobs items held));
	$self->rows('select queue_pause($1)', $queue);
	sleep 0.05;
	$self->rows('select queue_resume($1)', $queue);
};

$action{add_column} = sub {
	my ($self) = @_;
	my $table = pick(qw(items jobs audited various recurring));
	$self->{db}->do("set lock_timeout = '200ms'");
	$self->{db}->do(rand() < 0.5 ? "alter table $table add column if not exists extra integer default 7"
		: "alter table $table drop column if exists extra");
};

$action{truncate_other} = sub {
	my ($self) = @_;
	$self->rows(q{select count(*) from queue_send_many('other', array['1', '2', '3']::jsonb[])});
	$self->rows(q{select count(*) from queue_pop('other', 2)});
	$self->{db}->do('truncate other');
};

# Before an action: at times limits that are too tight for anything.
sub tighten
{
	my ($self) = @_;
	return if $self->{is_pooled};
	if ($self->{faults}{timeouts} && rand() < 0.05)
	{
		my $setting = pick(qw(statement_timeout lock_timeout));
		$self->{db}->do("set $setting = " . (1 + int rand 5));
		$self->{counts}{$setting}++;
		$self->{is_tight} = 1;
	}
}

sub loosen
{
	my ($self) = @_;
	$self->{db}->do('reset statement_timeout');
	$self->{db}->do('reset lock_timeout');
	$self->{is_tight} = 0;
}

# Runs until the file that says stop is there, or the storm has ended without one.
sub run
{
	my ($self) = @_;
	my $habits = $habits{ $self->{kind} };
	my %errors;
	my $calls = 0;
	my $storm = getppid;
	until (-e $self->{stop_file} || getppid != $storm)
	{
		my $name = pick_habit($habits);
		eval {
			$self->connect unless $self->{db};
			$self->pay if $self->{is_in_debt};
			$self->tighten;
			$action{$name}->($self);
			$self->loosen if $self->{is_tight};
			$calls++;
			# Who sends is not to leave all others behind.
			sleep rand 0.04 if $self->{kind} eq 'sender';
			1;
		} or do {
			my $error = $@;
			$self->{is_in_debt} = $self->{kind} eq 'locker';
			my $state = $self->{db} ? $self->{db}->state || '08006' : '08001';
			$errors{"$state\t$name"}++;
			$self->say_to_log('odd', $state, $name, $error =~ s/\s+/ /gr)
			  if $state =~ /^XX|^58(?!030)/ || $error =~ /Perl|Can't locate|undefined/i;
			eval { $self->{db}->rollback unless $self->{db}->{AutoCommit} };
			unless ($self->{db} && eval { $self->{db}->ping > 0 && ($self->loosen, 1) })
			{
				eval { $self->{db}->disconnect } if $self->{db};
				$self->{db} = undef;
				sleep 0.05 + rand 0.2;
			}
		};
	}
	# The locks are given back when the server is well again.
	for (1 .. 1200)
	{
		last unless $self->{kind} eq 'locker';
		last if eval { $self->connect unless $self->{db}; $self->pay; 1 };
		$self->{db} = undef;
		sleep 0.1;
	}
	$self->say_to_log('error', $_, $errors{$_}) for sort keys %errors;
	$self->say_to_log('fault', $_, $self->{counts}{$_}) for sort keys %{ $self->{counts} || {} };
	$self->say_to_log('calls', $self->{kind}, $calls);
	close $self->{log};
}

1;
