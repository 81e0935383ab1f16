-- What becomes of held rows when their table is emptied, rewritten, moved or dropped.
set client_min_messages = warning;
create schema test_hold_table_change;
set search_path = test_hold_table_change, public;
create table items (id integer primary key, note integer);
create index on items (note);
insert into items select generate_series(1, 3);
create view locks as
select count(*) filter (where classid = (select oid from pg_class where relname = 'items' and relnamespace = 'test_hold_table_change'::regnamespace)) as of_items,
	count(*) filter (where not exists (select from pg_class where oid = classid)) as of_dropped
from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objsubid = 2;
create function pops(count integer) returns integer[] language sql as
$$ select array_agg(j.id order by j.id) from queue_pop_rows(null::test_hold_table_change.items, 'q', count) as j $$;
select queue_attach('q', 'items', 'id > 0', 'id', claim_mode => 'session');

-- Emptied: the rows are gone, and their locks, and new ones with the same keys are new.
select pops(2);
truncate items;
select * from locks;
insert into items select generate_series(1, 3);
select pops(2);
select queue_complete_row('q', row(1, null)::items), queue_complete_row('q', row(3, null)::items);

-- Not before that is committed.
begin;
truncate items;
select queue_complete_row('q', row(2, null)::items) as gone;
insert into items values (2);
select pops(2);
select * from locks;
rollback;
select * from locks;
select queue_complete_row('q', row(2, null)::items);
select pops(1);
begin;
savepoint a;
truncate items;
insert into items values (3), (4);
select pops(2);
rollback to a;
select pops(2);
select queue_complete_row('q', row(3, null)::items);
commit;
select * from locks;

-- Rows that were claimed after that, in the same transaction, are held.
insert into items select generate_series(5, 8);
select pops(1);
begin;
truncate items;
insert into items values (5), (6);
select pops(2);
commit;
select * from locks;
select queue_complete_row('q', row(5, null)::items), queue_complete_row('q', row(6, null)::items);
select pops(1);
select queue_complete_row('q', row(5, null)::items);

-- Moved, indexed anew, or rewritten: they are the same rows.
insert into items select generate_series(11, 14);
select pops(3);
set allow_in_place_tablespaces = on;
create tablespace regress_queue_ext_hold location '';
alter table items set tablespace regress_queue_ext_hold;
alter index items_pkey set tablespace regress_queue_ext_hold;
select * from locks;
alter table items set tablespace pg_default;
alter index items_pkey set tablespace pg_default;
select * from locks;
drop tablespace regress_queue_ext_hold;
select queue_release_row('q', row(13, null)::items);
select pops(1);
alter table items drop constraint items_pkey;
select * from locks;
alter table items add primary key (id);
select queue_release_row('q', row(13, null)::items);
select pops(1);
reindex table items;
select * from locks;
alter table items alter column note type bigint;
select * from locks;
vacuum full items;
select * from locks;
cluster items using items_pkey;
select * from locks;
alter table items add column moment timestamptz default clock_timestamp();
select * from locks;
alter table items set unlogged;
select * from locks;
select pops(9);
select queue_complete_row('q', i) from items as i order by id;
select * from locks;

-- Dropped.
insert into items (id) values (1), (2);
select pops(2);
begin;
drop table items;
select of_dropped from locks;
rollback;
select * from locks;
drop table items;
select * from locks;

drop schema test_hold_table_change cascade;
