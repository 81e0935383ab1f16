# Workers pop from a queue in which nothing is pending, while a sweep of it is under way. That sweep answers them
# all: a worker that has waited for another's sweep does not sweep itself, which would make the next one wait, and so on.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wake_turns');
$node->init;
$node->start;
# Who reads a row's state waits for the lock, so that a sweep takes as long as we want.
$node->safe_psql(
	'postgres', q{
	create extension queue_ext;
	create function is_new(state integer) returns boolean immutable language plpgsql as $$
	begin
		perform pg_advisory_xact_lock_shared(1);
		return state = 0;
	end $$;
	create table t (id bigint generated always as identity primary key, state integer not null default 0);
	insert into t (state) select 1 from generate_series(1, 3);
	select queue_attach('t', 't', 'is_new(state)', 'id', 'state = 1', wake => true);
});

my $pop = q{select id from queue_pop_rows(null::t)};
my ($holder, @workers) = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 5;

# Until so many wait: for the lock, or for one that does.
sub await_waiting
{
	my ($count) = @_;
	$node->poll_query_until('postgres', "select count(*) = $count from pg_stat_activity where query like '%queue_pop_rows(%'
		and pid <> pg_backend_pid() and wait_event_type in ('Lock', 'Extension')")
	  or die "not $count wait:\n" . $node->safe_psql('postgres', 'select pid, state, wait_event_type, wait_event, query from pg_stat_activity');
	return;
}

# These workers pop while a sweep lasts that the first of them has begun: a second, and as long as the others take to
# wait for it. Returns what came of the pops.
sub pop_together
{
	my ($first, @others) = @_;
	my $begin = sub { $_[0]->query_until(qr/pops/, "\\echo pops\n$pop;\n") };
	# More than are told one by one: the next pop sweeps.
	$node->safe_psql('postgres', 'insert into t (state) select 1 from generate_series(1, 2000); select queue_claim_stats_reset()');
	$holder->query_safe('select pg_advisory_lock(1)');
	$begin->($first);
	await_waiting(1);
	$holder->query_safe('select pg_sleep(1)');
	$begin->($_) for @others;
	await_waiting(1 + @others);
	$holder->query_safe('select pg_advisory_unlock(1)');
	return join ',', map { $_->query_safe('select') } $first, @others;
}

# Who waits takes a sweep over that lasts twice as long as the one before, as it may where a machine stands still; so once is
# enough.
my $claims = '';
my @sweeps;
for my $round (1 .. 10)
{
	$claims .= pop_together($workers[0]);
	$claims .= pop_together(@workers);
	push @sweeps, $node->safe_psql('postgres', 'select sweeps from queue_claim_stats');
	last if $sweeps[-1] == 1;
}
like($claims, qr/^,*$/, 'nothing is claimable');
is($sweeps[-1], 1, 'as one sweep has found for all') or diag("sweeps: @sweeps");
$_->quit for $holder, @workers;
$node->stop;
done_testing();
