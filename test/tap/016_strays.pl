# Backends that cannot have the shared segment, because the operating system does not
# let them create or open it: they claim from rings of their own, beside others that
# have it. Each job is handed out once, and what one side makes claimable the other
# finds at once.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('strays');
$node->init;
# A segment is a file that we can get at.
$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = mmap');
$node->start;
my $files = $node->data_dir . '/pg_dynshmem';

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	set client_min_messages = error;
	create extension queue_ext;
	select queue_create('q', lease => '1 hour');
	create table t (id bigint generated always as identity primary key, state integer not null default 0);
	create index on t (id) where state = 0;
	select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', wake => true);
	create table tx (like t including all);
	select queue_attach('tx', 'tx', 'state = 0', 'id', claim_mode => 'transaction', on_complete => 'state = 1', wake => true);
	create table ts (like t including all);
	select queue_attach('ts', 'ts', 'state = 0', 'id', claim_mode => 'session', on_complete => 'state = 1', wake => true);
	-- Of each queue the next, done at once, in one row.
	create function takes(out q bigint, out t bigint, out tx bigint, out ts bigint) language sql volatile
	begin atomic
		select (select id from queue_pop('q') as j where queue_complete('q', id, attempt)),
			(select id from queue_pop_rows(null::t)),
			(select id from queue_pop_rows(null::tx) as j where queue_complete_row('tx', j)),
			(select id from queue_pop_rows(null::ts) as j where queue_complete_row('ts', j));
	end;
	create procedure sends() language sql
	begin atomic
		select queue_send('q', '1');
		insert into t default values;
		insert into tx default values;
		insert into ts default values;
	end;
	create table ledger (id bigint, who text);
	-- Each sends before it claims, so there is always enough for all.
	create procedure work(rounds integer, who text) language plpgsql as $$
	declare
		got bigint;
	begin
		for round in 1 .. rounds loop
			perform queue_send('q', '1');
			commit;
			loop
				if round % 5 = 0 then
					begin
						perform queue_pop('q');
						raise exception using errcode = 'UNDO1';
					exception when sqlstate 'UNDO1' then
						null;
					end;
				end if;
				select id into got from queue_pop('q');
				exit when got is not null;
			end loop;
			insert into ledger values (got, who);
			commit;
		end loop;
	end $$;
});
my $takes = 'select * from takes()';

# What keeps a backend from the segment, and what lets it.
my @made;
my %ways = (
	'may not create it' => [ sub { chmod 0500, $files or die $! }, sub { chmod 0700, $files or die $! } ],
	'may not open it' => [
		sub {
			my %old = map { $_ => 1 } glob "$files/mmap.*";
			sql($takes);
			@made = grep { !$old{$_} } glob "$files/mmap.*";
			chmod(0000, @made) > 0 or die 'there is no segment';
		},
		sub { chmod 0600, @made or die $! }
	],
);

for my $way (sort keys %ways)
{
	my ($lock, $unlock) = @{ $ways{$way} };
	$node->restart;
	$lock->();
	my $stray = $node->background_psql('postgres');
	is($stray->query_safe($takes), '|||', "a backend that $way: works");
	my @work = map { [ 'psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $takes,
			'-c', 'select pg_advisory_lock_shared(1)', '-c', "call work(300, '$_')" ] } 1 .. 4;
	my $gate = $node->background_psql('postgres');
	$gate->query_safe('select pg_advisory_lock(1)');
	my @workers = map { IPC::Run::start($_, '<', \undef, '>&', \my $said) } @work[ 0, 1 ];
	my $waiting = q{select count(*) = %s from pg_stat_activity where wait_event = 'advisory'};
	$node->poll_query_until('postgres', sprintf $waiting, 2) or die 'the strays do not begin';
	$unlock->();
	my $other = $node->background_psql('postgres');

	# To and fro; each has just seen that there is nothing.
	my ($found, $rounds) = (0, 20);
	for (1 .. $rounds)
	{
		for my $pair ([ $stray, $other ], [ $other, $stray ])
		{
			my ($sender, $taker) = @$pair;
			$taker->query_safe("$takes; $takes");
			$sender->query_safe('call sends()');
			my $got = $taker->query_safe($takes);
			$found += ($got =~ /^(\d+)\|(\d+)\|(\d+)\|(\d+)$/);
		}
	}
	is($found, 2 * $rounds, '... what one has sent the other finds at once');
	for my $pair ([ 'the stray', $stray, $other ], [ 'the other', $other, $stray ])
	{
		my ($name, $first, $second) = @$pair;
		$first->query_safe('call sends()');
		my $got = $first->query_safe("begin; $takes");
		like($got, qr/^(\d+)\|(\d+)\|(\d+)\|(\d+)$/, "... $name claims");
		is($second->query_safe($takes), '|||', '... which nobody else gets meanwhile');
		# A ring does not know what backends claim that do without it.
		is($second->query_safe(q{select count(*) > 0 from pg_backend_memory_contexts
			where ident like 'with candidate%update public.q as t set%'}), 't', '... says a statement, not a ring');
		$first->query_safe('rollback');
		is($second->query_safe($takes), $got, '... but when it has rolled back');
	}
	push @workers, map { IPC::Run::start($_, '<', \undef, '>&', \my $said) } @work[ 2, 3 ];
	$node->poll_query_until('postgres', sprintf $waiting, 4) or die 'the others do not begin';
	sql('truncate ledger');
	$gate->query_safe('select pg_advisory_unlock(1)');
	is(join(',', map { $_->finish ? 'done' : 'failed' } @workers), 'done,done,done,done', '... four work together');
	is(sql('select count(*), count(distinct id), count(distinct who) from ledger'), '1200|1200|4', '... each job is claimed once');
	is(sql($takes), '|||', '... and none is left');
	$_->quit for $stray, $other, $gate;
}

$node->stop;
my $allowed = qr/terminating connection due to administrator command|database system is|shutdown/;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && $_ !~ $allowed } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
