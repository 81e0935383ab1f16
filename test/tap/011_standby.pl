# A hot standby: it can be looked at, it cannot be changed (25006), and once it is
# promoted the queue goes on where it was.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres', 'create extension queue_ext');
$primary->safe_psql(
	'postgres', q{
	select queue_create('q', archive => true);
	select queue_send_many('q', array['1', '2', '3']::jsonb[]);
});
$primary->safe_psql('postgres', q{select queue_pop('q', lease => '1 hour')});
$primary->safe_psql('postgres', q{select queue_pop('q', lease => '1 microsecond')});
$primary->wait_for_catchup($standby);

sub on_standby
{
	my ($query) = @_;
	return $standby->safe_psql('postgres', $query);
}

is(on_standby(q{select * from queue_counts('q')}), '2|0|1|0', 'jobs are counted on a standby');
is(on_standby(q{select state from queue_result('q', (select min(id) from q where leased_until is not null))}),
	'leased', 'what has become of a job is known on a standby');
is(on_standby('select queue, source, archive from queues'),
	'public.q|q|q_archive', 'queues are listed on a standby');
is(on_standby(q{select queue_unique_key('q', '1.0')}), 'unique_key|queue=public.q|args=1', 'keys of jobs are written on a standby');
my $receipt = on_standby(q{select queue_receipt('q', j) from q as j where id = 1});
like($receipt, qr/^[-\w]{42}$/, 'a receipt is made on a standby');
is(on_standby(q{select fnv_lock_key('x') = fnv1_64('x')}), 't', 'keys are hashed on a standby');

# Every function that is not said to be harmless here must refuse. So a new one
# is tested as soon as it exists.
my %call = (
	queue_create => q{'other'},
	queue_adopt => q{'q'},
	queue_upgrade => q{'q'},
	queue_schedule => q{'q', 's', '1 hour'},
	queue_unschedule => q{'q', 's'},
	queue_alter => q{'q', lease => '1 minute'},
	queue_drop => q{'q'},
	queue_purge => q{'q'},
	queue_pause => q{'q'},
	queue_resume => q{'q'},
	queue_send => q{'q', '1'},
	queue_send_many => q{'q', array['1']::jsonb[]},
	queue_unique_insert => q{'q', '1'},
	queue_unique_insert_row => q{null::q, '{id}'},
	queue_unique_insert_rows => q{array[null]::q[], '{id}'},
	queue_unique_insert_many => q{'q', array['1']::jsonb[]},
	queue_pop => q{'q'},
	queue_attach => q{'mine', 'q', 'true', claim_mode => 'transaction'},
	queue_detach => q{'q'},
	queue_pop_rows => q{null::q},
	map({ $_ => q{'q', null::q} }
		qw(queue_complete_row queue_release_row queue_fail_row queue_extend_row)),
	map({ $_ => q{'q', 'x'} }
		qw(queue_complete_receipt queue_release_receipt queue_fail_receipt queue_extend_receipt)),
	map({ $_ => q{'q', '{}'} }
		qw(queue_complete_receipts queue_release_receipts queue_fail_receipts
		  queue_extend_receipts)),
	throttle_create => q{'x', '1 hour'},
	throttle_alter => q{'r'},
	throttle_drop => q{'r'},
	lock_throttled_resource => q{'r', 'x'},
	throttle_acquire => q{'r', 'x'},
	queue_pop_any => q{'{q}'},
	map({ $_ => q{'m'} } qw(mutex_acquire mutex_acquire_fenced mutex_release)),
	map({ $_ => q{'m', '1 hour'} } qw(timeout_acquire timeout_acquire_fenced)),
	lock_set_retries => q{'m', 1},
	map({ $_ => q{'q', 1, 1} }
		qw(queue_complete queue_complete_pop queue_fail queue_release queue_extend queue_cancel queue_requeue)),
	map({ $_ => q{'q', '{1}', '{1}'} }
		qw(queue_complete_many queue_fail_many queue_release_many queue_extend_many
		  queue_cancel_many queue_requeue_many)),);
