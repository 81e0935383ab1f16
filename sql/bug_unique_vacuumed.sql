-- A table has grown since a unique insert found it empty: the next one finds a job by its key's entry of the index. It has
-- read all keys before where it takes a statement, as here by row security and by rights on columns; in tables of one's
-- own it did not.
\set VERBOSITY terse
set client_min_messages = warning;
create schema test_unique_vacuumed;
set search_path = test_unique_vacuumed, public;
create role regress_unique_vacuumed;
select queue_create('jobs');
alter table jobs enable row level security;
create policy everyone on jobs using (true);
select queue_create('few');
create table own (id bigint generated always as identity primary key, made_at timestamptz not null default now(), name text not null);
create index on own (made_at, id);
create index on own (name);
create table parts (like own including defaults) partition by hash (name);
create index on parts (made_at, id);
create index on parts (name);
create table part partition of parts for values with (modulus 1, remainder 0);
grant usage on schema test_unique_vacuumed to regress_unique_vacuumed;
grant all on jobs, own, parts to regress_unique_vacuumed;
grant insert, select (id, unique_key, run_at, leased_until, dead_at, payload) on few to regress_unique_vacuumed;
-- What this transaction has read of tables and their indexes.
create function has_read_few(tables text[]) returns boolean stable set search_path = test_unique_vacuumed, pg_catalog language sql as
	$$ select sum(pg_stat_get_xact_tuples_returned(oid)) < 100 from pg_class where oid = any (tables::regclass[])
		or oid in (select indexrelid from pg_index where indrelid = any (tables::regclass[])) $$;
grant execute on function has_read_few to regress_unique_vacuumed;
vacuum jobs;
vacuum few;
vacuum own;
vacuum part;
set role regress_unique_vacuumed;
select inserted from queue_unique_insert('jobs', '{"a": 0}');
select inserted from queue_unique_insert('few', '{"a": 0}');
select inserted from queue_unique_insert_row((null, now(), 'b')::own, '{name}');
select inserted from queue_unique_insert_row((0, now(), 'b')::parts, '{name}');
insert into jobs (unique_key, payload) select n::text, '{}' from generate_series(1, 1000) n;
insert into few (unique_key, payload) select n::text, '{}' from generate_series(1, 1000) n;
insert into own (name) select n::text from generate_series(1, 1000) n;
insert into parts (id, name) select n, n::text from generate_series(1, 1000) n;
begin;
select inserted from queue_unique_insert('jobs', '{"a": 1}');
select inserted from queue_unique_insert('jobs', '{"a": 1}');
select inserted from queue_unique_insert_many('jobs', '{"{\"a\": 1}", "{\"a\": 2}"}');
select has_read_few('{jobs}');
select inserted from queue_unique_insert('few', '{"a": 1}');
select inserted from queue_unique_insert('few', '{"a": 1}');
select has_read_few('{few}');
select inserted from queue_unique_insert_row((null, now(), 'a')::own, '{name}');
select inserted from queue_unique_insert_row((null, now(), 'a')::own, '{name}');
select has_read_few('{own}');
select inserted from queue_unique_insert_row((0, now(), 'a')::parts, '{name}');
select inserted from queue_unique_insert_row((0, now(), 'a')::parts, '{name}');
select has_read_few('{part}');
commit;
reset role;
drop schema test_unique_vacuumed cascade;
drop role regress_unique_vacuumed;
