# A backend that is stopped while it reads candidates for all: others do not wait for it
# but a moment, read for themselves, and get as many jobs as they ask for. And a client that is gone by the
# time its backend has read.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('stalled_filler');
$node->init;
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$node->start;

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	set client_min_messages = error;
	create extension queue_ext;
	-- What each has got.
	create table ledger (who text, id bigint);
	select queue_create('q', lease => '1 hour');
	create table t (id bigint primary key, state integer not null default 0);
	create index t_id on t (id) where state = 0;
	select queue_attach('t', 't', 'state = 0', 'id', claim_mode => 'transaction', on_complete => 'state = 1');
});

# Where a read can be held up by a lock that hinders no claim: a sweep of a managed queue
# looks for prepared transactions, others read by an index.
my %cases = (
	'a sweep' => {
		queue => 'q',
		fill => q{select count(*) from queue_send_many('q', array_fill('1'::jsonb, array[4000]))},
		prepare => q{select count(*) from queue_pop('q', 1); begin; update q set payload = '2' where id = 4000; rollback},
		lock => q{set local allow_system_table_mods = on; alter view pg_catalog.pg_prepared_xacts reset (security_barrier)},
		pop => q{with j as (select * from queue_pop('q', %2$d)) insert into ledger select '%1$s', id from j},
	},
	'a fill' => {
		queue => 't',
		fill => 'insert into t select generate_series(1, 4000)',
		prepare => 'select count(*) from queue_pop_rows(null::t)',
		lock => 'alter index t_id set tablespace pg_default',
		pop => q{with j as (select *, queue_complete_row('t', j) from queue_pop_rows(null::t, max_jobs => %2$d) as j) insert into ledger select '%1$s', id from j},
	});

for my $what (sort keys %cases)
{
	my %case = %{ $cases{$what} };
	my $locker = $node->background_psql('postgres');
	my $filler = $node->background_psql('postgres');
	my $pid = $filler->query_safe('select pg_backend_pid()');
	sql($case{fill});
	sql("truncate ledger; $case{prepare}");
	$locker->query_safe("begin; $case{lock}");
	$filler->query_until(qr/filling/, sprintf("\\echo filling\n$case{pop};\n", 'the filler', 130));
	$node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $pid")
	  or die 'it does not wait';
	kill('STOP', $pid) == 1 or die $!;
	# The lock is now the stopped backend's, and is in no other's way.
	$locker->query_safe('rollback');
	my $counters = "select claims from queue_claim_stats where source = '$case{queue}'::regclass";
	my $before = sql($counters);
	sql(sprintf $case{pop}, 'another', 300);
	is(sql('select who, count(*) from ledger group by who'), 'another|300', "$what is held up: a pop gets what it asks for");
	is(sql($counters), $before + 300, '... of those read by itself');
	sql(sprintf $case{pop}, 'a third', 300);
	is(sql($counters), $before + 600, '... and so does the next');
	kill('CONT', $pid) == 1 or die $!;
	$filler->query_safe('select');
	is(sql('select who, count(*), count(distinct id) from ledger group by rollup (who) order by who'),
		"a third|300|300\nanother|300|300\nthe filler|130|130\n|730|730", '... nor does the one held up get less, or the same');
	$_->quit for $filler, $locker;
}

# All that begin to sweep are held up, one after the other. That ends: a statement claims.
my $locker = $node->background_psql('postgres');
sql(q{select queue_create('empty_ring', lease => '1 hour'); select queue_send_many('empty_ring', array_fill('1'::jsonb, array[1000]))});
sql('truncate ledger');
$locker->query_safe("begin; $cases{'a sweep'}{lock}");
my @held_up;
my $pop = q{insert into ledger select '%s', id from queue_pop('empty_ring', 100)};
for my $who (1 .. 7)
{
	my $filler = $node->background_psql('postgres');
	my $pid = $filler->query_safe('select pg_backend_pid()');
	$filler->query_until(qr/filling/, "\\echo filling\n" . sprintf($pop, $who) . ";\n");
	$node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $pid")
	  or die 'it does not wait';
	push @held_up, $filler;
}
sql(sprintf $pop, 'a statement');
is(sql('select who, count(*) from ledger group by who'), 'a statement|100', 'all reads are held up: a statement claims');
$locker->query_safe('rollback');
$_->query_safe('select') for @held_up;
is(sql('select count(*), count(distinct id), count(distinct who) from ledger'),
	'800|800|8', '... and when they go on each gets what it asks for');
$_->quit for @held_up;

# A client dies while its call is held up: no job can be handed to it.
sql(q{select queue_create('w', lease => '1 hour'); select queue_send_many('w', array_fill('1'::jsonb, array[10]))});
$locker->query_safe("begin; $cases{'a sweep'}{lock}");
my ($in, $out) = ('', '');
my $client = IPC::Run::start([ 'psql', '--no-psqlrc', '--dbname', $node->connstr('postgres'), '--command', q{call queue_pop_wait('w', '1 hour', worker => 'dead')} ],
	'<', \$in, '>&', \$out);
my $call = q{from pg_stat_activity where query like 'call%dead%'};
$node->poll_query_until('postgres', "select wait_event_type = 'Lock' $call") or die 'it does not wait';
$client->signal('KILL');
eval { $client->finish };
$locker->query_safe('rollback');
$node->poll_query_until('postgres', "select count(*) = 0 $call") or die 'it goes on';
is(sql('select count(*) from w where leased_by is not null'), 0, 'no job is claimed for a client that has died meanwhile');
$locker->quit;

$node->stop;
my $allowed = qr/terminating connection due to administrator command|connection to client lost|database system is|shutdown/;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && $_ !~ $allowed } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
