-- A claim by statement that no index serves in order reads the pending rows, or the rows that come
-- before them in the order, as the statistics say.
set client_min_messages = error;
create schema test_unserved;
set search_path = test_unserved, public;
set queue_ext.claim_path = portable;

create function read_rows(queue text) returns table (popped bigint, few bool) language plpgsql as $$
declare
	before bigint;
begin
	for jobs in 1..3 loop
		-- The first plans it.
		popped := (select count(*) from queue_pop_rows(null::t, queue, jobs));
		before := (select sum(seq_tup_read + idx_tup_fetch) from pg_stat_xact_user_tables where schemaname = 'test_unserved');
		popped := popped + (select count(*) from queue_pop_rows(null::t, queue, jobs));
		few := (select sum(seq_tup_read + idx_tup_fetch) from pg_stat_xact_user_tables where schemaname = 'test_unserved') - before < 300;
		return next;
	end loop;
end $$;
create table t (id bigint primary key, wasabi int, scw int, at timestamptz) with (autovacuum_enabled = off);
create index on t (id) where wasabi is null;
create index on t (id) where scw is null;
select queue_attach('ordered', 't', pending => '(wasabi is null or scw is null) and at is null', order_by => 'id', on_claim => 'at = call_time');

-- Nearly all are pending.
insert into t select n, case when n % 2 = 0 then 1 end, case when n % 2 = 1 then 1 end from generate_series(1, 20000) as n;
insert into t select n, 1, 1 from generate_series(20001, 20010) as n;
vacuum analyze t;
begin;
select * from read_rows('ordered');
rollback;
-- Few are, behind all others.
truncate t;
insert into t select n, 1, case when n <= 19985 then 1 end from generate_series(1, 20000) as n;
vacuum analyze t;
begin;
select * from read_rows('ordered');
rollback;
-- Without statistics as well, and then with those of an empty table.
create table empty as select * from t;
truncate t;
vacuum analyze t;
begin;
select * from read_rows('ordered');
insert into t select * from empty;
select * from read_rows('ordered');
rollback;
drop table t, empty;
discard plans;
create table t (id bigint primary key, wasabi int, scw int, at timestamptz) with (autovacuum_enabled = off);
insert into t select n, 1, case when n <= 19985 then 1 else 0 end from generate_series(1, 20000) as n;
create index on t (id) where wasabi = 0;
create index on t (id) where scw = 0;
update pg_class set reltuples = -1 where oid = 't'::regclass;
select queue_attach('unknown', 't', pending => 'wasabi = 0 or scw = 0', order_by => 'id', on_claim => 'wasabi = 1, scw = 1');
begin;
select * from read_rows('unknown');
rollback;
drop table t;

-- Partitioned, nearly all pending.
discard plans;
create table t (id bigint primary key, wasabi int, scw int, at timestamptz) partition by range (id);
create table t_1 partition of t for values from (0) to (10000);
create table t_2 partition of t for values from (10000) to (30000);
create index on t (id) where wasabi is null;
create index on t (id) where scw is null;
select queue_attach('parts', 't', pending => '(wasabi is null or scw is null) and at is null', order_by => 'id', on_claim => 'at = call_time');
insert into t select n, case when n % 2 = 0 then 1 end, case when n % 2 = 1 then 1 end from generate_series(1, 20000) as n;
vacuum analyze t;
begin;
select * from read_rows('parts');
rollback;

drop schema test_unserved cascade;
