-- Rows that others write into an attached queue's table are claimed in their order without a read of the table from its
-- head for each: sweeps are counted, and the intervals that there was time for.
set client_min_messages = error;
create schema test_news;
set search_path = test_news, public;
set queue_ext.claim_path = auto;
create table task (id integer primary key, urgency integer not null default 5, state text not null default 'ready', since timestamptz);
insert into task (id, urgency, state) select i, 1, 'taken' from generate_series(1, 3000) as i;
insert into task (id) select i from generate_series(10001, 13000) as i;
create index on task (urgency desc, id) where state = 'ready';
vacuum analyze task;
select queue_attach('task', 'task', pending => 'state = ''ready''', order_by => 'urgency desc, id', on_claim => 'state = ''taken'', since = call_time', on_complete => 'state = ''done''', wake => true);

create procedure test_sweeps(event text, times integer default 300, inout few boolean default null)
language plpgsql as $$
declare
	began timestamptz := clock_timestamp();
	before bigint;
	job task;
begin
	perform queue_pop_rows(null::task, 'task');
	select sum(sweeps) into before from queue_claim_stats where source = 'task'::regclass;
	for i in 1 .. times loop
		select * into job from queue_pop_rows(null::task, 'task');
		commit;
		execute event using job.id, i;
		commit;
	end loop;
	select sum(sweeps) - before <= 10 + extract(epoch from clock_timestamp() - began) * 10 into few
		from queue_claim_stats where source = 'task'::regclass;
end $$;
-- Behind all, before all, between; changed so that they come sooner, or later; finished by hand.
call test_sweeps('insert into task (id) values (20000 + $2 + 0 * $1)');
call test_sweeps('insert into task (id, urgency) values (30000 + $2 + 0 * $1, 9)');
call test_sweeps('insert into task (id) select 11500 - $2 * 4 + 0 * $1 on conflict do nothing');
call test_sweeps('update task set urgency = 9 where id = 12900 - $2 and $1 is not null');
call test_sweeps('update task set urgency = 1 where id = 12000 + $2 and $1 is not null');
call test_sweeps('update task set state = ''done'' where id = $1 and $2 is not null');
-- Whatever was taken before, it comes in the order.
create procedure test_order(event text, times integer default 200, inout in_order boolean default true)
language plpgsql as $$
declare
	expected integer;
	got integer;
begin
	for i in 1 .. times loop
		execute event using i;
		commit;
		select id into expected from task where state = 'ready' order by urgency desc, id limit 1;
		select id into got from queue_pop_rows(null::task, 'task');
		commit;
		in_order := in_order and got is not distinct from expected;
	end loop;
end $$;
call test_order('insert into task (id, urgency) select 40000 + (hashint4($1) & 1023) + 1024 * $1, hashint4($1) % 7 + 5');
call test_order('update task set urgency = hashint4($1) % 9 where id = (select max(id) - $1 from task)');
call test_order('update task set state = ''ready'', urgency = 4 + $1 % 3 where id = (select min(id) from task where state = ''taken'')');
-- More than are kept in the log.
call test_order('insert into task (id, urgency) select 1000000 - 100 * $1 + i, i % 3 + 5 from generate_series(1, 100) as i', 20);

-- A rollback gives back what was claimed, and what was changed, at its place: TAP 052_news. What is still at its place does not come twice.
select sum(gone) as gone from queue_claim_stats where source = 'task'::regclass \gset
do $$ begin
	for i in 1 .. 3 loop
		begin
			update task set urgency = 0 where id in (select id from task where state = 'ready' order by urgency desc, id limit 10);
			raise division_by_zero;
		exception when division_by_zero then
		end;
	end loop;
end $$;
select count(*) from queue_pop_rows(null::task, 'task', 100);
select sum(gone) - :gone as gone from queue_claim_stats where source = 'task'::regclass;

-- Empty for free, and told of each row.
update task set state = 'done';
create procedure test_empty(inout taken bigint default 0, inout few boolean default null)
language plpgsql as $$
declare
	began timestamptz := clock_timestamp();
	before bigint;
begin
	perform queue_pop_rows(null::task, 'task');
	commit;
	select sum(sweeps) into before from queue_claim_stats where source = 'task'::regclass;
	for i in 1 .. 200 loop
		insert into task (id, urgency) values (-i, i % 5);
		commit;
		taken := taken + (select count(*) from queue_pop_rows(null::task, 'task', 5));
		commit;
		taken := taken + (select count(*) from queue_pop_rows(null::task, 'task', 5));
		commit;
	end loop;
	select sum(sweeps) - before <= 10 + extract(epoch from clock_timestamp() - began) * 10 into few
		from queue_claim_stats where source = 'task'::regclass;
end $$;
call test_empty();
-- More commits than are kept, between two pops.
do $$ begin
	for i in 1 .. 100 loop
		insert into task (id) values (-1000 - i);
		commit;
	end loop;
end $$;
select count(*) from queue_pop_rows(null::task, 'task', 1000);
select count(*) from task where state = 'ready';

