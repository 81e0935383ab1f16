#!/usr/bin/env perl
# Tables whose claims need the executor, or depend on the caller: many workers of two tenants at
# tables with row security, partitions that come and go, children, triggers, generated columns, with
# faults, then the accounts. Who completes a job writes it into a ledger in the same transaction.
#
#   - a tenant gets and completes its own rows only;
#   - no job is lost, invented, completed twice, or claimed after its completion;
#   - triggers fire once for each claim and each completion, and for nothing else;
#   - when all is over, a pop is empty only if nothing is there, and the order is exact, also across
#     partitions.
#
#   QUEUE_EXT_SECONDS=600 QUEUE_EXT_CLIENTS=32 QUEUE_EXT_KINDS="partitions moving" \
#       perl test/torture/tables.pl                                  prints TAP
#
# QUEUE_EXT_SECONDS   how long the storm lasts (20)
# QUEUE_EXT_CLIENTS   how many (12)
# QUEUE_EXT_KINDS     only these kinds of tables (all: see below)
# QUEUE_EXT_SEED      of what clients and faults do (random; printed)
# QUEUE_EXT_CRASHES   how often a backend is killed by SIGKILL, and with it the server goes down (1)
# QUEUE_EXT_CLAIM_PATH  as the setting of that name (auto)
#
# Needs a server (PGHOST etc.) on this machine with queue_ext installed, as a superuser and as its
# operating system's user, and pgbench in PATH. It makes a database and roles of its own, and drops them.

use strict;
use warnings;

use File::Temp qw(tempdir);
use IPC::Open3;
use List::Util qw(shuffle);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{QUEUE_EXT_SECONDS} || 20;
my $clients = $ENV{QUEUE_EXT_CLIENTS} || 12;
my $seed = $ENV{QUEUE_EXT_SEED} || 1 + int rand 1_000_000;
my $crashes = $ENV{QUEUE_EXT_CRASHES} // ($ENV{QUEUE_EXT_VALGRIND} ? 0 : 1);
my $path = $ENV{QUEUE_EXT_CLAIM_PATH} || 'auto';
my $database = "queue_ext_tables_$$";
my $role = "queue_ext_tenant_$$" . '_';
my $dir = tempdir(CLEANUP => 1);
my $leaves = 16;
srand $seed;
$ENV{PGAPPNAME} = 'torture';

# The kinds. mode: of the claim (update); path: that claims take where nothing forces another;
# is_split: a tenant gets its own rows only; table, pending: in place of those below; more: what
# comes after the table; leaf: the tables that take the rows; faults: what happens to the table
# besides.
my $columns = 'id bigint not null default nextval(\'ids\'), part integer not null, tenant text not null, tries integer not null default 0,
	shelf integer not null default 0, until timestamptz, touched integer not null default 0';
