# Adoption without harm: on a table with triggers, foreign keys, generated columns
# and a publication, 1,000 pops, and what finishes them, leave the same rows, fire
# the same triggers and send the same logical changes as 1,000 UPDATE statements.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('adoption');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "max_replication_slots = 10\nmax_wal_senders = 10\n");
$node->start;

my $jobs = 1000;

# One database by pops, one by plain statements.
sub make_database
{
	my ($name, @settings) = @_;
	$node->safe_psql('postgres', "create database $name");
	$node->safe_psql(
		$name, qq{
		create extension queue_ext;
		create publication p;
		create table customer (id integer primary key, name text not null);
		create table job (
			id integer primary key,
			customer integer not null references customer on update cascade,
			state text not null default 'new' check (state in ('new', 'running', 'done', 'failed')),
			started integer,
			attempts integer not null default 0,
			label text generated always as (state || '-' || attempts::text) stored,
			payload text,
			unique (customer, id)
		);
		alter table job alter payload set storage external;
		create index on job (id) where state = 'new';
		create table step (id integer generated always as identity primary key, job integer not null references job on delete cascade);
		create table audit (n integer generated always as identity, what text);
		create table state_count (state text primary key, n integer not null);
		create function audit() returns trigger language plpgsql as \$\$
		begin
			insert into audit (what) values (concat_ws(' ', tg_when, tg_level, tg_op, old, new));
			return coalesce(new, old);
		end \$\$;
		create function count_states() returns trigger language plpgsql as \$\$
		begin
			if tg_op <> 'INSERT' then update state_count set n = n - 1 where state = old.state; end if;
			if tg_op <> 'DELETE' then
				insert into state_count values (new.state, 1) on conflict (state) do update set n = state_count.n + 1;
			end if;
			return null;
		end \$\$;
		create function count_attempts() returns trigger language plpgsql as \$\$
		begin
			if new.state = 'running' then new.attempts := old.attempts + 1; end if;
			return new;
		end \$\$;
		create trigger counts after insert or update or delete on job for each row execute function count_states();
		create trigger attempts before update on job for each row execute function count_attempts();
		insert into customer select n, 'c' || n from generate_series(1, 10) as n;
		insert into job (id, customer, payload) select n, 1 + n % 10, repeat(n::text, 700) from generate_series(1, $jobs + 10) as n;
		insert into step (job) select id from job, generate_series(1, 2);
		create trigger audit_row before update or delete on job for each row execute function audit();
		create trigger audit_row_after after update or delete on job for each row execute function audit();
		create trigger audit_statement before update or delete on job for each statement execute function audit();
		create trigger audit_statement_after after update or delete on job for each statement execute function audit();
		create trigger audit_step after delete on step for each row execute function audit();
		alter publication p add table job (id, state, attempts), step where (id % 2 = 0);
		select pg_create_logical_replication_slot('$name\_text', 'test_decoding');
		select pg_create_logical_replication_slot('$name\_binary', 'pgoutput');
		@settings
	});
	return;
}

# The changes since the last look, without transaction ids. Every transaction's
# begin and end are there: as many as there were statements.
sub changes
{
	my ($name) = @_;
	my $text = $node->safe_psql($name, qq{
		select data from pg_logical_slot_get_changes('$name\_text', null, null, 'include-xids', '0', 'skip-empty-xacts', '1')
		where data !~ 'queue_definition'});
	# Changes begin with the table's OID, which differs; the rest of them counts. The
	# other messages have OIDs, places and times.
	my $binary = $node->safe_psql($name, qq{
		select chr(get_byte(data, 0)) || ' ' ||
			case when chr(get_byte(data, 0)) in ('I', 'U', 'D') then encode(substr(data, 6), 'escape') else length(data)::text end
		from pg_logical_slot_get_binary_changes('$name\_binary', null, null, 'proto_version', '1', 'publication_names', 'p')});
	return ($text, $binary);
}

make_database('popped', q{
	select queue_attach('job', 'job', $$state = 'new'$$, 'id', $$state = 'running', started = 7$$,
		on_release => $$state = 'new', started = null$$, on_fail => $$state = 'failed'$$);});
make_database('updated');
changes($_) for 'popped', 'updated';

