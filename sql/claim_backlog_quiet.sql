-- Rows that know no time, and jobs, of which there are more than the workers get through: once a read has taken the first, nobody reads
-- these again. They were read each second, from the first minute on.
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

-- So it is with more rows than a read takes.
truncate parcels;
insert into parcels select generate_series(1, 3000);
select id from queue_pop_rows(null::parcels, 'packing');
select sweeps() as before \gset
select pg_sleep(1.2);
select count(*), max(id) from queue_pop_rows(null::parcels, 'packing', 700);
insert into parcels values (-1);
select id from queue_pop_rows(null::parcels, 'packing', 2) order by id;
select sweeps() - :before as read_again;

-- And with the table of a managed queue: what a read passes by, as it is leased or scheduled, comes in its time and place.
select queue_create('jobs', lease => '1 hour');
create table sweeps_before (sweeps bigint);
create function sweeps_since() returns bigint language sql as $$
	select sum(s.sweeps) - (select b.sweeps from sweeps_before as b) from queue_claim_stats as s where source = 'jobs'::regclass $$;
create function made(priority integer, count integer, in_time interval, leased boolean) returns void language sql as $$
	insert into jobs (priority, payload, run_at, leased_until)
	select priority, to_jsonb(n), case when leased then '2000-01-01' else clock_timestamp() + in_time end,
		case when leased then clock_timestamp() + in_time end
	from generate_series(1, count) as n $$;
-- In one message of the client, those that come in a second behind the others: the first pop is to be before that.
begin \; select made(0, 3000, '-1 day', false), made(-2, 3, '1 second', true), made(-1, 40, '1 second', false) \; commit \; select id, priority from queue_pop('jobs');
insert into sweeps_before select sum(sweeps) from queue_claim_stats where source = 'jobs'::regclass;
select pg_sleep(1.2);
select priority, count(*) from queue_pop('jobs', 50) group by priority order by priority;
select pg_sleep(1.2);
select priority, count(*) from queue_pop('jobs', 50) group by priority order by priority;
select sweeps_since();
-- Also behind what the first read has taken, and more than are listed.
truncate jobs;
begin \; select made(0, 300, '-1 day', false), made(1, 300, '-1 day', false), made(2, 3000, '-1 day', false), made(0, 5, '1 second', true), made(1, 5, '1 second', false) \; commit \; select priority, count(*) from queue_pop('jobs', 700) group by priority order by priority;
select pg_sleep(1.2);
select priority, count(*) from queue_pop('jobs', 15) group by priority order by priority;
truncate jobs;
begin \; select made(0, 3000, '-1 day', false), made(-1, 1200, '1 second', true) \; commit \; select priority, count(*) from queue_pop('jobs', 10) group by priority order by priority;
select pg_sleep(1.2);
select priority, count(*) from queue_pop('jobs', 1300) group by priority order by priority;
-- Of these only the first are listed; when they have come the others are asked for.
truncate jobs;
begin \; select made(0, 3000, '-1 day', false), made(-2, 512, '1 second', true), made(-1, 50, '1.4 seconds', true) \; commit \; select priority, count(*) from queue_pop('jobs', 10) group by priority order by priority;
select pg_sleep(1.8);
select priority, count(*) from queue_pop('jobs', 10) group by priority order by priority;
select priority, count(*) from queue_pop('jobs', 502) group by priority order by priority;
select priority, count(*) from queue_pop('jobs', 60) group by priority order by priority;
-- What a transaction has passed by that has written itself, and is rolled back.
truncate jobs;
select made(0, 3000, '-1 day', false);
select id from queue_pop('jobs') \g /dev/null
begin;
delete from jobs where id in (select id from jobs where leased_until is null order by id offset 350 limit 10);
select count(*) from queue_pop('jobs', 500);
rollback;
create temp table popped as select id, row_number() over () as place from queue_pop('jobs', 600);
select count(*), count(*) filter (where id < previous) as out_of_order
from (select id, lag(id) over (order by place) as previous from popped) as p;
-- No one is told that the rows are back: the next look finds them, which comes later if the one before has taken long, but before
-- the minute is over after which any ring is swept.
create procedure look_again(inout jobs bigint default null) language plpgsql as $$
begin
	for i in 1 .. 200 loop
		perform pg_sleep(0.5);
		select count(*) into jobs from queue_pop('jobs', 10) where id < (select max(id) from popped);
		commit;
		exit when jobs > 0 or clock_timestamp() > statement_timestamp() + interval '40 s';
	end loop;
end $$;
call look_again();

-- Where a claim is a lock, and where a row has a time, rows that others have in hand were seen as they were: the table is read again.
select queue_detach('packing');
update parcels set packed = null;
select queue_attach('locked', 'parcels', 'packed is null', 'id', claim_mode => 'session', wake => true);
select id from queue_pop_rows(null::parcels, 'locked');
create procedure pop_again(inout read_again boolean default false, inout popped bigint default null) language plpgsql as $$
declare
	before bigint := sweeps();
	next bigint;
begin
	for i in 1 .. 200 loop
		perform pg_sleep(0.5);
		select id into next from queue_pop_rows(null::parcels, 'locked');
		commit;
		popped := coalesce(popped, next);
		read_again := sweeps() > before;
		exit when read_again or clock_timestamp() > statement_timestamp() + interval '40 s';
	end loop;
end $$;
call pop_again();
drop schema test_backlog cascade;