my $policy = sub {
	my ($of) = @_;
	return "alter table KIND enable row level security; create policy own on KIND using (tenant = $of)";
};
my $as_role = "replace(current_user, '$role', 't')";
my %kinds = (
	plain => { path => 'direct' },
	row_security => { path => 'tid', is_split => 1, more => $policy->($as_role), faults => [ 'policy', 'index' ] },
	setting => { path => 'tid', is_split => 1, more => $policy->("current_setting('app.tenant')"), faults => ['policy'] },
	by_worker => { path => 'direct', is_split => 1, pending => 'tenant = worker' },
	by_role => { path => 'direct', is_split => 1, pending => "tenant = $as_role" },
	locked => { path => 'tid', is_split => 1, mode => 'transaction', more => $policy->($as_role), faults => ['policy'] },
	held => { path => 'tid', is_split => 1, mode => 'session', more => $policy->($as_role) },
	partitions => {
		path => 'tid',
		table => "create table KIND ($columns, primary key (id, part)) partition by list (part)",
		more => join('; ', map { "create table KIND_$_ partition of KIND for values in ($_)" } 0 .. $leaves - 1),
		faults => [ 'detach', 'concurrently', 'replace', 'detach', 'concurrently' ],
	},
	split_partitions => {
		path => 'tid', is_split => 1, mode => 'transaction',
		table => "create table KIND ($columns, primary key (id, part)) partition by list (part)",
		more => join('; ', $policy->($as_role), map { "create table KIND_$_ partition of KIND for values in ($_)" } 0 .. $leaves - 1),
		faults => [ 'detach', 'concurrently', 'policy' ],
	},
	# A claim moves its row.
	moving => {
		path => 'tid',
		table => "create table KIND ($columns, primary key (id, shelf)) partition by list (shelf)",
		more => 'create table KIND_0 partition of KIND for values in (0); create table KIND_1 partition of KIND for values in (1)',
	},
	children => {
		path => 'tid',
		more => join('; ', (map { "create table KIND_$_ (primary key (id)) inherits (KIND)" } 0 .. 3), q{
			create function finish(how text, job KIND) returns boolean language plpgsql as $$
			begin
				if how = 'complete' then delete from KIND where id = job.id and tries = job.tries;
				else update KIND set until = null where id = job.id and tries = job.tries; end if;
				return found;
			end $$}),
		leaf => 4,
		faults => ['inherit'],
	},
	audited => {
		path => 'tid', is_audited => 1,
		more => q{create table KIND_audit (id bigint, tries integer, op text);
			create table KIND_rows (op text, rows bigint);
			create trigger touch before update on KIND for each row execute function touch();
			create trigger audit after update or delete on KIND for each row execute function audit('KIND_audit');
			create trigger count after update on KIND referencing new table as news for each statement execute function count_rows('KIND_rows')},
		faults => ['index'],
	},
	generated => {
		path => 'tid',
		table => "create table KIND ($columns, primary key (id), double bigint generated always as (id * 2 + tries) stored)",
		pending => "double = id * 2 + tries and tenant in (select name from tenants)",
	},
);
my @kinds = $ENV{QUEUE_EXT_KINDS} ? split /[\s,]+/, $ENV{QUEUE_EXT_KINDS} : sort keys %kinds;
$kinds{$_} or die "no kind \"$_\"\n" for @kinds;
diag("QUEUE_EXT_SECONDS=$seconds QUEUE_EXT_CLIENTS=$clients QUEUE_EXT_SEED=$seed QUEUE_EXT_KINDS='@kinds'");

# Runs psql; returns its status and all it said.
sub psql
{
	my ($in, @commands) = @_;
	my $pid = open3(my $to, my $from, undef, 'psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-d', $in, map { ('-c', $_) } @commands);
	close $to;
	my $said = do { local $/; <$from> } // '';
	waitpid $pid, 0;
	chomp $said;
	return ($? >> 8, $said);
}

sub sql
{
	my (@commands) = @_;
	my ($status, $said) = psql($database, @commands);
	$status == 0 or die "@commands\n$said";
	return $said;
}

sub pick { return $_[ int rand @_ ] }

{
	my ($status, $said) = psql('postgres', "create database $database", "create role ${role}0", "create role ${role}1");
	$status == 0 or die $said;
}

END
{
	my $status = $?;
	psql('postgres', "drop database if exists $database with (force)", "drop role if exists ${role}0, ${role}1");
	$? = $status;
}

# No table of the accounts has a constraint: they must show what happened.
sql('create extension queue_ext', q{
	create sequence ids;
	create table tenants (name text);
	insert into tenants values ('t0'), ('t1');
	create table sent (kind text, id bigint, tenant text);
	create table claimed (kind text, id bigint, tries integer, tenant text, caller text);
	create table ledger (kind text, id bigint, tries integer, tenant text, caller text);
	create table freed (kind text, id bigint, is_good boolean);
	-- Now and then it suppresses the update, but not at the end.
	create function touch() returns trigger language plpgsql as $$
	begin
		if current_setting('app.suppress', true) = 'yes' and new.id % 7 = 3 and random() < 0.3 then return null; end if;
		new.touched := old.touched + 1;
		return new;
	end $$;
	create function audit() returns trigger language plpgsql as $$
	begin
		execute format('insert into %I values ($1, $2, $3)', tg_argv[0]) using old.id, case tg_op when 'UPDATE' then new.tries else old.tries end,
			case when tg_op = 'DELETE' then 'done' when new.tries > old.tries then 'claim' else 'free' end;
		return null;
	end $$;
	create function count_rows() returns trigger language plpgsql as $$
	begin
		execute format('insert into %I select $1, count(*) from news', tg_argv[0]) using 'update';
		return null;
	end $$;
	-- A row whose partition is away is not sent.
	create function send(kind text, leaf text, part integer, tenant text) returns void language plpgsql as $$
	declare
		sent_id bigint;
	begin
		execute format('insert into %I (part, tenant) values ($1, $2) returning id', leaf) into sent_id using part, tenant;
		insert into sent values (kind, sent_id, tenant);
	exception when check_violation then null;
	end $$});

