-- What happens beside claims does not have them read the table from its head: that is done at intervals, and
-- where knowledge was lost. Sweeps are counted, and the intervals that there was time for.
set client_min_messages = warning;
set queue_ext.claim_path = direct;
select queue_create('events');
insert into events (priority, payload, attempt, leased_until) select -1, '1', 1, now() + interval '1 day' from generate_series(1, 3000);
insert into events (payload) select '1' from generate_series(1, 3000);
select queue_create('events_kept', archive => true);
insert into events_kept (priority, payload, attempt, leased_until) select -1, '1', 1, now() + interval '1 day' from generate_series(1, 3000);
insert into events_kept (payload) select '1' from generate_series(1, 3000);
vacuum analyze events, events_kept;

-- Calls the event 300 times, between claims; whether there were no more sweeps than one for each 100 ms, and a few.
create procedure test_sweeps(name text, event text, inout few boolean default null)
language plpgsql as $$
declare
	began timestamptz := clock_timestamp();
	before bigint;
	job queue_job;
begin
	perform queue_pop(name);
	select sum(sweeps) into before from queue_claim_stats where source = name::regclass;
	for i in 1 .. 300 loop
		select * into job from queue_pop(name);
		commit;
		execute event using name, job.id, job.attempt;
		rollback;
	end loop;
	select sum(sweeps) - before <= 10 + extract(epoch from clock_timestamp() - began) * 10 into few
		from queue_claim_stats where source = name::regclass;
end $$;

-- A worker fails, and rolls back what it has done to its job.
call test_sweeps('events', 'select queue_complete($1, $2, $3)');
call test_sweeps('events_kept', 'select queue_complete($1, $2, $3)');
call test_sweeps('events', 'select queue_complete_many($1, array[$2], array[$3])');
call test_sweeps('events', 'select queue_fail($1, $2, $3)');
call test_sweeps('events', 'select queue_extend($1, $2, $3)');
call test_sweeps('events', 'select queue_release($1, $2, $3)');
-- So does who changes a job that is to come.
call test_sweeps('events', 'update events set run_at = run_at + interval ''1 day'' where id = $2 and attempt = $3 and $1 is not null');

-- A queue in which there is a job now and then, and which is polled more often.
select queue_create('polled', lease => '1 day');
insert into polled (priority, payload, attempt, leased_until) select -1, '1', 1, now() + interval '1 day' from generate_series(1, 3000);
insert into polled (payload, run_at) select '1', now() + interval '1 day' from generate_series(1, 3000);
vacuum analyze polled;
create procedure test_polls(name text, inout taken bigint default 0, inout few boolean default null)
language plpgsql as $$
declare
	began timestamptz := clock_timestamp();
	before bigint;
begin
	perform queue_pop(name);
	select sum(sweeps) into before from queue_claim_stats where source = name::regclass;
	for i in 1 .. 100 loop
		commit;
		perform queue_send(name, '1');
		commit;
		taken := taken + (select count(*) from queue_pop(name, 5) as j where queue_complete(name, j.id, j.attempt));
		commit;
		taken := taken + (select count(*) from queue_pop(name));
	end loop;
	select sum(sweeps) - before <= 5 + extract(epoch from clock_timestamp() - began) into few
		from queue_claim_stats where source = name::regclass;
end $$;
call test_polls('polled');

-- So does a session that has just begun.
select sum(sweeps) as before, clock_timestamp() as began from queue_claim_stats where source = 'polled'::regclass \gset
\c -
set queue_ext.claim_path = direct;
select count(*) from queue_pop('polled');
select sum(sweeps) - :before <= extract(epoch from clock_timestamp() - :'began') / 60 as few
from queue_claim_stats where source = 'polled'::regclass;
-- Unless the trigger may have been disabled meanwhile.
alter table polled disable trigger queue_ext_wake;
insert into polled (payload) values ('2');
alter table polled enable always trigger queue_ext_wake;
\c -
set client_min_messages = warning;
set queue_ext.claim_path = direct;
select payload from queue_pop('polled');

-- A transaction's own lease that ends before it commits.
select queue_alter('polled', kinds => true);
create procedure test_own(path text, kinds text[], inout got text default null)
language plpgsql as $$
begin
	-- Nothing is there, as both rings know.
	perform queue_pop('polled'), queue_pop('polled', kinds => array['a']);
	perform set_config('queue_ext.claim_path', path, true);
	perform queue_send('polled', '3', kind => 'a');
	commit;
	perform set_config('queue_ext.claim_path', path, true);
	perform queue_pop('polled', lease => '1 microsecond');
	perform pg_sleep(0.002);
	select format('job %s, attempt %s', payload, attempt) into got from queue_pop('polled', kinds => test_own.kinds);
	perform queue_complete('polled', id, attempt) from polled where payload = '3';
	commit;
