-- A claim by statement finds its rows by the whole key, whatever the statistics say: in a table with
-- a key of several columns it does not read all rows that share the first of them.
set client_min_messages = warning;
create schema test_composite;
set search_path = test_composite, public;
set queue_ext.claim_path = portable;

-- The blocks of the table, its partitions and their indexes that this transaction has read.
create function blocks(source regclass) returns bigint language sql as $$
	select sum(pg_stat_get_xact_blocks_fetched(tree.relid) + coalesce((
		select sum(pg_stat_get_xact_blocks_fetched(indexrelid)) from pg_index where indrelid = tree.relid), 0))
	from (select source as relid union select relid from pg_partition_tree(source)) as tree
$$;
-- Plans the statements while the table is empty, and then pops, gives back and completes with many
-- rows in it. The counts of blocks are of pop, release and complete.
create function live(queue text) returns table (popped int, few bool, few_released bool, few_completed bool)
language plpgsql as $$
declare
	read bigint[];
	receipts text[];
begin
	for jobs in 1..3 loop
		perform queue_pop_rows(null::t, queue, jobs * jobs);
	end loop;
	perform queue_release_row(queue, row('a', 'a', 0, null, null, null)::t);
	perform queue_complete_row(queue, row('a', 'a', 0, null, null, null)::t);
	insert into t select 'a', 'a', n, n from generate_series(1, 20000) as n;
	for jobs in 1..3 loop
		read := array[blocks('t')];
		receipts := array(select row_of::text from queue_pop_rows(null::t, queue, jobs * jobs) as row_of);
		read := read || blocks('t');
		perform queue_release_row(queue, receipts[1]::t);
		read := read || blocks('t');
		perform queue_complete_row(queue, receipts[cardinality(receipts)]::t);
		read := read || blocks('t');
		return query select cardinality(receipts), read[2] - read[1] < 40 * jobs * jobs, read[3] - read[2] < 40, read[4] - read[3] < 40;
	end loop;
end $$;
create procedure attach(queue text) language plpgsql as $$
begin
	perform queue_attach(queue, 't', pending => 'state is null', order_by => 'id', on_claim => 'state = 1, at = call_time',
		on_complete => 'state = 2', on_release => 'state = null');
end $$;

-- Two columns, and three.
create table t (region text, tenant varchar, id bigint, note text, state int, at timestamptz, primary key (region, id));
alter table t set (autovacuum_enabled = off);
create index on t (id) where state is null;
call attach('two');
begin;
select * from live('two');
rollback;
alter table t drop constraint t_pkey, add primary key (region, tenant, id);
begin;
select * from live('two');
rollback;
-- Newer indexes that begin like the key; one of them is unique.
create index on t (region);
create unique index on t (region, note);
begin;
select * from live('two');
rollback;
-- Analyzed when each row had a region of its own.
insert into t select n, n, n, n from generate_series(1, 20) as n;
vacuum analyze t;
begin;
select * from live('two');
rollback;
delete from t;
vacuum t;
begin;
select * from live('two');
rollback;
-- In mode session a row is read again by its key.
begin;
drop index t_id_idx;
create index on t (region, note) where state is null;
create index on t (region) where state is null;
insert into t values ('a', 'a', 0, '0');
select queue_attach('held', 't', pending => 'state is null', order_by => 'region, note', claim_mode => 'session',
	on_complete => 'state = 2');
select popped, few from live('held');
rollback;
-- Under row security, where the policies add conditions.
create role regress_composite;
grant usage on schema test_composite to regress_composite;
grant all on t to regress_composite;
alter table t enable row level security;
create policy everything on t using (region <> 'none');
begin;
set local role regress_composite;
select * from live('two');
rollback;
drop owned by regress_composite;
drop role regress_composite;
-- Partitioned.
drop table t;
create table t (region text, tenant varchar, id bigint, note text, state int, at timestamptz, primary key (region, id)) partition by list (region);
create table t_a partition of t for values in ('a') with (autovacuum_enabled = off);
create table t_b partition of t for values in ('b') with (autovacuum_enabled = off);
create index on t (id) where state is null;
create index on t (region);
call attach('parts');
begin;
select * from live('parts');
rollback;

drop schema test_composite cascade;