# Each a transaction of its own, in turn.
sub run
{
	my ($name, @statements) = @_;
	my $file = $node->basedir . "/$name.sql";
	append_to_file($file, join(";\n", @statements, ''));
	$node->command_ok([ 'psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($name), '-f', $file, '-o', '/dev/null' ],
		"$name: " . @statements . ' statements');
	unlink $file;
	return;
}

sub compare
{
	my ($what, $least) = @_;
	for my $query (
		'select *, xmin = xmax from job order by id',
		'select * from customer order by id',
		'select * from step order by id',
		'select what from audit order by n',
		'select * from state_count order by state')
	{
		my ($popped, $updated) = map { $node->safe_psql($_, $query) } 'popped', 'updated';
		ok($popped eq $updated, "$what: the same from $query");
	}
	my @popped = changes('popped');
	my @updated = changes('updated');
	for my $i (0, 1)
	{
		my $kind = ('test_decoding', 'pgoutput')[$i];
		my $count = () = $popped[$i] =~ /\n/g;
		cmp_ok($count, '>=', $least, "$what: $kind sees $count changes");
		ok($popped[$i] eq $updated[$i], "$what: $kind sees the same ones");
	}
	return;
}

run('popped', map { q{select * from queue_pop_rows(null::job)} } 1 .. $jobs);
run('updated', map { qq{update job set state = 'running', started = 7 where id = $_} } 1 .. $jobs);
compare('1,000 pops', 3 * $jobs);
is($node->safe_psql('popped', q{select count(*), min(id), max(id) from job where label = 'running-1'}), "$jobs|1|$jobs",
	'they were the first thousand');

# Many at once are one UPDATE.
run('popped', q{select * from queue_pop_rows(null::job, 'job', 7)});
run('updated', q{update job set state = 'running', started = 7 where id between 1001 and 1007});
compare('a pop of many', 7);

# What comes after.
run('popped', (map { qq{select queue_complete_row('job', j) from job j where id = $_} } 1 .. 200),
	(map { qq{select queue_release_row('job', j) from job j where id = $_} } 201 .. 300),
	(map { qq{select queue_fail_row('job', j, 'no') from job j where id = $_} } 301 .. 400));
run('updated', (map { qq{delete from job where id = $_} } 1 .. 200),
	(map { qq{update job set state = 'new', started = null where id = $_} } 201 .. 300),
	(map { qq{update job set state = 'failed' where id = $_} } 301 .. 400));
compare('completions, releases, failures', 400);

# A claim that only locks sends nothing, and its completion sends what DELETE does.
for my $mode ('transaction', 'session')
{
	$node->safe_psql('popped', qq{
		set client_min_messages = error;
		select queue_attach('by_$mode', 'job', \$\$state = 'failed'\$\$, 'id', claim_mode => '$mode')});
	changes('popped');
	run('popped', map { qq{select * from queue_pop_rows(null::job, 'by_$mode')} } 1 .. 20);
	my ($text, $binary) = changes('popped');
	is($text . $binary, '', "$mode: no change from a claim");
	# What the session before has let go comes late by a sweep, unless a claim reads the table itself.
	$node->safe_psql('postgres', 'alter database popped set queue_ext.claim_path = portable');
	run('popped', map { qq{select queue_complete_row('by_$mode', j) from queue_pop_rows(null::job, 'by_$mode') j} } 1 .. 20);
	$node->safe_psql('postgres', 'alter database popped reset queue_ext.claim_path');
	my $first = $mode eq 'transaction' ? 301 : 321;
	run('updated', map { qq{delete from job where id = $_} } $first .. $first + 19);
	compare("completions in mode $mode", 20);
}

# A published table without a replica identity: PostgreSQL's own refusal.
for my $name ('popped', 'updated')
{
	$node->safe_psql($name, q{
		create table nameless (state integer);
		insert into nameless values (0);
		create publication q for table nameless});
}
my ($status, $out, $popped) = $node->psql('popped', q{
	set client_min_messages = error;
	select queue_attach('nameless', 'nameless', 'state = 0', null, 'state = 1');
	\set VERBOSITY sqlstate
	select queue_pop_rows(null::nameless)});
my (undef, undef, $updated) = $node->psql('updated', "\\set VERBOSITY sqlstate\nupdate nameless set state = 1");
s/^psql:<stdin>:\d+: // for $popped, $updated;
is($popped, $updated, 'no replica identity: no claim');
like($popped, qr/55000/, 'for the reason that an UPDATE gives');
is($node->safe_psql('popped', 'select state from nameless'), '0', 'and nothing is written');

$node->stop;
done_testing();