my %with_wake;
for my $kind (@kinds)
{
	my $of = $kinds{$kind};
	my $mode = $of->{mode} || 'update';
	my $pending = join ' and ', '(until is null or until <= call_time)', $of->{pending} || ();
	my $set = $mode eq 'update' ? q{, on_claim => 'until = call_time + lease, tries = tries + 1, shelf = 1 - shelf', on_release => 'until = null', on_fail => 'until = null'} : '';
	my $table = $of->{table} || "create table KIND ($columns, primary key (id))";
	$with_wake{$kind} = pick('true', 'false');
	my @commands = ('set client_min_messages = warning', $table, $of->{more} || (),
		"select queue_attach('KIND', 'KIND', pending => \$\$$pending\$\$, order_by => 'id', claim_mode => '$mode', wake => $with_wake{$kind}$set)");
	push @commands, 'create index on KIND (id)' if $of->{table} && $kind ne 'generated';
	s/\bKIND(?=\b|_)/$kind/g for @commands;
	sql(@commands);
}
sql("grant all on all tables in schema public to ${role}0, ${role}1; grant all on all sequences in schema public to ${role}0, ${role}1");
note(join ', ', map { "$_: wake => $with_wake{$_}" } @kinds);

# The call that finishes a row. One of many tables that inherit has no key.
sub finish_text
{
	my ($kind, $how, $row) = @_;
	return $kinds{$kind}{leaf} ? "finish('$how', $row)" : "queue_${how}_row('$kind', $row)";
}

# A caller's settings, by its tenant's number.
sub become
{
	my ($number, $is_local) = @_;
	return "select set_config('role', '$role' || $number, $is_local), set_config('app.tenant', 't' || $number, $is_local)";
}

# The claims are as the kind is.
for my $kind ($path eq 'auto' ? @kinds : ())
{
	my $said = sql('begin', become(0, 'true'), "select path || coalesce(': ' || reason, '') from queue_claim_path('$kind')");
	like($said, qr/^\Q$kinds{$kind}{path}\E(?::|$)/m, "$kind: the path");
}

# What a worker does with one transaction; "apart", with two. :t is its tenant.
sub pop_text
{
	my ($kind, $jobs, $lease) = @_;
	return "with job as materialized (select j from queue_pop_rows(null::$kind, '$kind', $jobs, " . ($lease || 'null') . ", 't' || :t) as j),
	noted as (insert into claimed select '$kind', (j).id, (j).tries, (j).tenant, 't' || :t from job)\n";
}

