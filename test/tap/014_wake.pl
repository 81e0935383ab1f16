# Rows become claimable again where no backend is left to announce them: after backends that
# are terminated or lose their clients, prepared transactions that outlive the server, and
# with the workers of more queues than there are rings. A pop is never empty while a row is
# claimable. Then: the wake-up trigger in a dump, and where it does not fire.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wake');
$node->init;
$node->append_conf('postgresql.conf', q{
max_prepared_transactions = 5
queue_ext.max_rings = 8
});
$node->start;
$node->safe_psql(
	'postgres', q{
	set client_min_messages = error;
	create schema tools;
	create extension queue_ext schema tools;
	alter database postgres set search_path = public, tools;
});

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

sql(q{
	set client_min_messages = error;
	select queue_create('q', lease => '1 hour');
	create table t (id bigint generated always as identity primary key, state integer not null default 0);
	create index on t (id) where state = 0;
	select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', wake => true);
	create table tx (like t including all);
	select queue_attach('tx', 'tx', 'state = 0', 'id', claim_mode => 'transaction', on_complete => 'state = 1', wake => true);
	create table ts (like t including all);
	select queue_attach('ts', 'ts', 'state = 0', 'id', claim_mode => 'session', on_complete => 'state = 1', wake => true);
	-- Of each queue the next, in one row.
	create function pops(out q bigint, out t bigint, out tx bigint, out ts bigint) language sql volatile
	begin atomic
		select (select id from queue_pop('q')), (select id from queue_pop_rows(null::t)),
			(select id from queue_pop_rows(null::tx)), (select id from queue_pop_rows(null::ts));
	end;
	-- Sends to each.
	create procedure sends(n integer) language sql
	begin atomic
		select queue_send_many('q', array_fill('1'::jsonb, array[n]));
		insert into t select from generate_series(1, n);
		insert into tx select from generate_series(1, n);
		insert into ts select from generate_series(1, n);
	end;
	create procedure clear() language plpgsql as 'begin truncate q, t, tx, ts restart identity; end';
});
my $pops = 'select * from pops()';

# 1. A worker ends before it commits. It is another session's pop that has the rows.
my $ends = {
	'is terminated' => sub { my ($worker, $pid) = @_; sql("select pg_terminate_backend($pid)") },
	'loses its client' => sub { my ($worker) = @_; $worker->{run}->kill_kill },
	'closes' => sub { my ($worker) = @_; $worker->quit },
};
for my $how (sort keys %$ends)
{
	sql('call clear(); call sends(1)');
	my $worker = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $worker->query_safe('select pg_backend_pid()');
	is($worker->query_safe('begin; select * from pops(); insert into q (payload) values (1::text::jsonb)'),
		'1|1|1|1', "a worker that $how: has claimed");
	is(sql($pops), '|||', '... all there is');
	$ends->{$how}->($worker, $pid);
	$node->poll_query_until('postgres', "select not exists (select from pg_stat_activity where pid = $pid)")
	  or die 'it does not end';
	is(sql($pops), '1|1|1|1', '... its rows are claimable');
	is(sql("select * from queue_pop('q')"), '', '... what it has sent is not');
}

# 2. Prepared transactions, also past a restart.
my $prepare = q{begin; %s; prepare transaction 'p'};
sql('call clear()');
is(sql("$pops; $pops"), "|||\n|||", 'idle');
sql(sprintf $prepare, 'call sends(1)');
is(sql($pops), '|||', 'sent, and prepared');
$node->restart;
is(sql("$pops; $pops"), '|||' . "\n" . '|||', '... and nothing after a restart');
sql(q{commit prepared 'p'});
is(sql($pops), '1|1|1|1', '... but when it is committed');
sql('update q set leased_until = null; update t set state = 0');
sql(sprintf $prepare, 'select * from pops()');
# A prepared transaction has no session, so it has let go of an advisory lock.
is(sql($pops), '|||1', 'claimed, and prepared');
$node->stop('immediate');
$node->start;
is(sql($pops), '|||1', '... and nothing after a crash');
sql(q{rollback prepared 'p'});
is(sql($pops), '1|1|1|1', '... but when it is rolled back');

