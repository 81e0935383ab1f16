# What queue_attach says about indexes: a warning exactly where no index supports the
# claims, with a hint that can be run as it is and makes the warning go away; from
# then on no claim reads the table from end to end.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('index_hint');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;

$node->safe_psql(
	'postgres', q{
	create extension queue_ext;
	create schema jobs;
	create type jobs.color as enum ('red', 'green');
	create collation jobs.plain from "C";
	create function jobs.double(integer) returns integer language sql immutable return $1 * 2;
	create function jobs.luck(integer) returns boolean language sql volatile return $1 > 0;
	create table jobs.columns (
		id integer primary key, state text not null default 'new', priority integer not null default 0, "Due at" timestamptz default now(),
		color jobs.color default 'red', data jsonb default '{"n": 1}', tags integer[] default '{1,2}', note text, locked_at bigint
	);
	create table jobs.plain (like jobs.columns including all);
	create table jobs.keyless as select * from jobs.columns;
	create table jobs."Odd Name" (like jobs.columns including all);
	create table jobs.parted (like jobs.columns including defaults, primary key (id)) partition by range (id);
	create table jobs.parted_1 partition of jobs.parted for values from (0) to (1000);
	create table jobs.parted_2 partition of jobs.parted for values from (1000) to (100000) partition by range (id);
	create table jobs.parted_2a partition of jobs.parted_2 for values from (1000) to (100000);
	create table jobs.parent (like jobs.columns including all);
	create table jobs.child (extra text, primary key (id)) inherits (jobs.parent);
	create table jobs.grandchild (primary key (id)) inherits (jobs.child);
	insert into jobs.plain select n, case when n % 100 = 0 then 'new' else 'old' end, n % 3 from generate_series(1, 3000) as n;
	insert into jobs."Odd Name" select * from jobs.plain;
	insert into jobs.keyless select * from jobs.plain;
	insert into jobs.parted select * from jobs.plain;
	insert into jobs.parent select * from jobs.plain where id % 3 = 0;
	insert into jobs.child select * from jobs.plain where id % 3 = 1;
	insert into jobs.grandchild select * from jobs.plain where id % 3 = 2;
});

my $counter = 0;

# The queue's name, and what queue_attach had to say.
sub attach
{
	my ($table, $pending, $order_by, $mode) = @_;
	my $name = 'jobs.q' . ++$counter;
	my $order = defined $order_by ? "\$f\$$order_by\$f\$" : 'null';
	my $claim = $mode eq 'update' ? "'state = ''taken'', locked_at = 1'" : 'null';
	my ($status, $out, $said) = $node->psql('postgres',
		"set search_path = public, jobs; select queue_attach('$name', '$table', \$f\$$pending\$f\$, $order, $claim, claim_mode => '$mode')");
	is($status, 0, "attach $table: $pending, $order") or diag($said);
	my ($hint) = $said =~ /^HINT: +Run (.*)$/m;
	ok(!defined $hint == ($said !~ /WARNING/), 'a warning has a hint') if $said =~ /WARNING/;
	return ($name, $said =~ /WARNING/ ? 1 : 0, $hint);
}

# Scans from end to end of the table and all under it.
sub scans
{
	my ($table) = @_;
	# A session that has ended tells its counts on its way out.
	$node->poll_query_until('postgres', q{select count(*) = 0 from pg_stat_activity
		where backend_type = 'client backend' and pid <> pg_backend_pid()}) or die 'sessions stay';
	return $node->safe_psql('postgres', qq{
		select coalesce(sum(seq_scan), 0) from pg_stat_all_tables
		where relid in (select relid from pg_partition_tree('$table')
			union select '$table'::regclass
			union select inhrelid from pg_inherits where inhparent = '$table'::regclass
			union select i2.inhrelid from pg_inherits i1 join pg_inherits i2 on i2.inhparent = i1.inhrelid where i1.inhparent = '$table'::regclass)});
}