sub scripts_of
{
	my ($kind) = @_;
	my $of = $kinds{$kind};
	my $done = "insert into ledger select '$kind', (j).id, (j).tries, (j).tenant, 't' || :t from job where " . finish_text($kind, 'complete', 'j') . ";\n";
	my $free = sub { my ($how) = @_; return "insert into freed select '$kind', (j).id, " . finish_text($kind, $how, 'j') . " from job;\n" };
	my $begin = "\\set t random(0, 1)\nbegin;\n" . become(':t', 'true') . ";\n";
	(my $strict = $begin) =~ s/begin;/begin isolation level repeatable read;/;
	(my $serializable = $begin) =~ s/begin;/begin isolation level serializable;/;
	my $leaf = $of->{leaf} ? "'${kind}_' || :leaf" : "'$kind'";
	my %script = (
		send => [ 14, "\\set leaf random(0, " . (($of->{leaf} || 1) - 1) . ")\n\\set n random(1, 30)\n$begin"
			  . "select send('$kind', $leaf, (random() * 1000)::integer % $leaves, 't' || :t) from generate_series(1, :n);\ncommit;" ],
		one => [ 8, $begin . pop_text($kind, 1) . $done . 'commit;' ],
		batch => [ 4, $begin . pop_text($kind, 10) . $done . 'commit;' ],
		strict => [ 2, $strict . pop_text($kind, 3) . $done . 'commit;' ],
		serializable => [ 1, $serializable . pop_text($kind, 1) . $done . 'commit;' ],
		rollback => [ 2, $begin . pop_text($kind, 2) . $done . 'rollback;' ],
		savepoint => [ 2, "${begin}savepoint s;\n" . pop_text($kind, 4) . $done . "rollback to s;\n" . pop_text($kind, 2) . $done . 'commit;' ],
		# The session is both tenants in one transaction.
		both => [ 2, $begin . pop_text($kind, 2) . $done . "\\set t 1 - :t\n" . become(':t', 'true') . ";\n" . pop_text($kind, 2) . $done . 'commit;' ],
		release => [ 1, $begin . pop_text($kind, 3) . $free->('release') . 'commit;' ],
		fail => [ 1, $begin . pop_text($kind, 3) . $free->('fail') . 'commit;' ],
	);
	if (($of->{mode} || '') ne 'transaction')
	{
		my $apart = sub {
			my ($lease) = @_;
			return "\\set t random(0, 1)\n" . become(':t', 'false') . ";\n" . pop_text($kind, 1, $lease)
			  . "select coalesce(max(quote_literal(j::text)), 'null') as receipt from job \\gset\n" . ($lease ? "\\sleep 2 ms\n" : '')
			  . "begin;\ninsert into ledger select '$kind', (j).id, (j).tries, (j).tenant, 't' || :t from (select :receipt::$kind as j) as job
				where case when (j).id is null then false else " . finish_text($kind, 'complete', 'j') . " end;\ncommit;\nreset role;";
		};
		$script{apart} = [ 3, $apart->() ];
		$script{stale} = [ 2, $apart->("'1 microsecond'") ] if !$of->{mode};
	}
	return \%script;
}

my %files;
for my $kind (@kinds)
{
	my $scripts = scripts_of($kind);
	for my $name (sort keys %$scripts)
	{
		my ($weight, $text) = @{ $scripts->{$name} };
		open my $file, '>', "$dir/$kind.$name.sql" or die $!;
		print $file "$text\n";
		close $file;
		push @{ $files{simple} }, "$dir/$kind.$name.sql\@$weight";
		# A receipt is text to put into a query.
		push @{ $files{prepared} }, "$dir/$kind.$name.sql\@$weight" if $name !~ /^(?:apart|stale)$/;
	}
}
sql((map { my $kind = $_; my $leaf = $kinds{$kind}{leaf} ? "'${kind}_' || n % $kinds{$kind}{leaf}" : "'$kind'";
		"select count(send('$kind', $leaf, n % $leaves, 't' || n % 2)) from generate_series(1, 2000) as n" } @kinds), 'vacuum analyze');

# The faults. A change of a table waits for no lock for long, and may fail.
my (%faults, %failed);
sub strike
{
	my ($name, @commands) = @_;
	my ($status, $said) = psql($database, "set lock_timeout = '500ms'", @commands);
	$status == 0 ? $faults{$name}++ : $failed{$name}++;
	# A lock that is not to be had, a deadlock, the end of the server, or a partition in an unfinished detachment.
	return $said =~ /ERROR:  (?:55P03|40P01|57P0|55000)|server closed|recovery mode|starting up|connection to server|^$/ || $status == 0 ? '' : "$name: $said\n";
}

my $odd = '';
my %away; # tables that are detached, and how they come back

# Partitions and children that are detached, or about to be, come back.
sub come_back
{
	my (@tables) = @_;
	for my $leaf (@tables)
	{
		my ($kind, $number) = $leaf =~ /^(.*)_(\d+)$/;
		my $state = sql("select coalesce((select case when inhdetachpending then 'pending' else 'there' end from pg_inherits where inhrelid = '$leaf'::regclass), 'away')");
		delete $away{$leaf} if $state eq 'there';
		next if $state eq 'there';
		$odd .= strike('finalize', "alter table $kind detach partition $leaf finalize") if $state eq 'pending';
		$odd .= strike('come back', $kinds{$kind}{leaf} ? "alter table $leaf inherit $kind" : "alter table $kind attach partition $leaf for values in ($number)");
	}
	return;
}

