# The commit that ends a job wakes the session that waits for that: within less than the second after which it would
# look by itself. And whatever ends the wait takes the session out of the count of those that wait.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wait_done');
$node->init;
$node->start;

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	create extension queue_ext;
	select queue_create('q', lease => '1 hour', archive => true);
});

my $sleeping = q{select count(*) = %d from pg_stat_activity where query ~ 'queue_wait_done' and state = 'active'
	and wait_event_type = 'Extension'};

# The wait is over before the second look: only what a commit says can end it. A machine may stop for so long
# now and then. Who ends the job has connected before, as that may take as long.
my $ender = $node->background_psql('postgres');
my $until_it_sleeps = 'do $do$ begin for i in 1 .. 300 loop exit when (' . sprintf($sleeping, 1)
  . '); perform pg_stat_clear_snapshot(), pg_sleep(0.01); end loop; end $do$';
sub is_woken
{
	my ($end) = @_;
	for (1 .. 60)
	{
		sql(q{select queue_send('q', '1'); select queue_pop('q')});
		my $id = sql(q{select max(id) from q});
		my $waiter = $node->background_psql('postgres');
		$waiter->query_until(qr/waits/, "\\echo waits\ncall queue_wait_done('q', $id, '900 ms');\n");
		$ender->query_safe("$until_it_sleeps; " . $end =~ s/ID/$id/r . '; reset queue_ext.claim_path');
		my ($said) = $waiter->query('select 1');
		$waiter->quit;
		return 1 if $said =~ /completed|cancelled|dead/;
	}
	return 0;
}
ok(is_woken(q{select queue_complete('q', ID, 1)}), 'woken by a completion');
ok(is_woken(q{begin; savepoint a; select queue_complete('q', ID, 1); release a; commit}), '... in a subtransaction');
ok(is_woken(q{select queue_cancel('q', ID)}), 'by a cancellation');
ok(is_woken(q{select queue_fail('q', ID, 1, 'no', retry => false)}), 'by a failure for good');
ok(is_woken(q{set queue_ext.claim_path = portable; select queue_complete('q', ID, 1)}), 'by a statement');

# A hundred waiters whose sessions end in other ways.
sql(q{select queue_send('q', '1'); select queue_pop('q')});
my $id = sql('select max(id) from q');
for my $end ("select pg_cancel_backend(pid)", "select pg_terminate_backend(pid)")
{
	my @waiters = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 5;
	$_->query_until(qr/waits/, "\\echo waits\ncall queue_wait_done('q', $id, '1 hour');\n") for @waiters;
	ok($node->poll_query_until('postgres', sprintf $sleeping, 5), 'they sleep');
	sql("$end from pg_stat_activity where query ~ '^call queue_wait_done'");
	ok($node->poll_query_until('postgres', q{select count(*) = 0 from pg_stat_activity where query ~ '^call queue_wait_done' and state = 'active'}), 'and end');
	eval { $_->quit } for @waiters;
}
ok(is_woken(q{select queue_complete('q', ID, 1)}), 'the next is woken');

# Another queue has its name: no job of that is the one that is waited for.
my $waiter = $node->background_psql('postgres', on_error_stop => 0);
$waiter->query_until(qr/waits/, "\\echo waits\ncall queue_wait_done('q', $id, '1 hour');\n");
$node->poll_query_until('postgres', sprintf $sleeping, 1);
sql(q{begin; select queue_drop('q'); select queue_create('q', archive => true); commit});
my ($code) = $waiter->query('\echo :LAST_ERROR_SQLSTATE');
like($code, qr/\b42704\b/, 'a wait ends when the queue is dropped, though another one has its name');
$_->quit for $waiter, $ender;
$node->stop;
done_testing();