# 3. More queues than rings, and each ring is given away all the time: in each queue, nothing
# is lost, nothing comes twice, and no pop is empty while there is something.
my $queues = 60;
sql(qq{
	set client_min_messages = error;
	do \$\$ begin
		for n in 1 .. $queues loop
			perform queue_create('many_' || n, lease => '1 hour');
		end loop;
	end \$\$;
	create table ledger (n integer, id bigint, place bigint generated always as identity);
	-- Sends a job to each queue and claims one, at times at the second try.
	create procedure rounds(rounds integer, workers integer) language plpgsql as \$\$
	declare
		job queue_job;
	begin
		for r in 1 .. rounds loop
			for n in 1 .. $queues loop
				perform queue_send('many_' || n, to_jsonb(r));
				commit;
				if n % 5 = 0 then
					begin
						perform queue_pop('many_' || n);
						raise exception using errcode = 'UNDO1';
					exception when sqlstate 'UNDO1' then
						null;
					end;
				end if;
				select * into job from queue_pop('many_' || n);
				if workers = 1 and job.id is null then
					raise 'many_% is empty', n;
				end if;
				-- Where a ring has been given away a statement claims, and passes by what
				-- others are claiming.
				for try in 1 .. 10000 loop
					exit when job.id is not null;
					select * into job from queue_pop('many_' || n);
				end loop;
				insert into ledger (n, id) values (n, job.id);
				if r % 2 = 0 then
					perform queue_complete('many_' || n, job.id, job.attempt);
				end if;
				commit;
			end loop;
		end loop;
	end \$\$;
});
is(sql("call rounds(4, 1); select count(*), count(distinct (n, id)), count(distinct n) from ledger"),
	join('|', $queues * 4, $queues * 4, $queues), 'more queues than rings');
is(sql('select count(*) from (select id < lag(id) over (partition by n order by place) as early from ledger) as l where early'),
	0, '... each in order');
is(sql('select count(*) <= 8, count(*) > 4 from queue_claim_stats'), 't|t', '... with the rings that there are');
sql('truncate ledger');
is(sql("select count(*) from generate_series(1, 3), generate_series(1, $queues) as n, queue_pop('many_' || n)"), 0, '... and then none');
# Two at once: each sends before it claims, so there is always enough for both.
my @workers = map {
	IPC::Run::start([ 'psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', 'call rounds(6, 2)' ],
		'<', \undef, '>&', \my $said)
} 1 .. 2;
is(join(',', map { $_->finish ? 'done' : 'failed' } @workers), 'done,done', '... two workers');
is(sql('select count(*), count(distinct (n, id)) from ledger'), join('|', $queues * 12, $queues * 12), '... each job once');
# It is set when the rings are made.
$node->append_conf('postgresql.conf', 'queue_ext.max_rings = 100');
$node->reload;
sql($pops);
is(sql("select count(*) from generate_series(1, $queues) as n, queue_pop('many_' || n); select count(*) <= 8 from queue_claim_stats"),
	"0\nt", 'another number of rings is for later');
$node->restart;
is(sql("select count(*) from generate_series(1, $queues) as n, queue_pop('many_' || n); select count(*) > 8 from queue_claim_stats"),
	"0\nt", '... after a restart');

# 4. A dump has the trigger, and that it goes with the extension.
my $triggers = q{select string_agg(format('%s %s', tgrelid::regclass, deptype), ', ' order by tgrelid::regclass::text collate "C")
	from pg_trigger as t join pg_depend on classid = 'pg_trigger'::regclass and objid = t.oid
	join pg_extension as e on refclassid = 'pg_extension'::regclass and refobjid = e.oid
	where tgname = 'queue_ext_wake' and tgrelid::regclass::text not like 'many%'};
is(sql($triggers), 'q x, t x, ts x, tx x', 'the triggers depend on the extension');
sql('call clear(); call sends(1)');
my $dir = PostgreSQL::Test::Utils::tempdir();
for my $format ('plain', 'custom')
{
	my $copy = "copy_$format";
	$node->command_ok([ 'pg_dump', '-F', $format, '-f', "$dir/$format", $node->connstr('postgres') ], "dump as $format");
	$node->safe_psql('postgres', "create database $copy");
	$node->command_ok(
		$format eq 'plain'
		? [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/$format", $node->connstr($copy) ]
		: [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($copy), "$dir/$format" ],
		'restore it');
	my $in = 'set search_path = public, tools';
	is($node->safe_psql($copy, $triggers), 'q x, t x, ts x, tx x', 'so they do in the copy');
	is($node->safe_psql($copy, "$in; $pops"), '1|1|1|1', '... whose rows are claimable');
	is($node->safe_psql($copy, "$in; $pops; call sends(1); $pops"), "||1|1\n2|2|1|2", '... and new ones');
	is($node->safe_psql($copy, "drop extension queue_ext cascade; select count(*) from pg_trigger where tgname = 'queue_ext_wake';
		insert into q (payload) values ('1'); select count(*) from q"), "0\n3", '... and which stay without the extension');
}

$node->stop;
my $allowed = qr/terminating connection due to administrator command|connection to client lost|database system is|shutdown/;
my @lines = grep { /\b(WARNING|PANIC|FATAL|leak|TRAP)\b/ && $_ !~ $allowed } split /\n/, slurp_file($node->logfile);
is(join("\n", @lines), '', 'the log is quiet');

done_testing();