-- What is finished by hand, or was claimed, is nothing to try; what only this transaction has removed is there again after
-- a rollback.
insert into task (id) select i from generate_series(-2010, -2001) as i;
select count(*) from queue_pop_rows(null::task, 'task', 20);
select count(*) from queue_pop_rows(null::task, 'task', 20);
select sum(not_pending) as not_pending from queue_claim_stats where source = 'task'::regclass \gset
update task set state = 'done' where id between -2010 and -2006;
select count(*) from queue_pop_rows(null::task, 'task', 20);
update task set urgency = 2 where id between -2005 and -2001;
select count(*) from queue_pop_rows(null::task, 'task', 20);
select sum(not_pending) - :not_pending as not_pending from queue_claim_stats where source = 'task'::regclass;
insert into task (id) values (-3001), (-3002);
begin;
delete from task where id = -3001;
update task set state = 'done' where id = -3002;
set local queue_ext.claim_path = direct;
select count(*) from queue_pop_rows(null::task, 'task', 20);
rollback;
select id from queue_pop_rows(null::task, 'task', 20);
select count(*) from queue_pop_rows(null::task, 'task', 20);
insert into task (id) values (-3003);
begin;
delete from task where id = -3003;
select count(*) from queue_pop_rows(null::task, 'task', 20);
rollback;
select id from queue_pop_rows(null::task, 'task', 20);

-- Children have rows of their own.
create table family (id integer primary key, urgency integer not null, taken boolean not null default false);
select queue_attach('family', 'family', pending => 'not taken', order_by => 'urgency desc, id', on_claim => 'taken = true', wake => true);
create table child () inherits (family);
insert into family select i, 2 from generate_series(1, 10) as i;
insert into child select i, 9 from generate_series(11, 20) as i;
select id from queue_pop_rows(null::family, 'family');
insert into family values (99, 1);
insert into family values (98, 9);
select array_agg(id) from queue_pop_rows(null::family, 'family', 30);

-- Equals, also of the last that was read.
create table few (id integer generated always as identity primary key, urgency integer not null, taken boolean not null default false);
insert into few (urgency) select i / 5 from generate_series(1, 2000) as i;
create index on few (urgency desc) where not taken;
vacuum analyze few;
select queue_attach('few', 'few', pending => 'not taken', order_by => 'urgency desc', on_claim => 'taken = true', wake => true);
select id from queue_pop_rows(null::few, 'few');
create procedure test_equals(inout taken integer default 0, inout in_order boolean default true)
language plpgsql as $$
declare
	expected integer;
	got integer;
begin
	for i in 0 .. 3000 loop
		if i < 400 then
			insert into few (urgency) values (i);
			commit;
		end if;
		-- Fewer commits than are kept, between two pops.
		continue when i < 400 and i % 40 <> 0;
		select urgency into expected from few where not few.taken order by urgency desc limit 1;
		select urgency into got from queue_pop_rows(null::few, 'few');
		commit;
		exit when expected is null;
		taken := taken + 1;
		in_order := in_order and got is not distinct from expected;
	end loop;
end $$;
call test_equals();

-- The trigger is for each row; where there are partitions or children, for each statement. One of before 0.2 goes on
-- working, and is made anew when asked for.
select tgname, tgtype & 1 as for_row, tgnargs from pg_trigger where tgrelid = 'task'::regclass and not tgisinternal;
create table parted (id integer primary key, done boolean not null default false) partition by range (id);
create table parted_1 partition of parted for values from (1) to (1000);
select queue_attach('parted', 'parted', pending => 'not done', order_by => 'id', on_claim => 'done = true', wake => true);
select tgrelid::regclass, tgtype & 1 as for_row, tgnargs from pg_trigger where tgrelid in ('parted'::regclass, 'parted_1'::regclass) and not tgisinternal;
drop trigger queue_ext_wake on task;
create trigger queue_ext_wake after insert or update on task for each statement execute function queue_wake();
alter table task enable always trigger queue_ext_wake;
insert into task (id, urgency) values (7000000, 1), (7000001, 2);
select id from queue_pop_rows(null::task, 'task');
insert into task (id, urgency) values (7000002, 3);
select id from queue_pop_rows(null::task, 'task');
select queue_alter('task', wake => true);
select tgname, tgtype & 1 as for_row, tgnargs from pg_trigger where tgrelid = 'task'::regclass and not tgisinternal;

-- An order of other types; equals in the order in which they come.
create table note (place text collate "C" not null, at timestamptz not null, n integer, taken boolean not null default false);
alter table note add primary key (place, n);
select queue_attach('note', 'note', pending => 'not taken', order_by => 'place desc, at', on_claim => 'taken = true', wake => true);
insert into note values ('b', '2026-01-01', 1), ('b', '2026-01-02', 2), ('é', '2026-01-01', 3);
select n from queue_pop_rows(null::note, 'note');
insert into note values ('a', '2026-01-01', 4), ('b', '2026-01-01', 5), ('b', '-infinity', 6), ('zz', '2026-01-01', 7), ('', 'infinity', 8);
select array_agg(n) from queue_pop_rows(null::note, 'note', 20);

-- A row for which pending raises an error stands in no other's way until it is its turn.
create table poison (id integer primary key, n text not null default '1', taken boolean not null default false);
create index on poison (id) where not taken;
select queue_attach('poison', 'poison', pending => 'not taken and n::integer > 0', order_by => 'id', on_claim => 'taken = true', wake => true);
insert into poison select generate_series(1, 3000);
select id from queue_pop_rows(null::poison, 'poison');
insert into poison values (100000, 'x'), (0, '1');
select id from queue_pop_rows(null::poison, 'poison');
select id from queue_pop_rows(null::poison, 'poison');
select count(*), max(id) from queue_pop_rows(null::poison, 'poison', 500);
-- Where the ring has all that is pending, it is evaluated as it is told; the error names it.
delete from poison where id > 400;
select count(*), max(id) from queue_pop_rows(null::poison, 'poison', 500);
insert into poison values (100001, 'y');
select id from queue_pop_rows(null::poison, 'poison');

drop schema test_news cascade;