my @writers = split /\n/, $primary->safe_psql(
	'postgres', q{
	select distinct p.proname from pg_proc p
	join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
	join pg_extension e on e.oid = d.refobjid and e.extname = 'queue_ext'
	where p.proname not like 'fnv%' and p.prokind <> 'p' and p.proname not in ('queue_counts', 'queue_result', 'queue_claim_path', 'queue_is_held', 'queue_claim_counters', 'queue_health',
		'queue_claim_stats_reset', 'queue_stats_counters', 'queue_stats_buckets', 'queue_stats_reset', 'queue_lock', 'queue_try_lock', 'queue_receipt', 'queue_unique_key', 'queue_wake')
	order by 1});
cmp_ok(scalar @writers, '>=', 28, 'there are functions that write');
for my $writer (@writers)
{
	ok(exists $call{$writer}, "$writer() is known to this test") or next;
	my ($status, $out, $error) = $standby->psql(
		'postgres',
		"select $writer($call{$writer})",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($error, qr/ERROR:  25006: cannot execute \Q$writer\E\(\) /, "$writer() on a standby");
}

my %procedure = (queue_wait => q{'q'}, queue_pop_wait => q{'q'}, queue_pop_wait_any => q{'{q}'}, queue_maintain => q{'q'}, queue_change_where => q{'q', 'true', priority => 1},
	map({ $_ => q{'q', 'true'} } qw(queue_requeue_where queue_cancel_where queue_delete_where)));
is(join(' ', sort keys %procedure), $primary->safe_psql('postgres', q{select string_agg(proname, ' ' order by proname collate "C")
	from pg_proc where prokind = 'p' and proname like 'queue%' and proname <> 'queue_wait_done'}), 'all procedures are known to this test');
for my $procedure (sort keys %procedure)
{
	my ($status, $out, $error) = $standby->psql(
		'postgres',
		"call $procedure($procedure{$procedure})",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($error, qr/ERROR:  25006: cannot execute \Q$procedure\E\(\) /, "$procedure() on a standby");
}

# What only looks waits there, too.
is(on_standby(q{call queue_wait_done('q', 1, '10 ms')}), 'leased|', 'a job that has not ended');
is(on_standby(q{call queue_wait_done('q', 99)}), '|', 'and one that is not there');

# A read-only transaction on the primary is refused in the same words.
my ($status, $out, $error) = $primary->psql('postgres',
	q{begin read only; select queue_pop('q')}, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($error, qr/ERROR:  25006: cannot execute queue_pop\(\) in a read-only transaction/,
	'a read-only transaction');

# The same session looks on, while it is a standby, and works as soon as it is not.
$primary->stop('immediate');
$standby->promote;
is(on_standby(q{select id, attempt from queue_pop('q', 10)}), "2|2\n3|1",
	'after promotion jobs are claimed, the leased one is not');
is(on_standby(qq{select queue_extend_receipt('q', '$receipt') = '$receipt'}), 't', 'its text is good');
is(on_standby(q{select queue_complete('q', 1, 1)}), 't', 'a receipt from the primary is good');
is(on_standby(qq{select queue_complete_receipt('q', '$receipt')}), 'f', 'and then not any more');
is(on_standby(q{select queue_complete('q', 2, 1)}), 'f', 'a stale one is not');
is(on_standby(q{select queue_complete('q', 2, 2)}), 't', 'a new one is');
cmp_ok(on_standby(q{select queue_send('q', '4')}), '>', 3, 'a new job gets a new id');
is(on_standby(q{select queue_create('other')}), 'other', 'a new queue is made');
is(on_standby('select id, state from q_archive order by id'),
	"1|completed\n2|completed", 'the archive goes on');

$standby->stop;
for my $node ($primary, $standby)
{
	my @lines = grep { /\b(WARNING|PANIC|leak|TRAP)\b/ } split /\n/, slurp_file($node->logfile);
	is(join("\n", @lines), '', 'the log of ' . $node->name . ' is quiet');
}

done_testing();
