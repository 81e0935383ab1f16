# queue_health: what keeps VACUUM from its work, after which time, and who may see it; and queues whose
# tables are locked, or restored with a sequence that has not followed.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "max_prepared_transactions = 5\nautovacuum = off\n");
$primary->start;
$primary->safe_psql('postgres', q{create extension queue_ext; select queue_create('jobs'); create role watcher login; create database other});

sub found
{
	my ($query) = @_;
	return $primary->safe_psql('postgres', "set queue_ext.health_patience = 0; $query");
}

my $held = q{select finding from queue_health() where finding like 'vacuum%' order by 1};
is(found($held), '', 'nothing holds VACUUM back');

# A transaction with a snapshot, or that has written, of this database.
my $other = $primary->background_psql('postgres');
$other->query_safe('begin isolation level repeatable read; select count(*) from jobs');
is(found($held), 'vacuum_held_by_transaction', 'a transaction with a snapshot');
is($primary->safe_psql('postgres', $held), '', 'not before five minutes are over');
is($primary->safe_psql('postgres', qq{set role watcher; set queue_ext.health_patience = 0; $held}), '', 'others are not told');
$primary->safe_psql('postgres', 'grant pg_read_all_stats to watcher');
is(found(qq{set role watcher; $held}), 'vacuum_held_by_transaction', 'but roles that may look');
is(found(q{select severity, queue is null, detail ~ '^Process \d+, of role ".*", has a transaction open since .* \(idle in transaction\), \d+ transactions ago\.$', hint ~ '^SELECT pg_terminate_backend\(\d+\)' from queue_health() where finding = 'vacuum_held_by_transaction'}),
	'warning|t|t|t', 'the words');
