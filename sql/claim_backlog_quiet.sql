-- A table of one's own whose rows know no time, with more rows than its workers get through: once it has been read to the
-- end, nobody reads it again. It was read each second from the first minute on.
set client_min_messages = warning;
create schema test_backlog;
set search_path = test_backlog, public;
set queue_ext.claim_path = direct;
create table parcels (id integer primary key, packed timestamptz);
create index on parcels (id) where packed is null;
insert into parcels select generate_series(1, 100);
select queue_attach('packing', 'parcels', 'packed is null', 'id', 'packed = call_time', wake => true);
create function sweeps() returns bigint language sql as $$
	select sum(sweeps) from queue_claim_stats where source = 'parcels'::regclass $$;

select id from queue_pop_rows(null::parcels, 'packing');
select sweeps();
-- Sweeps of a ring that is told of all are a second apart.
select pg_sleep(1.2);
select id from queue_pop_rows(null::parcels, 'packing');
select pg_sleep(1.2);
select id from queue_pop_rows(null::parcels, 'packing', 3);
select sweeps();
-- It is told of what comes, and in which order; of what is given up, and of what is deleted.
insert into parcels values (0), (101);
update parcels set packed = null where id = 2;
delete from parcels where id = 6;
begin;
select id from queue_pop_rows(null::parcels, 'packing', 2) order by id;
rollback;
select id from queue_pop_rows(null::parcels, 'packing', 4) order by id;
select count(*), min(id), max(id) from queue_pop_rows(null::parcels, 'packing', 1000);
-- One that was passed by, as its row had gone, may have come back unseen: so the next look is soon.
select sweeps() <= 3 as few;

-- Where a claim is a lock, and where a row has a time, rows that others have in hand were seen as they were: the table is read again.
select queue_detach('packing');
update parcels set packed = null;
select queue_attach('locked', 'parcels', 'packed is null', 'id', claim_mode => 'session', wake => true);
select id from queue_pop_rows(null::parcels, 'locked');
select sweeps() as before \gset
select pg_sleep(1.2);
select id from queue_pop_rows(null::parcels, 'locked');
select sweeps() > :before as read_again;
drop schema test_backlog cascade;