my %fault = (
	policy => sub {
		my ($kind) = @_;
		return strike('policy', "begin; alter policy own on $kind using (" . ($kind eq 'setting' ? "tenant = current_setting('app.tenant')" : "tenant = $as_role") . ') with check (true); commit');
	},
	index => sub { my ($kind) = @_; return strike('index', "drop index if exists ${kind}_more", "create index ${kind}_more on $kind (id desc, part)", "drop index ${kind}_more") },
	detach => sub {
		my ($kind) = @_;
		my $leaf = "${kind}_" . int rand $leaves;
		return '' if $away{$leaf}++;
		return strike('detach', "alter table $kind detach partition $leaf");
	},
	concurrently => sub {
		my ($kind) = @_;
		my $leaf = "${kind}_" . int rand $leaves;
		return '' if $away{$leaf}++;
		return strike('concurrently', "alter table $kind detach partition $leaf concurrently");
	},
	# Another table takes the partition's place, and its rows.
	replace => sub {
		my ($kind) = @_;
		my $number = int rand $leaves;
		my $leaf = "${kind}_$number";
		return '' if $away{$leaf};
		return strike('replace', "begin; lock table $leaf; alter table $kind detach partition $leaf; alter table $leaf rename to old;
			create table $leaf (like old including all); insert into $leaf select * from old; drop table old;
			alter table $kind attach partition $leaf for values in ($number); grant all on $leaf to ${role}0, ${role}1; commit");
	},
	inherit => sub {
		my ($kind) = @_;
		my $leaf = "${kind}_" . int rand $kinds{$kind}{leaf};
		return '' if $away{$leaf}++;
		return strike('inherit', "alter table $leaf no inherit $kind");
	},
);

sub start_workers
{
	my ($round, $for) = @_;
	my $pid = fork;
	defined $pid or die "fork: $!";
	my $mode = $round % 2 ? 'simple' : 'prepared';
	# pgbench takes 128 scripts.
	my @scripts = (shuffle(@{ $files{$mode} }))[ 0 .. 127 ];
	if ($pid == 0)
	{
		open STDOUT, '>', "$dir/bench.$round" or die $!;
		open STDERR, '>&', \*STDOUT or die $!;
		$ENV{PGOPTIONS} = "-c queue_ext.claim_path=$path -c app.suppress=yes";
		exec 'pgbench', '-n', '-M', $mode, '-c', $clients, '-j', 2, '-T', $for, '--max-tries=20', '--random-seed', $seed + $round, (map { ('-f', $_) } grep { defined } @scripts), $database
		  or POSIX::_exit(127);
	}
	return $pid;
}

# The PID of a process that ends with a crash of the server; '' if it cannot be asked.
sub checkpointer
{
	my ($status, $pid) = psql($database, q{select pid from pg_stat_activity where backend_type = 'checkpointer'});
	return $status ? '' : $pid;
}

# Until the server takes connections again.
sub wait_for_server
{
	my $deadline = time + 600;
	while ((psql($database, 'select 1'))[0] != 0) { time < $deadline or die "the server is not back\n"; sleep 0.1 }
	return;
}

# Whether each kind has enough jobs, and the server has gone down if it is to: a machine that stands still may have neither
# in the time given.
my $enough = 1000;
sub has_enough
{
	return !$crashes && sql("select count(*) from (select kind from sent group by kind having count(*) > $enough) as k") == @kinds;
}

my $end = time + $seconds;
my $round = 0;
my $each = $seconds < 30 ? 4 : 10;
while (time < $end || $round < 2 || ($round < 60 && !has_enough()))
{
	my $pid = start_workers(++$round, $each);
	my $is_crash = $crashes && $round >= 2;
	my $crash_at = time + $each * (0.5 + rand 0.4);
	while (waitpid($pid, POSIX::WNOHANG()) == 0)
	{
		sleep 0.02 + rand 0.15;
		my $kind = pick(@kinds, grep { $kinds{$_}{faults} } @kinds);
		my $victim = q{select pid from pg_stat_activity where datname = current_database() and application_name = 'torture'
			and pid <> pg_backend_pid() and state <> 'idle' and backend_type = 'client backend' order by random() limit 1};
		if ($is_crash && time > $crash_at)
		{
			my ($status, $backend) = psql($database, $victim);
			my $former = checkpointer();
			next if $status || $former eq '' || $backend !~ /^\d+$/ || !kill 'KILL', $backend;
			$faults{crash}++;
			$crashes--;
			$is_crash = 0;
			# Until the postmaster has heard of it, it lets others in, and ends them then. It may have heard of the end of
			# that backend before.
			for (1 .. 1200)
			{
				last if (checkpointer() || $former) != $former;
				sleep 0.1;
			}
			wait_for_server();
		}
		elsif (rand() < 0.1)
		{
			my $how = pick('terminate', 'cancel');
			$odd .= strike($how, "select pg_${how}_backend(pid) from ($victim) as v");
		}
		elsif (rand() < 0.3 && %away) { come_back(pick(sort keys %away)) }
		elsif ($kinds{$kind}{faults}) { $odd .= $fault{ pick(@{ $kinds{$kind}{faults} }) }->($kind) }
		else { $odd .= strike('vacuum', pick('vacuum', 'analyze', 'vacuum') . " $kind") }
	}
	wait_for_server();
	open my $log, '<', "$dir/bench.$round" or die $!;
	my $ended = qr/57P0|57014|terminating connection|canceling statement due to user request|server closed the connection|perhaps the backend died|SQL command send failed|recovery mode|Run was aborted|common protocol|WARNING:|DETAIL:|HINT:/;
	my @lines = <$log>;
	# Where a statement is ended while it is prepared, pgbench says so without a client's number, and goes on: one client
	# misses the statement later.
	my $unprepared = grep { /^pgbench: error: ERROR: .*canceling statement/ } @lines;
	my @unexpected = grep { /pgbench: error|\b(?:ERROR|FATAL|PANIC):/ && !/$ended/ } @lines;
	@unexpected = grep { !(/: ERROR:  prepared statement "P_\d+" does not exist$/ && $unprepared-- > 0) } @unexpected;
	is(join('', @unexpected[ 0 .. ($#unexpected < 9 ? $#unexpected : 9) ]), '', "no unexpected error in round $round");
	# What was claimed and not completed comes back.
	my $deadline = time + 600;
	while (%away && time < $deadline) { come_back(sort keys %away) }
	is(join(' ', sort keys %away), '', "all partitions are back after round $round") if $round == 1 || %away;
	sql(map { "update $_ set until = null where until is not null" } grep { $_ ne 'audited' } @kinds);
	sql("set session_replication_role = replica", 'update audited set until = null where until is not null') if grep { $_ eq 'audited' } @kinds;
}
is($odd, '', 'what is done to tables succeeds, or has not got its lock');
is(sql('select count(*) from pg_inherits where inhdetachpending'), '0', 'no detachment is unfinished');

# Pops until a pop is empty; returns what came, in order.
sub drain
{
	my ($kind, $number, $jobs, $keep) = @_;
	my $finish = finish_text($kind, 'complete', 'receipts[i]');
	return split /\n/, sql('set client_min_messages = warning', "set queue_ext.claim_path = $path", "do \$do\$
		declare
			receipts ${kind}[];
		begin
			create temporary table got (n bigint generated always as identity, id bigint);
			grant all on got to ${role}$number;
			perform set_config('role', '${role}$number', false), set_config('app.tenant', 't$number', false);
			loop
				receipts := array(select j from queue_pop_rows(null::$kind, '$kind', $jobs, null, 't$number') as j);
				exit when receipts = '{}';
				insert into claimed select '$kind', (j).id, (j).tries, (j).tenant, 't$number' from unnest(receipts) as j;
				for i in 1 .. cardinality(receipts) loop
					insert into got (id) values ((receipts[i]).id);
					insert into ledger select '$kind', (receipts[i]).id, (receipts[i]).tries, (receipts[i]).tenant, 't$number' where $finish;
				end loop;
				commit;
			end loop;
			reset role;
		end \$do\$", 'select id from got order by n');
}

for my $kind (@kinds)
{
	my $of = $kinds{$kind};
	my @tenants = $of->{is_split} ? (0, 1) : (0);
	drain($kind, $_, 50) for @tenants;
	is(sql("select count(*) from $kind"), '0', "$kind: a pop is empty only if nothing is left");
	# As the rows lie in the tables says nothing of their order.
	my $leaf = $of->{leaf} ? "'${kind}_' || n % $of->{leaf}" : "'$kind'";
	sql("select count(send('$kind', $leaf, n * 7 % $leaves, 't' || n % 2)) from generate_series(1, 200) as n",
		"alter sequence ids increment by -1", "select setval('ids', (select last_value + 1000 from ids))",
		"select count(send('$kind', $leaf, n * 5 % $leaves, 't' || n % 2)) from generate_series(1, 200) as n",
		'alter sequence ids increment by 1', "select setval('ids', (select last_value + 2000 from ids))");
	for my $number (@tenants)
	{
		my $should = sql("select string_agg(id::text, ' ' order by id) from $kind" . ($of->{is_split} ? " where tenant = 't$number'" : ''));
		is(join(' ', drain($kind, $number, 7)), $should, "$kind: tenant $number gets its rows in order");
	}
	my $has = sub { my ($what, $query) = @_; $query =~ s/KIND/$kind/g; return is(sql($query), '0', "$kind: $what") };
	$has->('no job is left', 'select count(*) from KIND');
	$has->('no job is lost', "select count(*) from sent as s where kind = 'KIND' and not exists (select from ledger as l where (l.kind, l.id) = (s.kind, s.id))");
	$has->('no job is invented', "select count(*) from ledger as l where kind = 'KIND' and not exists (select from sent as s where (l.kind, l.id, l.tenant) = (s.kind, s.id, s.tenant))");
	$has->('no job is completed twice', "select count(*) from (select id from ledger where kind = 'KIND' group by id having count(*) > 1) as t");
	# Unless a trigger suppresses it, or the partition is being detached.
	$has->('who frees a job in its transaction could', "select count(*) from freed where kind = 'KIND' and not is_good") if !$of->{is_audited} && !grep { $_ eq 'concurrently' } @{ $of->{faults} || [] };
	$has->('a tenant gets only its own rows', "select count(*) from (select * from claimed union all select * from ledger) as t where kind = 'KIND' and tenant <> caller") if $of->{is_split};
	if (!$of->{mode})
	{
		$has->('no claim is handed out twice', "select count(*) from (select id, tries from claimed where kind = 'KIND' group by 1, 2 having count(*) > 1) as t");
		$has->('no completion without its claim', "select count(*) from ledger as l where kind = 'KIND' and not exists (select from claimed as c where (c.kind, c.id, c.tries) = (l.kind, l.id, l.tries))");
	}
	$has->('no claim after a completion', "select count(*) from ledger as l join claimed as c using (kind, id) where kind = 'KIND' and c.tries > l.tries");
	if ($of->{is_audited})
	{
		$has->('the trigger has seen each claim once', "(select count(*) from (select id, tries from KIND_audit where op = 'claim' except all select id, tries from claimed where kind = 'KIND') as t)");
		$has->('each claim was seen by the trigger', "(select count(*) from (select id, tries from claimed where kind = 'KIND' except all select id, tries from KIND_audit where op = 'claim') as t)");
		$has->('the trigger has seen each completion once', "(select count(*) from (select id, tries from KIND_audit where op = 'done' except all select id, tries from ledger where kind = 'KIND') as t)");
		$has->('transition tables have had all rows', "select (select sum(rows) from KIND_rows) - (select count(*) from KIND_audit where op <> 'done')");
	}
	cmp_ok(sql("select count(*) from ledger where kind = '$kind'"), '>', $enough, "$kind: there were enough jobs");
}
for my $fault (map { @{ $kinds{$_}{faults} || [] } } @kinds) { $faults{$fault} ||= 0 }
note("$round rounds; faults: " . join(', ', map { "$_ $faults{$_}" } sort keys %faults) . '; in vain: ' . join(', ', map { "$_ $failed{$_}" } sort keys %failed));
note(join ', ', map { "$_: " . sql("select count(*) filter (where k = 'c') || ' claims, ' || count(*) filter (where k = 'l') || ' done' from (select 'c' as k, kind from claimed union all select 'l', kind from ledger) as t where kind = '$_'") } @kinds);
ok($faults{crash}, 'the server went down, and came back') if $ENV{QUEUE_EXT_CRASHES} // !$ENV{QUEUE_EXT_VALGRIND};

SKIP:
{
	skip 'amcheck is not installed', 1
	  unless sql(q{select count(*) from pg_available_extensions where name = 'amcheck'}) eq '1';
	sql('create extension amcheck');
	my $said = `pg_amcheck --heapallindexed --parent-check -d $database 2>&1`;
	is($?, 0, 'pg_amcheck finds nothing') or diag($said);
}

diag("again: QUEUE_EXT_SECONDS=$seconds QUEUE_EXT_SEED=$seed script/test tables") unless Test::More->builder->is_passing;
done_testing();