is(found(q{select count(*) from queue_health('jobs')}), '0', 'a queue alone has nothing of it');
$other->query_safe('commit');
is(found($held), '', 'it has ended');
$other->query_safe('begin; select 1');
is(found($held), '', 'one without a snapshot holds nothing back');
$other->query_safe('select pg_current_xact_id()');
is(found($held), 'vacuum_held_by_transaction', 'one that has written does');
$other->query_safe('rollback');
# A query in parallel is one.
$other->query_safe(q{select set_config(name, 'on', false) from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query')});
$other->query_until(qr/begun/, "\\echo begun\nselect pg_sleep(3600);\n");
$primary->poll_query_until('postgres', 'select count(*) > 0 from pg_stat_activity where leader_pid is not null') or die 'no worker';
is(found($held), 'vacuum_held_by_transaction', 'its parallel workers are no transactions of their own');
$primary->safe_psql('postgres', 'select pg_cancel_backend(leader_pid) from pg_stat_activity where leader_pid is not null');
eval { $other->quit };
$other = $primary->background_psql('other');
$other->query_safe('begin isolation level repeatable read; select 1 from pg_class');
is(found($held), '', 'nor does one of another database');
$other->quit;

# Of an index that somebody has locked, and not its table.
$other = $primary->background_psql('postgres');
$other->query_safe('begin; reindex index jobs_priority_run_at_id_idx; reindex index jobs_dead_at_idx; reindex index jobs_pkey');
is(found(q{set lock_timeout = '1min'; select coalesce(string_agg(finding, ' ' order by finding), '') from queue_health('jobs')}), '', 'an index that is locked is passed over');
$other->query_safe('rollback');
$other->quit;

# A prepared transaction.
$primary->safe_psql('postgres', q{begin; select queue_send('jobs', '1'); prepare transaction 'it''s'});
is(found($held), 'vacuum_held_by_prepared_transaction', 'a prepared transaction');
is($primary->safe_psql('postgres', $held), '', 'not before five minutes are over');
$primary->safe_psql('postgres', found(q{select split_part(hint, ' or ', 1) from queue_health() where finding like 'vacuum%'}));
is(found($held), '', 'the hint ends it');

# Standbys that say what they need, with a slot and without.
$primary->backup('backup');
$primary->safe_psql('postgres', q{select pg_create_physical_replication_slot('slot')});
my %standby;
for my $name (qw(with without))
{
	my $standby = $standby{$name} = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nwal_receiver_status_interval = 1\nautovacuum = off\n");
	$standby->append_conf('postgresql.conf', "primary_slot_name = 'slot'\n") if $name eq 'with';
	$standby->start;
	$primary->wait_for_catchup($standby);
}
my %reader = map { $_ => $standby{$_}->background_psql('postgres') } keys %standby;
$_->query_safe('begin isolation level repeatable read; select count(*) from jobs') for values %reader;
ok($primary->poll_query_until('postgres', q{select (select xmin from pg_replication_slots) is not null and exists (select from pg_stat_replication where backend_xmin is not null)}),
	'the standbys have said what they need');
is(found($held), '', 'which is not old');
# A million transactions, most of them within others.
$primary->safe_psql('postgres', q{set synchronous_commit = off; create temporary table spent (); do $$ begin
	for i in 1 .. 100 loop
		for j in 1 .. 10000 loop
			begin insert into spent default values; exception when division_by_zero then end;
		end loop;
		commit;
	end loop;
end $$});
is(found($held), "vacuum_held_by_slot\nvacuum_held_by_standby", 'it is now');
like(found(q{select detail from queue_health() where finding = 'vacuum_held_by_slot'}), qr/^Replication slot "slot" keeps what was dead 1000\d{3} transactions ago\.$/, 'the words');
is($standby{with}->safe_psql('postgres', "set queue_ext.health_patience = 0; $held"), '', 'a standby has no VACUUM');
# At once: a standby that goes on for a second without its reader says that it needs nothing any more.
$standby{with}->stop('immediate');
$reader{with}->quit;
like(found(q{select detail || hint from queue_health() where finding = 'vacuum_held_by_slot'}),
	qr/^Replication slot "slot", which nobody uses, .*SELECT pg_drop_replication_slot\('slot'\);$/, 'a slot that nobody uses');
$primary->safe_psql('postgres', found(q{select hint from queue_health() where finding = 'vacuum_held_by_slot'}));
$reader{without}->query_safe('commit');
ok($primary->poll_query_until('postgres', $held, ''), 'all is well again');

# On the standby queues are looked at, too.
$primary->safe_psql('postgres', q{drop index jobs_priority_run_at_id_idx});
$primary->wait_for_catchup($standby{without});
is($standby{without}->safe_psql('postgres', 'select finding, queue from queue_health()'), 'claim_index_missing|public.jobs', 'a queue, on the standby');

# Workers send meanwhile: the next id is read after the greatest, so that it is greater.
$primary->safe_psql('postgres', q{select queue_create('sent', archive => true)});
my @senders = map { $primary->background_psql('postgres') } 1 .. 2;
$_->query_until(qr/sends/, q{set synchronous_commit = off;
\echo sends
do $$ begin loop perform queue_send('sent', '1'); commit; exit when to_regclass('enough') is not null; end loop; end $$;
\echo has sent
}) for @senders;
ok($primary->poll_query_until('postgres', q{select count(*) >= 1000 from sent}), 'jobs are sent');
is($primary->safe_psql('postgres', q{select count(*) from generate_series(1, 1000) as n, queue_health(case when n > 0 then 'sent' end) where finding = 'sequence_behind'}),
	'0', 'the sequence is not behind');
$primary->safe_psql('postgres', q{create table enough ()});
$_->query_until(qr/has sent/, '') for @senders;
$_->quit for @senders;
$primary->safe_psql('postgres', q{drop table enough; select queue_drop('sent')});

# It waits for no lock.
$other = $primary->background_psql('postgres');
$other->query_safe('begin; lock table jobs');
is($primary->safe_psql('postgres', q{set lock_timeout = '1min'; select finding from queue_health(); select finding from queue_health('jobs')}), '', 'a table that is locked is passed over');
$other->quit;
is($primary->safe_psql('postgres', 'select finding from queue_health()'), 'claim_index_missing', 'until it is not');

$reader{without}->quit;
$standby{without}->stop;
$primary->stop;
done_testing();
