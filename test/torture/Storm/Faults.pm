# The faults of a storm. Each does one harm to the server, or to its clients, and puts right
# what must be right for the storm to go on; the storm counts them by name.

package Storm::Faults;

use strict;
use warnings;

use DBD::Pg qw(:async);
use DBI;
use POSIX ();
use PostgreSQL::Test::Utils qw(system_log);
use Time::HiRes qw(sleep time);

# By name: how often it comes, in comparison with the others, and what it does.
our %fault = (
	terminate => [ 12, sub { $_[0]->signal_backend('pg_terminate_backend') } ],
	cancel => [ 12, sub { $_[0]->signal_backend('pg_cancel_backend') } ],
	timeouts => [ 0, sub { } ], # the clients do that themselves
	kill => [ 2, \&kill_backend ],
	postmaster => [ 1, \&kill_postmaster ],
	immediate => [ 1, sub { $_[0]->restart('immediate') } ],
	snapshot => [ 3, \&hold_snapshot ],
	prepared => [ 6, \&prepare ],
	rewrite => [ 3, sub { $_[0]->ddl(pick('vacuum full jobs', 'vacuum full items', 'cluster audited using audited_pkey', 'vacuum full held',
				'vacuum full various', 'vacuum full fleeting', 'vacuum full fleeting_archive', 'vacuum full recurring')) } ],
	reindex => [ 2, \&reindex ],
	vacuum => [ 3, sub { $_[0]->ddl(pick('vacuum jobs', 'vacuum items', 'vacuum (analyze) kept', 'vacuum audited', 'vacuum various',
				'vacuum (analyze) fleeting, fleeting_archive', 'vacuum recurring')) } ],
	truncate => [ 2, sub { $_[0]->ddl(pick('truncate other', 'truncate recurring')) } ],
	partition => [ 2, \&move_partition ],
	locktable => [ 1, \&fill_lock_table ],
	connections => [ 1, \&exhaust_connections ],
	nodsm => [ 1, \&forbid_shared_memory ],
	heapfull => [ 1, sub { $_[0]->fill_disk('small') } ],
	walfull => [ 1, sub { $_[0]->fill_disk('wal') } ],
	pooler => [ 2, sub { $_[0]->restart_pooler } ],
	waiters => [ 6, \&lose_waiters ],
);

sub pick
{
	my (@choices) = @_;
	return $choices[ int rand @choices ];
}

sub new
{
	my ($class, %self) = @_;
	return bless { %self, counts => {}, held => [], lock_tables => 0 }, $class;
}

sub names
{
	return sort keys %fault;
}

# Those that are wanted and can be done here.
sub possible
{
	my ($self) = @_;
	return grep { $fault{$_}[0] && $self->{wanted}{$_} && ($_ ne 'pooler' || $self->{pooler})
		  && ($self->{has_small_disks} || !/^(?:heapfull|walfull)$/) } sort keys %fault;
}

# Whether some have not come yet.
sub is_incomplete
{
	my ($self) = @_;
	return scalar grep { !$self->{counts}{$_} } $self->possible;
}

# One random fault.
sub strike
{
	my ($self) = @_;
	my @possible = $self->possible;
	my @new = grep { !$self->{counts}{$_} } @possible;
	# Each comes once, whatever the dice say.
	my @all = @new && rand() < 0.7 ? @new : map { ($_) x $fault{$_}[0] } @possible;
	if (@all)
	{
		my $name = pick(@all);
		$self->{counts}{$name}++ if eval { $fault{$name}[1]->($self); 1 };
		$self->{note}->("fault $name: $@") if $@;
	}
	$self->let_go(time);
}

sub connect
{
	my ($self) = @_;
	my $db = DBI->connect("dbi:Pg:$self->{direct} application_name=fault", $self->{user}, '',
		{ RaiseError => 1, PrintError => 0, AutoCommit => 1, pg_server_prepare => 0 });
	# The faults have to go on.
	$db->do(q{set lock_timeout = '10s'});
	return $db;
}

sub ddl
{
	my ($self, $command) = @_;
	my $db = $self->connect;
	$db->do(q{set lock_timeout = '1s'});
	eval { $db->do($command) };
	$db->disconnect;
}

# What fails on the way leaves indexes that are invalid, and the next one would double them.
sub reindex
{
	my ($self) = @_;
	my $db = $self->connect;
	my $invalid = $db->selectcol_arrayref('select indexrelid::regclass::text from pg_index where not indisvalid');
	$db->disconnect;
	$self->ddl("drop index $_") for @$invalid;
	$self->ddl('reindex table concurrently ' . pick(qw(jobs items kept various fleeting_archive recurring)));
}

sub signal_backend
{
	my ($self, $function) = @_;
	my $db = $self->connect;
	$db->do("select $function(pid) from (select pid from pg_stat_activity where datname = current_database()
		and application_name <> 'fault' and backend_type = 'client backend' and state <> 'idle' order by random() limit 1) as v");
	$db->disconnect;
}

