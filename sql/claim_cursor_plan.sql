-- A fill behind the cursor reads nothing of what stands in front of it, whichever index looks as cheap.
set client_min_messages = error;
create schema test_cursor_plan;
set search_path = test_cursor_plan, public;
set queue_ext.claim_path = auto;

-- Whether a pop that reads on has read few rows.
create function reads_few(source regclass, max_jobs integer) returns boolean language plpgsql as $$
declare
	before bigint := (select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables where schemaname = 'test_cursor_plan');
	last bigint;
begin
	execute format('select max(id) from queue_pop_rows(null::%s, max_jobs => %s)', source, max_jobs) into last;
	raise info 'up to %', last;
	return (select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables where schemaname = 'test_cursor_plan') - before < 3000;
end $$;

-- By the statistics all rows are of one priority, so that the indexes of the id cost the least. In truth
-- those behind the first ones have another. The sub-select needs the primary key all the same.
create table t (id bigint primary key, priority integer not null, after bigint, state integer not null) with (autovacuum_enabled = off);
create index on t (priority desc, id) where state = 0;
create index on t (id) where state = 0;
insert into t select i, 0, -i, 0 from generate_series(1, 20000) as i;
vacuum analyze t;
update t set priority = -1 where id between 601 and 19000;
select queue_attach('t', 't', 'state = 0 and not exists (select from t as other where other.id = t.after)',
	'priority desc, id', 'state = 1');
select reads_few('t', 400);
select reads_few('t', 400);
select reads_few('t', 400);

-- In truth those behind the first ones are done, and the primary key is the smaller index.
create table u (id bigint primary key, note text not null, state integer not null) with (autovacuum_enabled = off);
create index on u (id, note) where state = 0;
insert into u select i, repeat('x', 40), 0 from generate_series(1, 20000) as i;
vacuum analyze u;
update u set state = 1 where id between 601 and 19000;
select queue_attach('u', 'u', 'state = 0', 'id', 'state = 1');
select reads_few('u', 400);
select reads_few('u', 400);

-- With an index of the first column alone, the scan begins at the cursor's value; there is nothing better.
create table v (id bigint primary key, priority integer not null, state integer not null) with (autovacuum_enabled = off);
create index on v (priority) where state = 0;
insert into v select i, i / 10, 0 from generate_series(1, 5000) as i;
vacuum analyze v;
select queue_attach('v', 'v', 'state = 0', 'priority, id', 'state = 1');
select count(*), min(id), max(id) from queue_pop_rows(null::v, max_jobs => 700);
select count(*), min(id), max(id) from queue_pop_rows(null::v, max_jobs => 700);
drop schema test_cursor_plan cascade;