sub is_claimed_without_scan
{
	my ($table, $name) = @_;
	# Both before ANALYZE and after it; of a sample in turns.
	for my $analyzed (($ENV{QUEUE_EXT_SAMPLE} || 1) > 1 ? $counter / 2 % 2 : (0, 1))
	{
		$node->safe_psql('postgres', "analyze $table") if $analyzed;
		my $before = scans($table);
		my $popped = $node->safe_psql('postgres', qq{
			select count(*) from queue_pop_rows(null::$table, '$name', 1);
			select count(*) from queue_pop_rows(null::$table, '$name', 3);
			select count(*) from queue_pop_rows(null::$table, '$name', 1000)});
		like($popped, qr/^1\n3\n/, "$name: rows are popped");
		is(scans($table), $before, "$name: without reading all of $table");
		$node->safe_psql('postgres', "update $table set state = case when id % 100 = 0 then 'new' else 'old' end, locked_at = null where state = 'taken'");
	}
	return;
}

# Tables by pendings and orders: each with its hint's index only, made by running it.
my @pendings = (
	[ q{state = 'new'}, q{state = 'new'} ],
	[ q{state = 'new' and (locked_at is null or locked_at < extract(epoch from call_time) - 60)}, q{state = 'new'} ],
	[ q{state in ('new', 'again') and note is null}, q{note} ],
	[ q{not (state <> 'new')}, q{state} ],
	[ q{state = 'new' and "Due at" <= call_time}, q{state = 'new'} ],
	[ q{state = 'new' and color = 'red'}, q{jobs.color} ],
	[ q{state = 'new' and data ->> 'n' = '1' and tags @> '{1}'}, q{->>} ],
	[ q{state = 'new' and double(id) > 0}, q{jobs.double} ],
	[ q{state = 'new' and luck(id)}, q{state = 'new'} ],
	[ q{state = 'new' and exists (select from pg_class)}, q{state = 'new'} ],
	[ q{state = 'new' and "Due at" < now() + interval '1 day'}, q{state = 'new'} ],
	[ q{state::text || 'x' = 'newx'}, q{||} ],
);
my @orders = (
	'id', 'id desc', 'priority desc, id', 'priority nulls first, "Due at" desc nulls last, id desc nulls first',
	'lower(state), id', 'priority + id', '-id', '(data ->> \'n\') desc, id', 'note collate plain, id', 'double(id) desc', 'color, tags, id',
	undef,
);
sub check
{
	my ($table, $pending, $order, $mode, $part) = @_;
	my ($name, $is_warned, $hint) = attach($table, $pending, $order, $mode);
	ok($is_warned, "$name: a warning without an index");
	return unless defined $hint;
	like($hint, qr/^CREATE INDEX ON .* \(.*\) WHERE .*\Q$part\E/, "$name: $hint");
	my ($status, $out, $said) = $node->psql('postgres', $hint);
	is($status, 0, "$name: the hint can be run") or diag($said);
	($name, $is_warned) = attach($table, $pending, $order, $mode);
	is($is_warned, 0, "$name: the warning is gone") or diag($hint);
	is_claimed_without_scan($table, $name);
	$node->safe_psql('postgres', q{
		do $$ declare i regclass; begin
			for i in select indexrelid::regclass from pg_index
				where not indisprimary and indrelid::regclass::text like 'jobs.%' and not exists (select from pg_inherits where inhrelid = indexrelid)
			loop execute 'drop index ' || i; end loop;
		end $$});
	return;
}
# Each of them once; or, with QUEUE_EXT_SAMPLE, the half of the orders that comes with a pending.
my $step = ($ENV{QUEUE_EXT_SAMPLE} || 1) > 1 ? 2 : 1;
check('jobs.plain', $pendings[$_][0], $orders[ $_ % @orders ], 'update', $pendings[$_][1]) for 0 .. $#pendings;
check('jobs.plain', $pendings[0][0], $orders[ $_ * $step ], ('transaction', 'session', 'update')[ $_ % 3 ], $pendings[0][1]) for 0 .. $#orders / $step;
# A limit in a sub-select's plan is not the claim's.
check('jobs.plain', q{state = 'new' and id > (select coalesce(max(c.id), 0) from jobs.columns c)}, 'note, id', 'update', q{state = 'new'});
for my $table ('jobs."Odd Name"', 'jobs.keyless', 'jobs.parted', 'jobs.parent')
{
	check($table, $pendings[0][0], $orders[$_], $_ % 2 ? 'update' : 'transaction', $pendings[0][1]) for $step == 1 ? (0, 2, 3, 11) : (2, 11);
	check($table, $pendings[6][0], $orders[4], 'update', $pendings[6][1]);
}

