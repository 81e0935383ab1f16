# The end of a storm: the queues are drained, and the accounts are made, in the database.

package Storm::Accounts;

use strict;
use warnings;

use Test::More;
use Time::HiRes qw(sleep time);

use Storm::Schema;

my @managed = qw(jobs kept big mended mortal perishable fleeting various);
my @rows = qw(items audited parts);
my @all = (@managed, @rows, qw(locked held));

# Leases and retries that a step of the clock has put far into the future come back.
sub undo_steps
{
	my ($db) = @_;
	$db->do("update $_ set leased_until = least(leased_until, clock_timestamp() + '2 s'), run_at = least(run_at, clock_timestamp())
		where leased_until > clock_timestamp() + '10 s' or run_at > clock_timestamp() + '10 s'") for @managed, 'recurring', 'unique_jobs', 'other';
	$db->do("update $_ set until = clock_timestamp() where until > clock_timestamp() + '10 s'") for @rows;
	$db->do("update $_ set dead_at = clock_timestamp() where dead_at > clock_timestamp()") for qw(mortal perishable fleeting);
	$db->do('update fleeting_archive set finished_at = clock_timestamp() where finished_at > clock_timestamp()');
	# For how long these have been kept is not known any more.
	$db->do(q{update done set at = null where queue = 'fleeting' and at is not null});
}

# Ends the schedules of a phase. Before that each has one job that is not claimed yet, if the clock has
# gone as it should: one that was lost is sent again when its time has come.
sub end_schedules
{
	my ($db, $phase, $is_checked) = @_;
	my $schedules = "from queue_schedules where queue = 'public.recurring' and name ~ '^$phase '";
	my $deadline = time + 900;
	my $intact = 0;
	while ($is_checked && !$intact && time < $deadline)
	{
		pop_recurring($db);
		$intact = $db->selectrow_array("select count(*) = @{[ @Storm::Schema::rules + 1 ]} $schedules
			and 1 = (select count(*) from recurring as r where r.unique_key = 'schedule|' || name and r.attempt = 0 and r.id = job)
				- (select count(*) from recurring as r where r.unique_key = 'schedule|' || name and r.attempt = 0 and r.id <> job)
				+ (next_run_at > clock_timestamp() and not exists (select from recurring as r where r.id = job))::integer");
		sleep 0.2 unless $intact;
	}
	ok($intact, "$phase: each schedule has one unclaimed job")
	  or diag(join "\n", map { join '|', map { $_ // '' } @$_ } @{ $db->selectall_arrayref("select name, next_run_at, last_claimed_at, job $schedules
			union all select unique_key, run_at, leased_until, id from recurring") })
	  if $is_checked;
	$db->do("select queue_unschedule('recurring', name) $schedules");
}

# Claims what has come again, and completes it.
sub pop_recurring
{
	my ($db) = @_;
	$db->do(q{with j as materialized (select * from queue_pop('recurring', 500)),
			o as (insert into occurred select payload ->> 'n', run_at, id, attempt, -3 from j)
		select queue_complete('recurring', id, attempt) from j});
}

# Claims and completes until nothing is left.
sub drain
{
	my ($db) = @_;
	my $deadline = time + 900;
	my $left;
	$db->do("select queue_resume(q) from unnest('{jobs,items,held}'::text[]) as q");
	# Some became dead by a clock that was ahead.
	$db->do("update $_ set dead_at = clock_timestamp() where dead_at > clock_timestamp()") for qw(mended mortal perishable fleeting);
	$db->do(q{select queue_alter('various', kinds => true)});
	# One that a client makes and ends may have been left.
	$db->do(q{select queue_unschedule(queue, name) from queue_schedules});
	# Its workers find all jobs of a kind.
	do
	{
		take($db, 'various', $_) for '{a,b}', '{c}', '{a,b,c}';
		$left = $db->selectrow_array('select count(*) from various where kind is not null');
		sleep 0.1 if $left;
	} while ($left && time < $deadline);
	is($left, 0, 'various: all jobs that have a kind are drained by workers who name it');
	do
	{
		# Again and again: a repair leaves out what a backend that is ending has locked.
		$db->do("call queue_requeue_where('$_', 'true')") for qw(mended perishable fleeting);
		$db->do("call queue_maintain('$_')") for qw(mortal perishable);
		$db->do(q{with l as (delete from letters returning payload, origin),
				a as (insert into sent_again select payload ->> 't', origin from l)
			select queue_send('mortal', payload) from l});
		take($db, $_, undef) for @managed;
		pop_recurring($db);
		for my $queue (@rows)
		{
			$db->do("with j as materialized (select r from queue_pop_rows(null::$queue, '$queue', 500) as r),
					c as (insert into claimed select '$queue', (r).id, (r).tries, -3 from j)
				insert into done select '$queue', (r).token, (r).id, (r).tries, -3 from j where queue_complete_row('$queue', r)");
		}
		$db->do("with j as materialized (select r from queue_pop_rows(null::$_, '$_', 500) as r)
			insert into done select '$_', (r).token, (r).id, 0, -3 from j where queue_complete_row('$_', r)") for qw(locked held);
		$left = $db->selectrow_array('select ' . join(' + ', map { "(select count(*) from $_)" } @all, qw(letters recurring)));
		sleep 0.1 if $left;
	} while ($left && time < $deadline);
	is($left, 0, 'all queues are drained')
	  or diag(join "\n", map { my $queue = $_; map { "$queue: $_->[0]" } @{ $db->selectall_arrayref("select to_jsonb(r) - 'payload' from $queue as r limit 5") } } @all, 'recurring');
}

# Claims jobs of the kinds, and completes them.
sub take
{
	my ($db, $queue, $kinds) = @_;
	my $given = $queue eq 'fleeting' ? q{, result => jsonb_build_object('t', payload ->> 't', 'a', attempt)} : '';
	$db->do("with j as materialized (select * from queue_pop('$queue', 500, kinds => ?::text[])),
			c as (insert into claimed select '$queue', id, attempt, -3 from j),
			k as (insert into kind_claimed select id, attempt, kind, payload ->> 'k', ?::text[] from j where '$queue' = 'various')
		insert into done select '$queue', payload ->> 't', id, attempt, -3 from j where queue_complete('$queue', id, attempt$given)",
		undef, $kinds, $kinds);
}

# What a storm must have had: rows of the ledgers, and what they say.
my @needed = (
	[ 'result_read where result is not null', 'results were read' ],
	[ 'result_read where state is null', 'results past their keep were read' ],
	[ 'sent_again', 'dead jobs were sent again' ],
	[ 'kind_claimed where cardinality(kinds) = 1', 'jobs of one kind were claimed' ],
	[ 'kind_claimed where cardinality(kinds) > 1', 'jobs of several kinds were claimed' ],
	[ 'kind_claimed where kind is null', 'jobs of no kind were claimed' ],
	[ 'done where client = -5', 'repairs have cancelled jobs' ],
	[ 'done where client = -8', 'jobs have expired' ],
	[ 'done where client = -6', 'dead jobs were archived' ],
	(map { [ "occurred where name ~ ' $_\$' and attempt = 1", "jobs recur by the rule $_" ] } @Storm::Schema::rules),
	(map { [ "done where queue = '$_'", "$_ was used" ] } @all, 'unique_jobs'),
);

# Whether all of that has come.
sub has_needed
{
	my ($db) = @_;
	return $db->selectrow_array('select ' . join ' and ', map { "exists (select from $_->[0])" } @needed);
}

# Jobs past their keep are hidden, and go with queue_maintain; the others are there. A job was done no
# earlier than its ledger says, so these never blame a queue for the time that a statement took.
sub check_keep
{
	my ($db) = @_;
	my $keep = "interval '$Storm::Schema::keep'";
	my $none = sub { my ($sql, $name) = @_; is_none($db, $sql, $name) };
	$none->("done d where queue = 'fleeting' and at > statement_timestamp() - $keep
		and not exists (select from fleeting_archive a where a.id = d.id and a.payload ->> 't' = d.token)", 'removed too early: no job');
	$none->("fleeting_archive a where not exists (select from done d where (d.queue, d.token, d.id) = ('fleeting', a.payload ->> 't', a.id))",
		'fleeting: archived and not done: no job');
	$none->("result_read where state is null and done_at > ended - $keep", 'hidden too early: no result');
	$none->("result_read where finished_at <= began - $keep", 'shown too long: no result');
	$none->("result_read where state is not null and state <> case client when -6 then 'dead' when -7 then 'cancelled' else 'completed' end",
		'wrong state: no job that is done');
	$none->("result_read where state is not null and result is distinct from case when state = 'completed' then jsonb_build_object('t', token, 'a', attempt) end",
		'wrong: no result');
	# The slots are not in use now; VACUUM has one locked for a moment.
	my $left;
	my $deadline = time + 900;
	do
	{
		sleep 1;
		$db->do(q{call queue_maintain('fleeting')});
		$left = $db->selectrow_array('select count(*) from fleeting_archive');
	} while ($left && time < $deadline);
	is($left, 0, 'what is past its keep is removed');
}

# What the clients heard goes into tables. Returns sums of what else they logged.
sub load
{
	my ($db, @files) = @_;
	my (%errors, %faults, %calls, @odd);
	$db->do('create table heard_sent (queue text, token text, outcome text)');
	$db->do('create table heard_claim (phase text, queue text, id bigint, attempt integer)');
	my %rows = (sent => [], claim => []);
	for my $file (@files)
	{
		my ($phase) = $file =~ m{/([a-z]+)\.\d+\.log$};
		open my $in, '<', $file or die "$file: $!";
		while (<$in>)
		{
			chomp;
			my ($what, @words) = split /\t/;
			if ($what eq 'sent') { push @{ $rows{sent} }, join "\t", @words }
			elsif ($what eq 'claim') { push @{ $rows{claim} }, join "\t", $phase, @words }
			elsif ($what eq 'error') { $errors{ $words[0] } += $words[2] }
			elsif ($what eq 'fault') { $faults{ $words[0] } += $words[1] }
			elsif ($what eq 'calls') { $calls{ $words[0] } += $words[1] }
			elsif ($what eq 'odd') { push @odd, join ' ', @words }
		}
	}
	for my $kind (qw(sent claim))
	{
		$db->do("copy heard_$kind from stdin");
		$db->pg_putcopydata("$_\n") for @{ $rows{$kind} };
		$db->pg_putcopyend;
	}
	# After an hour there are millions of rows.
	$db->do('analyze');
	$db->do("set work_mem = '256MB'");
	return (\%errors, \%faults, \%calls, \@odd);
}

sub is_none
{
	my ($db, $sql, $name) = @_;
	is($db->selectrow_array("select count(*) from $sql"), 0, $name)
	  or diag(join "\n", map { join '|', map { $_ // '' } @$_ } @{ $db->selectall_arrayref("select * from $sql limit 10") });
}

sub check
{
	my ($db) = @_;
	my $count = sub { my ($sql) = @_; return $db->selectrow_array("select count(*) from $sql") };
	my $none = sub { my ($sql, $name) = @_; is_none($db, $sql, $name) };

	# An asynchronous standby may lack the last moments.
	my $durable = q{heard_sent h where outcome = 'ack' and token not like 'async.%'};
	$none->("$durable and not exists (select from sent s where (s.queue, s.token) = (h.queue, h.token))", 'lost: no acknowledged job');
	$none->(q{sent s where not exists (select from done d where (d.queue, d.token) = (s.queue, s.token))}, 'lost: no committed job');
	$none->(q{done d where queue <> 'unique_jobs' and not exists (select from sent s where (s.queue, s.token) = (d.queue, d.token))}, 'invented: no job');
	$none->(q{(select queue, token from sent group by 1, 2 having count(*) > 1) as t}, 'sent twice: no job');
	$none->(q{(select queue, token from done where queue <> 'unique_jobs' group by 1, 2 having count(*) > 1) as t}, 'done twice: no job');
	$none->(q{(select queue, id, attempt from claimed group by 1, 2, 3 having count(*) > 1) as t}, 'handed out twice: no claim, by the ledger');
	$none->(q{(select queue, id, attempt from heard_claim where phase <> 'async' group by 1, 2, 3 having count(*) > 1) as t},
		'handed out twice: no claim, by what clients heard');
	$none->(q{heard_claim h where phase <> 'async' and not exists
		(select from claimed c where (c.queue, c.id, c.attempt) = (h.queue, h.id, h.attempt))}, 'lost: no claim that a client heard of');
	$none->(q{done d where queue not in ('unique_jobs', 'locked', 'held') and not (client = -8 and attempt = 0) and not exists
		(select from claimed c where (c.queue, c.id, c.attempt) = (d.queue, d.id, d.attempt))}, 'done without a claim: no job');
	$none->(q{heard_sent h where outcome = 'refused' and exists (select from sent s where (s.queue, s.token) = (h.queue, h.token))},
		'refused and yet there: no job');
	$none->(q{business b where not exists (select from sent s where s.token = b.token)}, 'business rows and jobs are committed together');
	$none->(q{(select key from unique_told where inserted group by key having count(*) > 1) as t}, 'inserted twice: no unique job');
	$none->(q{unique_told t where not inserted and not exists (select from unique_told u where u.key = t.key and u.inserted)},
		'suppressed without a job: no unique job');
	$none->(q{(select at - lag(at) over (partition by resource order by at) as gap from granted where phase <> 'clock') as t
		where gap < interval '100 milliseconds'}, 'granted too soon: no throttle');
	$none->(q{(select task, token from acquired group by 1, 2 having count(*) > 1) as t}, 'acquired twice: no token');
	$none->(q{counter c where value <> (select count(*) from released r where r.task = c.task)}, 'what a mutex protects adds up');
	$none->(q{(select origin -> 'id' as id from sent_again group by 1 having count(*) > 1) as t}, 'moved twice: no dead job');
	$none->(q{perishable_archive a where state = 'expired' and attempt > 0
		and not exists (select from claimed c where (c.queue, c.id, c.attempt) = ('perishable', a.id, a.attempt))}, 'expired and claimed for nothing: no job');
	$none->(q{perishable_archive a where state not in ('completed', 'cancelled', 'expired')}, 'ended in another way: no job of these');
	$none->(q{sent_again a where origin is null or origin ->> 'queue' <> 'public.mortal'
		or not exists (select from claimed c where (c.queue, c.id) = ('mortal', (a.origin ->> 'id')::bigint))}, 'moved and not claimed before: no dead job');
	is($count->('audit'), $count->(q{claimed where queue = 'audited'}), 'each claim of a table with a trigger has fired it once');
	$none->(q{(select payload ->> 't' as token from kept_archive except select token from done where queue = 'kept') as t}, 'archived and not done: no job');
	$none->(q{(select token from done where queue = 'kept' except select payload ->> 't' from kept_archive) as t}, 'done and not archived: no job');
	$none->('kind_claimed where kind is distinct from sent or kinds is not null and kind = any (kinds) is not true', 'of a kind that was not named: no claim');
	# A phase's rules apply to its own schedules; "aside" comes and goes.
	$none->("(select name, planned from occurred where attempt = 1 and name <> 'aside' group by 1, 2 having count(*) > 1) as t", 'claimed twice: no occurrence');
	$none->(q{(select name, planned, planned - lag(planned) over (partition by name order by planned) as gap from occurred
		where attempt = 1 and name ~ ' all$' and name !~ '^clock ') as t where gap <> interval '1 second'}, 'left out: no occurrence that must come');
	$none->(q{(select name, planned, first_value(planned) over (partition by name order by planned) as first from occurred
		where attempt = 1 and name ~ ' (?:once|skip|all)$') as t where mod(extract(epoch from planned - first), 1) <> 0},
		'at a time that nobody has planned: no occurrence');
	cmp_ok($count->($_->[0]), '>', 0, $_->[1]) for @needed;
}

# Nothing of those that are gone may be left in the server.
sub check_left_over
{
	my ($db) = @_;
	# A client that was ended may take a moment.
	my $locks;
	for (1 .. 1200)
	{
		$locks = $db->selectrow_array(q{select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database
			where datname = current_database()) or not granted});
		last if $locks == 0;
		sleep 0.1;
	}
	is($locks, 0, 'no lock and no waiter is left over');
	is($db->selectrow_array('select count(*) from pg_prepared_xacts'), 0, 'no prepared transaction is left over');
	# A ring that waited for somebody who is gone would sweep at each pop. Time has it sweep, too, so the pops must not take long.
	for my $queue (@managed)
	{
		my $pop = "select count(*) from queue_pop('$queue')";
		$db->do($pop) for 1 .. 3;
		my $sweeps = "select coalesce(sum(sweeps), 0) from queue_claim_stats where source = '$queue'::regclass";
		my $swept;
		for (1 .. 60)
		{
			my $began = time;
			my $before = $db->selectrow_array($sweeps);
			$db->do($pop) for 1 .. 50;
			$swept = $db->selectrow_array($sweeps) - $before;
			last if time - $began < 5;
		}
		cmp_ok($swept, '<=', 10, "$queue: nothing is left over in the ring that keeps it from being idle");
	}
}

# The lines of one process before a bad one and after it, oldest first: what led to it.
sub around
{
	my ($lines, $bad) = @_;
	my $near = 40;
	# An assertion that failed tells it in words of its own.
	my ($pid) = map { "[$_]" } $bad =~ /\[(\d+)\]|PID: (\d+)/ ? $1 // $2 : () or return $bad;
	# And what goes on behind a line of it: details, and the stack behind an assertion.
	my $is_own;
	my @own = grep { $is_own = index($_, $pid) >= 0 || $_ eq $bad if /^\d{4}-|^TRAP:/; $is_own } @$lines;
	my ($at) = grep { $own[$_] eq $bad } 0 .. $#own;
	my ($from, $to) = ($at > $near ? $at - $near : 0, $at + $near < $#own ? $at + $near : $#own);
	return join '', @own[ $from .. $to ];
}

# What was counted during a storm ends with the server, and nothing of it comes back.
sub check_statistics
{
	my ($db, $faults) = @_;
	my $counted = $db->selectrow_array('select sum(claimed) from queue_stats');
	cmp_ok($counted, '>', 0, 'claims were counted since the last crash');
	my $ending = $faults->connect;
	my ($pid, $moment) = $ending->selectrow_array('select pg_backend_pid(), clock_timestamp()');
	kill 'KILL', $pid;
	for (1 .. 1200)
	{
		last unless eval { $db->do('select 1') };
		sleep 0.1;
	}
	$faults->wait_until_up;
	my $fresh = $faults->connect;
	is($fresh->selectrow_array('select count(*) from queue_stats where since <= ? or sent > 0 or claimed > 0 or completed > 0 or waits > 0',
		undef, $moment), 0, 'a crash begins the statistics anew');
	for my $queue (@managed)
	{
		$fresh->do("select queue_send_many('$queue', array_fill('{}'::jsonb, '{100}'))");
		$fresh->do("select queue_complete('$queue', id, attempt) from queue_pop('$queue', 100)");
	}
	is($fresh->selectrow_array(q{select string_agg(format('%s %s %s %s', source, sent, claimed, completed), ', ' order by source::text)
			from queue_stats where since > ? and source = any (?::text[]::regclass[])}, undef, $moment, \@managed),
		join(', ', map { "$_ 100 100 100" } sort @managed), 'and says since when they count');
	$fresh->disconnect;
}

# Whether it is PostgreSQL's own, by its stack: a process that commits or aborts waits there for room in the
# checkpointer's queue, which is short with so few buffers, and exits at once if its postmaster was killed.
sub is_exit_of_orphan
{
	my ($lines, $bad) = @_;
	return around($lines, $bad) =~ /\bproc_exit\b.*\bWaitLatch\b.*\bRegisterSyncRequest\b/s;
}

# What the server's log must not have. Every line has the SQLSTATE in brackets.
sub check_log
{
	my ($name, $file, $may_panic) = @_;
	open my $in, '<', $file or die "$file: $!";
	my @lines = <$in>;
	my @bad = grep {
		/TRAP:|terminated by signal (?!9:|15:|3:)|resource was not closed|leak|\[XX\w{3}\]|runtime error|AddressSanitizer/
		  || (/PANIC:/ && !($may_panic && /No space left on device/))
		  || /WARNING:.*(?:queue_ext|cache reference|not closed)/
	} @lines;
	@bad = grep { !(/^TRAP:|PANIC:  cannot abort transaction|BACKTRACE:/ && is_exit_of_orphan(\@lines, $_)) } @bad;
	# A crash of the server while it writes out a page logs signal 6 after PANIC.
	@bad = grep { !/terminated by signal 6/ } @bad if $may_panic;
	is(join('', @bad[ 0 .. ($#bad < 9 ? $#bad : 9) ]), '', "$name: the server's log has no leak, no assertion and no internal error")
	  or diag(around(\@lines, $bad[0]));
}

1;