# The server restarts by itself.
sub kill_backend
{
	my ($self) = @_;
	my $db = $self->connect;
	my ($pid) = $db->selectrow_array("select pid from pg_stat_activity where datname = current_database()
		and application_name <> 'fault' and backend_type = 'client backend' order by random() limit 1");
	kill 'KILL', $pid if $pid;
	sleep 0.3;
	$self->wait_until_up;
}

# PostgreSQL::Test::Cluster gives the whole test up when a server does not stop or start at
# once, as after these faults; so they call pg_ctl themselves, and tell it.
sub pg_ctl
{
	my ($self, @words) = @_;
	my $node = $self->{node};
	return system_log('pg_ctl', '-s', '-w', '-D', $node->data_dir, '-l', $node->logfile, @words) == 0;
}

sub postmaster
{
	my ($self) = @_;
	open my $in, '<', $self->{node}->data_dir . '/postmaster.pid' or return 0;
	my $pid = <$in> || 0;
	return $pid > 1 && kill(0, $pid) ? $pid + 0 : 0;
}

sub kill_postmaster
{
	my ($self) = @_;
	my $pid = $self->postmaster;
	kill 'KILL', $pid if $pid;
	$self->start;
}

sub restart
{
	my ($self, $mode) = @_;
	$self->pg_ctl('-m', $mode, 'stop');
	$self->start;
}

# Backends of a postmaster that was killed go when they notice; the next one waits for them.
sub start
{
	my ($self) = @_;
	$self->allow_shared_memory;
	for (1 .. 400)
	{
		if ($self->postmaster || $self->pg_ctl('start'))
		{
			$self->{node}->_update_pid(-1);
			return $self->wait_until_up;
		}
		sleep 0.3;
	}
	die 'the server does not start';
}

sub wait_until_up
{
	my ($self, $tries) = @_;
	$self->allow_shared_memory;
	for my $try (1 .. $tries // 3000)
	{
		my $db = eval { $self->connect };
		if ($db) { $db->disconnect; return; }
		# It may have given up.
		$self->pg_ctl('start') if $try % 50 == 0 && !$self->postmaster;
		sleep 0.1;
	}
	die 'the server does not come up';
}

# Keeps something until its time has come.
sub keep
{
	my ($self, $seconds, $end) = @_;
	push @{ $self->{held} }, [ time + $seconds, $end ];
}

# Ends what was kept until this moment.
sub let_go
{
	my ($self, $moment) = @_;
	# What ends may keep something in turn.
	while (my ($held) = grep { $_->[0] <= $moment } @{ $self->{held} })
	{
		$self->{held} = [ grep { $_ != $held } @{ $self->{held} } ];
		eval { $held->[1]->() };
	}
}

sub hold_snapshot
{
	my ($self) = @_;
	my $db = $self->connect;
	$db->do('begin isolation level repeatable read');
	$db->do('select count(*) from jobs');
	$self->keep(1 + rand 4, sub { $db->do('commit'); $db->disconnect });
}

# A transaction that has sent, claimed and completed is prepared, and ended later.
sub prepare
{
	my ($self) = @_;
	my $db = $self->connect;
	my $name = 'storm ' . ++$self->{prepared};
	my $queue = pick(qw(jobs kept fleeting items recurring));
	$db->do(q{set lock_timeout = '1s'});
	$db->do('begin');
	if ($queue eq 'items')
	{
		$db->do("with j as materialized (select r from queue_pop_rows(null::items, 'items') as r),
				c as (insert into claimed select 'items', (r).id, (r).tries, -2 from j)
			insert into done select 'items', (r).token, (r).id, (r).tries, -2 from j where queue_complete_row('items', r)");
	}
	elsif ($queue eq 'recurring')
	{
		$db->do("with j as materialized (select * from queue_pop('recurring', 2)),
				o as (insert into occurred select payload ->> 'n', run_at, id, attempt, -2 from j)
			select queue_complete('recurring', id, attempt) from j");
	}
	else
	{
		my $token = "prepared.$self->{phase}.$self->{prepared}";
		$db->do('insert into sent values (?, ?)', undef, $queue, $token);
		$db->do(q{select queue_send(?, jsonb_build_object('t', ?::text))}, undef, $queue, $token);
		my $given = $queue eq 'fleeting' ? q{, result => jsonb_build_object('t', payload ->> 't', 'a', attempt)} : '';
		$db->do("with j as materialized (select * from queue_pop('$queue', 2)),
				c as (insert into claimed select '$queue', id, attempt, -2 from j)
			insert into done select '$queue', payload ->> 't', id, attempt, -2 from j where queue_complete('$queue', id, attempt$given)");
	}
	$db->do("prepare transaction '$name'");
	$db->disconnect;
	my $end = pick('commit', 'commit', 'rollback');
	$self->keep(rand 2, sub { my $again = $self->connect; $again->do("$end prepared '$name'"); $again->disconnect });
}

sub end_prepared
{
	my ($self) = @_;
	my $db = $self->connect;
	$db->do("rollback prepared '$_'")
	  for @{ $db->selectcol_arrayref('select gid from pg_prepared_xacts where database = current_database()') };
	$db->disconnect;
}

# The partition without rows goes and comes back; others go on with theirs.
sub move_partition
{
	my ($self) = @_;
	my $db = $self->connect;
	$db->do(q{set lock_timeout = '1s'});
	eval {
		$db->do('begin');
		$db->do('alter table parts detach partition parts_2');
		$db->do(q{select count(*) from queue_pop_rows(null::parts, 'parts')}) if rand() < 0.3;
		$db->do('alter table parts attach partition parts_2 for values in (2)');
		$db->do(rand() < 0.3 ? 'rollback' : 'commit');
	};
	$db->disconnect;
}

# Clients that wait for a job are killed, or stopped first: what they have claimed comes back when its lease
# has ended, and what they were woken for others get.
sub lose_waiters
{
	my ($self) = @_;
	my $storm = $$;
	my $pid = fork;
	defined $pid or die "fork: $!";
	if ($pid == 0)
	{
		my @clients;
		eval {
			for my $number (1 .. 3 + int rand 4)
			{
				push @clients, my $db = $self->connect;
				$db->do(q{set application_name = 'waiter'});
				my $queue = pick(qw(jobs kept items parts various recurring));
				my $kinds = $queue eq 'various' ? pick('null', q{'{a}'}, q{'{b,c}'}) : 'null';
				$db->begin_work if rand() < 0.3;
				$db->do($queue =~ /^[jkv]/ && $db->{AutoCommit} ? "call pop_waiting('$queue', '5 s', '1 s', -4, $kinds, null, null, null)"
					: "call queue_wait('$queue', '5 s', $kinds)", { pg_async => PG_ASYNC });
			}
		};
		# The storm may be gone, and cannot kill it then.
		for (1 .. 50)
		{
			last if getppid != $storm;
			sleep 0.1;
		}
		POSIX::_exit(0);
	}
	$self->keep(rand 0.5, sub {
		my $kill = sub { kill 'KILL', $pid; waitpid $pid, 0 };
		return $kill->() if rand() < 0.5;
		kill 'STOP', $pid;
		$self->keep(rand 1, $kill);
	});
}

sub fill_lock_table
{
	my ($self) = @_;
	my $db = $self->connect;
	$db->do('begin');
	eval { $db->do('select pg_advisory_xact_lock(i) from generate_series(-200000, -1) as i') };
	$db->do('rollback');
	# The error above ends the locks; so hold as many as there is room for.
	my ($room) = $db->selectrow_array("select current_setting('max_locks_per_transaction')::int
		* (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int)");
	$db->do('begin');
	# Each time others: the ones of the last time may be held still.
	my $first = 1 + 10_000 * $self->{lock_tables}++;
	eval { $db->do('select pg_advisory_xact_lock(i) from generate_series(?::int, ?::int) as i', undef, $first, $first + int($room * 1.2)) };
	$self->keep(0.5, sub { $db->do('rollback'); $db->disconnect });
}

sub exhaust_connections
{
	my ($self) = @_;
	my @connections;
	for (1 .. 500)
	{
		my $db = eval { $self->connect } or last;
		push @connections, $db;
	}
	sleep 0.3;
	$_->disconnect for @connections;
}

# The server starts without rings, and may not make its segment: each backend has its own.
sub forbid_shared_memory
{
	my ($self) = @_;
	$self->restart('fast');
	chmod 0500, $self->{node}->data_dir . '/pg_dynshmem';
	$self->keep(2, sub { $self->allow_shared_memory });
}

sub allow_shared_memory
{
	my ($self) = @_;
	chmod 0700, $self->{node}->data_dir . '/pg_dynshmem';
}

sub fill_disk
{
	my ($self, $which) = @_;
	my $file = "$self->{$which}/filler";
	open my $out, '>', $file or die $!;
	my $block = "\0" x 65536;
	1 while syswrite $out, $block;
	close $out;
	# WAL goes into the segments that are there already; another one has no room.
	my $db = eval { $self->connect };
	eval { $db->do('select pg_switch_wal()'); $db->do('insert into noise select i from generate_series(1, 20000) as i') } if $db && $which eq 'wal';
	sleep 0.5 + rand 1;
	unlink $file;
	sleep 0.2;
	eval { $self->wait_until_up(600); 1 } or $self->restart('immediate');
}

sub start_pooler
{
	my ($self) = @_;
	my $pooler = $self->{pooler} or return;
	my $pid = fork;
	defined $pid or die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>>', "$pooler->{dir}/log";
		open STDERR, '>&', \*STDOUT;
		exec $pooler->{program}, '-q', "$pooler->{dir}/ini" or POSIX::_exit(1);
	}
	$pooler->{pid} = $pid;
}

sub stop_pooler
{
	my ($self, $signal) = @_;
	my $pooler = $self->{pooler} or return;
	return unless $pooler->{pid};
	kill $signal, $pooler->{pid};
	waitpid $pooler->{pid}, 0;
	delete $pooler->{pid};
}

sub restart_pooler
{
	my ($self) = @_;
	$self->stop_pooler(pick('KILL', 'INT'));
	$self->start_pooler;
}

# Ends all that is kept, and puts everything right.
sub calm
{
	my ($self) = @_;
	$self->wait_until_up;
	$self->let_go(time + 1000);
	$self->end_prepared;
}

1;