# Indexes that do not serve, and some that do.
my @indexes = (
	[ 'jobs.plain (id) where state = \'new\'', 0 ],
	[ 'jobs.plain (id)', 1 ],
	[ 'jobs.plain (state)', 1 ],
	[ 'jobs.plain (state, id)', 0 ],
	[ 'jobs.plain (id, state)', undef ], # restricts, but reads all of the index: either may be said
	[ 'jobs.plain (id desc) where state = \'new\'', 0 ],
	[ 'jobs.plain (priority) where state = \'new\'', 1 ],
	[ 'jobs.plain (id) where state = \'old\'', 1 ],
	[ 'jobs.plain (id) where state in (\'new\', \'old\')', undef ], # either may be said, by how many are old
	[ 'jobs.plain (id) where state = \'new\' and note = \'x\'', 1 ],
	[ 'jobs.plain using hash (state)', 1 ],
	[ 'jobs.plain using brin (id) where state = \'new\'', 1 ],
	[ 'jobs.plain (id, priority) include (note) where state = \'new\'', 0 ],
);
for (@indexes)
{
	my ($index, $expected) = @$_;
	$node->safe_psql('postgres', "create index i on $index");
	my ($name, $is_warned) = attach('jobs.plain', q{state = 'new'}, 'id', 'update');
	is($is_warned, $expected, "an index on $index") if defined $expected;
	$node->safe_psql('postgres', 'drop index jobs.i');
}
$node->safe_psql('postgres', q{create index i on jobs.plain (id) where state = 'new'; update pg_index set indisvalid = false where indexrelid = 'jobs.i'::regclass});
my ($name, $is_warned) = attach('jobs.plain', q{state = 'new'}, 'id', 'update');
is($is_warned, 1, 'an index that is not valid');
$node->safe_psql('postgres', 'drop index jobs.i');

# Orders and conditions that no index can hold: no warning would help, and no hint
# that cannot be run is given.
for (
	[ q{state = 'new'}, q{(select max(p.id) from jobs.columns p) - id} ],
	[ q{state = 'new'}, q{color::text, id} ],
	[ q{state = 'new'}, q{extract(dow from "Due at"), id} ],
	[ q{state = 'new'}, q{"Due at" - call_time, id} ],
	[ q{state = 'new'}, q{worker, id} ],
	[ q{state = 'new'}, q{random()} ],
	[ q{state = 'new'}, q{row(priority, id)} ],
	[ q{state = 'new'}, q{ctid} ])
{
	my ($pending, $order) = @$_;
	my ($name, $is_warned, $hint) = attach('jobs.plain', $pending, $order, 'update');
	my $said = '';
	(undef, undef, $said) = $node->psql('postgres', "begin; $hint; rollback") if defined $hint;
	is($said, '', "order by $order: no hint, or one that can be run") or diag($hint);
}
is((attach('jobs.plain', 'true', undef, 'transaction'))[1], 0, 'any row will do');
for my $pending ('true', q{luck(id)}, q{"Due at" <= call_time}, q{exists (select from pg_class)}, 'false', 'null')
{
	my ($name, $is_warned) = attach('jobs.plain', $pending, 'id', 'transaction');
	is($is_warned, 0, "pending $pending: nothing that an index could hold") unless $pending =~ /Due/;
	($name, $is_warned, my $hint) = attach('jobs.plain', $pending, 'note', 'transaction');
	next unless defined $hint;
	my (undef, undef, $said) = $node->psql('postgres', $hint);
	is($said, '', "its hint can be run: $hint");
	($name, $is_warned) = attach('jobs.plain', $pending, 'note', 'transaction');
	is($is_warned, 0, 'and helps');
	$node->safe_psql('postgres', 'drop index jobs.plain_note_idx');
}

$node->stop;
done_testing();