end $$;
call test_own('direct', null);
call test_own('direct', array['a']);
call test_own('tid', null);
call test_own('tid', array['a']);
call test_own('direct', array['a']);
-- Its job comes before those that the ring has read. Each queue is new: its ring has been swept by the first claim alone.
select queue_create(q, lease => '1 day') from unnest('{ended_1,ended_2,ended_3}'::text[]) as q;
select count(queue_send(q, to_jsonb(n), priority => n)) from unnest('{ended_1,ended_2,ended_3}'::text[]) as q, generate_series(1, 3) as n;
create procedure test_ended(queue text, inout got text default null)
language plpgsql as $$
begin
	perform queue_pop(queue, lease => '1 microsecond');
	perform pg_sleep(0.002);
	select format('job %s, attempt %s', payload, attempt) into got from queue_pop(queue);
end $$;
call test_ended('ended_1');
call test_ended('ended_2');
call test_ended('ended_3');
select queue_drop(q) from unnest('{ended_1,ended_2,ended_3}'::text[]) as q;
drop procedure test_ended;

-- A transaction claims what it has sent itself in its place among the others.
select queue_create('chained', lease => '1 day', kinds => true);
insert into chained (priority, payload, attempt, leased_until) select -1, '1', 1, now() + interval '1 day' from generate_series(1, 3000);
select queue_send('chained', to_jsonb(n), priority => n) from generate_series(2, 6, 2) as n;
vacuum analyze chained;
create function popped(jobs integer default 1, kinds text[] default null) returns setof jsonb language sql as $$ select payload from queue_pop('chained', jobs, kinds => popped.kinds) $$;
begin;
select queue_send('chained', to_jsonb(n), priority => n, kind => 'k' || n) from unnest(array[1, 3, 5, 7]) as n;
select popped();
savepoint a;
select popped(2);
rollback to a;
select queue_send('chained', '4.5', priority => 4, run_at => now() + interval '1 day');
select popped(1, array['k3', 'k7']);
select popped(10);
select popped(10);
insert into chained (payload) values ('"plain"');
select popped(10);
rollback;
begin;
select queue_send('chained', to_jsonb(n), priority => n) from unnest(array[1, 3, 5, 7]) as n;
select popped(2);
commit;
select popped(10);
-- So it does where the queue is idle otherwise, as its ring knows.
select queue_create('idle_chain');
select count(*) from queue_pop('idle_chain');
select count(*) from queue_pop('idle_chain');
begin;
select queue_send('idle_chain', '1') > 0 as sent;
savepoint a;
select payload from queue_pop('idle_chain');
-- And again, when a rollback has brought it back of which that ring knows nothing.
rollback to a;
select payload from queue_pop('idle_chain');
rollback;
select queue_drop('idle_chain');
-- It needs no statement for that.
begin;
select queue_send('chained', '1') > 0 as sent;
select queue_claim_path('chained');
rollback;

-- A backlog that is more than a ring holds is not read anew for each claim: once a second, where all writes are told.
create procedure test_backlog(queue text, pop text) language plpgsql as $$
declare
	began timestamptz = clock_timestamp();
	before bigint;
	sweeps bigint;
begin
	execute pop;
	commit;
	select c.sweeps into before from queue_claim_stats c where c.queue ~ ('\m' || test_backlog.queue || '$');
	for i in 1 .. 20 loop
		perform pg_sleep(0.11);
		execute pop;
		commit;
	end loop;
	select c.sweeps - before into sweeps from queue_claim_stats c where c.queue ~ ('\m' || test_backlog.queue || '$');
	raise notice '%: %', queue, case when sweeps <= 1 + extract(epoch from clock_timestamp() - began) then 'few sweeps' else sweeps || ' sweeps' end;
end $$;
select queue_create('backlog');
select count(*) from queue_send_many('backlog', array_fill('1'::jsonb, array[600]));
create table backlog_rows (id integer primary key, state integer not null default 0);
create index on backlog_rows (id) where state = 0;
insert into backlog_rows select generate_series(1, 600);
select queue_attach('backlog_rows', 'backlog_rows', 'state = 0', 'id', 'state = 1', wake => true);
set client_min_messages = notice;
call test_backlog('backlog', $$select queue_pop('backlog')$$);
call test_backlog('backlog_rows', $$select queue_pop_rows(null::backlog_rows)$$);
set client_min_messages = warning;
select queue_drop('backlog'), queue_detach('backlog_rows');
drop table backlog_rows;
drop procedure test_backlog;

select queue_drop(q) from unnest('{events,events_kept,polled,chained}'::text[]) as q;
drop function popped;
drop procedure test_sweeps, test_polls, test_own;
