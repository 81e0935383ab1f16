# Others claim, complete or change jobs of an attached queue and roll back: the rows that they give back are claimed at
# their places in the order, and no pop reads the table from its head for that.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('news');
$node->init;
$node->start;

my $to_itself = 'host=' . $node->host . ' port=' . $node->port . ' dbname=postgres';
$node->safe_psql(
	'postgres', qq{
	set client_min_messages = error;
	create extension queue_ext;
	create extension dblink;
	create table task (id integer primary key, urgency integer not null default 5, state text not null default 'ready', since timestamptz);
	insert into task (id, urgency, state) select i, 1, 'taken' from generate_series(1, 3000) as i;
	insert into task (id, urgency) select i, i % 7 from generate_series(10001, 13000) as i;
	create index on task (urgency desc, id) where state = 'ready';
	vacuum analyze task;
	select queue_attach('task', 'task', pending => 'state = ''ready''', order_by => 'urgency desc, id',
		on_claim => 'state = ''taken'', since = call_time', on_complete => 'state = ''done''', wake => true);
	create procedure try_rollbacks(event text, inout in_order integer default 0, inout sweeps numeric default null) language plpgsql as \$\$
	declare
		before bigint;
		began timestamptz := clock_timestamp();
		expected integer;
		got integer;
	begin
		perform dblink_connect('other', '$to_itself');
		perform queue_pop_rows(null::task, 'task');
		commit;
		select sum(s.sweeps) into before from queue_claim_stats as s where source = 'task'::regclass;
		for i in 1 .. 100 loop
			select id into expected from task where state = 'ready' order by urgency desc, id limit 1;
			perform dblink_exec('other', 'begin');
			perform * from dblink('other', event) as t(x text);
			-- The next one, as that one is locked.
			perform queue_pop_rows(null::task, 'task');
			commit;
			perform dblink_exec('other', 'rollback');
			select id into got from queue_pop_rows(null::task, 'task');
			commit;
			in_order := in_order + (got = expected)::integer;
		end loop;
		-- But for those that come at intervals of a tenth of a second or more.
		select sum(s.sweeps) - before - extract(epoch from clock_timestamp() - began) * 10 into sweeps
		from queue_claim_stats as s where source = 'task'::regclass;
		perform dblink_disconnect('other');
	end \$\$;
	-- Two workers give up, the one that was first before the other.
	create procedure try_two_rollbacks(inout in_order integer default 0) language plpgsql as \$\$
	declare
		claimed text[];
		again text[];
	begin
		perform dblink_connect(name, '$to_itself') from unnest('{other,third}'::text[]) as name;
		for i in 1 .. 20 loop
			perform dblink_exec(name, 'begin') from unnest('{other,third}'::text[]) as name;
			claimed := array(select x from unnest('{other,third}'::text[]) as name,
				dblink(name, 'select id::text from queue_pop_rows(null::task, ''task'')') as t(x text));
			perform dblink_exec(name, 'rollback') from unnest('{other,third}'::text[]) as name;
			again := array(select id::text from queue_pop_rows(null::task, 'task', 2));
			commit;
			in_order := in_order + (claimed = again)::integer;
		end loop;
		perform dblink_disconnect(name) from unnest('{other,third}'::text[]) as name;
	end \$\$;
});

my %events = (
	'claim' => q{select id::text from queue_pop_rows(null::task, 'task')},
	'claim and complete' => q{select queue_complete_row('task', t)::text from queue_pop_rows(null::task, 'task') as t},
	'change' => q{update task set urgency = 0 where id = (select id from task where state = 'ready' order by urgency desc, id limit 1) returning id::text},
);
for my $event (sort keys %events)
{
	my ($in_order, $sweeps) = split /\|/, $node->safe_psql('postgres', "call try_rollbacks(\$q\$$events{$event}\$q\$)");
	is($in_order, 100, "others $event, and roll back: it is the next");
	cmp_ok($sweeps, '<=', 10, '... and hardly anybody sweeps');
}
is($node->safe_psql('postgres', 'call try_two_rollbacks()'), 20, 'two roll back: their jobs come in the order');

done_testing();
