-- Each claim of an occurrence sends the next one.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_schedule_chain;
set search_path = test_schedule_chain, public;
set timezone = 'UTC';
select queue_create('jobs');

-- Moves the schedule's next occurrence to a time that long ago.
create procedure be_late(schedule text, late interval) language sql as $$
	update jobs set run_at = now() - late
	where id = (select job from queue_schedule_definition s where source = 'jobs'::regclass and s.name = schedule);
	update queue_schedule_definition s set next_run_at = now() - late where source = 'jobs'::regclass and s.name = schedule;
$$;
create view state as
select s.name, s.job, next_run_at > now() as later, last_claimed_at is not null as claimed,
	(select array_agg(id || ':' || attempt order by id) from jobs j) as jobs
from queue_schedules s where queue = 'test_schedule_chain.jobs' order by 1;

-- Nothing is ready before its time.
select queue_schedule('jobs', 'a', '1 hour', payload => '{"n": 1}', priority => 3, max_attempts => 2, kind => 'k') > now() as later;
table state;
select count(*) from queue_pop('jobs');

-- The first claim sends the next, an hour later.
call be_late('a', '1 second');
select id, attempt, payload, priority, max_attempts from queue_pop('jobs');
table state;
select j.payload, j.priority, j.max_attempts, j.kind, j.run_at = s.next_run_at as same,
	j.run_at - p.run_at as hour, j.unique_key
from jobs j join jobs p on p.id = 1 join queue_schedules s on s.job = j.id;

-- Later attempts send nothing.
select queue_fail('jobs', 1, 1, 'oops', '0');
select id, attempt from queue_pop('jobs');
select queue_release('jobs', 1, 2);
select id, attempt from queue_pop('jobs');
select queue_complete('jobs', 1, 3);
table state;

-- A claim that is rolled back has sent nothing.
call be_late('a', '1 second');
begin;
select id from queue_pop('jobs');
select count(*) from jobs;
rollback;
table state;
begin;
savepoint s;
select id from queue_pop('jobs');
rollback to s;
select id from queue_pop('jobs');
savepoint t;
select count(*) from jobs;
rollback to t;
commit;
table state;
select queue_complete('jobs', max(id), 1) from jobs where attempt = 1;

-- Whatever the isolation level.
call be_late('a', '1 second');
begin isolation level repeatable read;
select count(*) from jobs;
select count(*) from queue_pop('jobs');
commit;
call be_late('a', '1 second');
begin isolation level serializable;
select count(*) from jobs;
select count(*) from queue_pop('jobs');
commit;
delete from jobs where attempt > 0;

-- With other jobs, in one call; and by the other functions that claim.
select queue_schedule('jobs', 'b', '1 hour') > now() as later;
call be_late('a', '1 second');
call be_late('b', '1 second');
select count(queue_send('jobs', to_jsonb(n))) from generate_series(1, 3) as n;
select count(*) from queue_pop('jobs', 10);
select name, later, claimed from state;
select count(*) filter (where attempt = 0) as unclaimed, count(*) filter (where attempt = 1) as claimed from jobs;
delete from jobs where attempt > 0;
call be_late('b', '1 second');
select (c).attempt, (c).payload from (select c from queue_complete_pop('jobs', null, null) as c) as c;
call be_late('b', '1 second');
call queue_pop_wait('jobs', '0', null, null, null, null, null, null, null, null, null, null, null, null) \gset job_
select :job_attempt as attempt;
select count(*) filter (where attempt = 0) as unclaimed, count(*) filter (where attempt = 1) as claimed from jobs;
select queue_unschedule('jobs', 'b');
delete from jobs where attempt > 0;

-- An occurrence is missed when the time of the next has come, too. Rule "once": one is done for all.
create function done(n integer) returns table (occurrence integer, late text) language plpgsql as $$
begin
	for i in 1 .. n loop
		return query select i, date_trunc('hour', now() - p.run_at + '1 minute') || '' from queue_pop('jobs') as p;
	end loop;
	delete from jobs where attempt > 0;
end $$;
call be_late('a', '3 hours');
select * from done(5);
select next_run_at - now() between '50 minutes' and '1 hour' as on_grid from queue_schedules where queue ~ 'schedule_chain';
-- "all": each.
select queue_schedule('jobs', 'a', '1 hour', missed => 'all') > now() as later;
call be_late('a', '3 hours');
select * from done(5);
-- "skip": none of them; one that is late, but not missed, is done.
select queue_schedule('jobs', 'a', '1 hour', missed => 'skip') > now() as later;
call be_late('a', '3 hours');
select * from done(5);
table state;
select next_run_at - now() between '50 minutes' and '1 hour' as on_grid from queue_schedules where queue ~ 'schedule_chain';
call be_late('a', '50 minutes');
select * from done(5);
-- Others are claimed in its place, by the same call.
call be_late('a', '3 hours');
select count(queue_send('jobs', to_jsonb(n))) from generate_series(1, 3) as n;
select array_agg(payload) from queue_pop('jobs', 10);
select count(*) filter (where attempt = 0) as unclaimed, count(*) filter (where attempt = 1) as claimed from jobs;
delete from jobs where attempt > 0;
select queue_schedule('jobs', 'a', '1 hour') > now() as later;

-- A job that is cancelled is followed, too, by one on the grid.
select queue_cancel('jobs', job) from queue_schedules where queue ~ 'schedule_chain';
select name, later, claimed, jobs is not null as has_job from state;
select next_run_at - now() between '1 hour 50 minutes' and '2 hours' as after from queue_schedules where queue ~ 'schedule_chain';
select count(*) from queue_cancel_many('jobs', (select array_agg(job) from queue_schedules));
select next_run_at - now() between '2 hours 50 minutes' and '3 hours' as after from queue_schedules where queue ~ 'schedule_chain';
begin;
select queue_cancel('jobs', job) from queue_schedules where queue ~ 'schedule_chain';
rollback;
select next_run_at - now() between '2 hours 50 minutes' and '3 hours' as after from queue_schedules where queue ~ 'schedule_chain';
select count(*) from jobs j join queue_schedules s on s.job = j.id;
call be_late('a', '3 hours');
select queue_cancel('jobs', job) from queue_schedules where queue ~ 'schedule_chain';
select next_run_at - now() between '0 minutes' and '1 hour' as after from queue_schedules where queue ~ 'schedule_chain';
-- In bulk, too: at once, and not those that it has sent itself.
select next_run_at as before from queue_schedules where queue ~ 'schedule_chain' \gset
call queue_cancel_where('jobs', 'true');
select next_run_at - :'before' as after from queue_schedules where queue ~ 'schedule_chain';
select count(*) from jobs j join queue_schedules s on s.job = j.id where j.attempt = 0 and j.run_at = s.next_run_at;
select queue_schedule('jobs', 'b', '1 minute') > now() as later, queue_schedule('jobs', 'c', '1 minute') > now() as later;
select count(queue_send('jobs', '0')) from generate_series(1, 100) as n;
call queue_cancel_where('jobs', $$unique_key is distinct from 'schedule|c'$$, batch_size => 7);
select name, job = (select max(id) from jobs where unique_key = 'schedule|' || name) as of_schedule, (select count(*) from jobs) as jobs,
	next_run_at - now() between '60 seconds' and '2 minutes' as second from queue_schedules s where queue ~ 'schedule_chain' and name <> 'a' order by 1;
-- One that is deleted comes again, when it is due. One that is changed is still the schedule's.
select run_at, id from jobs where unique_key = 'schedule|b' \gset b_
call queue_delete_where('jobs', $$unique_key = 'schedule|b'$$);
select job = :b_id and next_run_at = :'b_run_at' as same from queue_schedules where queue ~ 'schedule_chain' and name = 'b';
call queue_change_where('jobs', $$unique_key = 'schedule|c'$$, priority => 4, run_at => '2001-01-01');
select id, priority, payload from queue_pop('jobs') \gset c_
select :c_priority as priority, next_run_at > now() as later, job <> :c_id as next from queue_schedules where queue ~ 'schedule_chain' and name = 'c';
select queue_unschedule('jobs', 'b'), queue_unschedule('jobs', 'c');
select queue_complete('jobs', :c_id, 1);
-- Not one that has been claimed.
call be_late('a', '1 second');
select id as claimed from queue_pop('jobs') \gset
select queue_cancel('jobs', :claimed);
select count(*) from jobs;

-- Nothing follows a job of a schedule that is no more.
call be_late('a', '1 second');
begin;
delete from queue_schedule_definition where source = 'jobs'::regclass;
select count(*) from queue_pop('jobs');
select count(*) from jobs where attempt = 0;
rollback;

-- Nor one that looks like an occurrence.
select queue_send('jobs', '"plain"') as plain \gset
update jobs set unique_key = 'schedule|a' where id = :plain;
select count(*) from queue_pop('jobs', 1);
select count(*) from jobs where attempt = 0;

-- The table's triggers may do what they like.
create function suppress() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger suppress before insert on jobs for each row execute function suppress();
delete from jobs where attempt > 0;
call be_late('a', '1 second');
select count(*) from queue_pop('jobs');
select name, job, later from state;
drop trigger suppress on jobs;
call be_late('a', '1 second');
\c -
set client_min_messages = warning;
set search_path = test_schedule_chain, public;
select count(*) from queue_pop('jobs');
select name, job is not null as has_job, later from state;

-- A claim within a claim does not take for lost what that has just claimed, and not followed yet.
create table within (id bigint);
create function pop_within() returns trigger language plpgsql as $$
begin
	insert into test_schedule_chain.within select id from public.queue_pop('test_schedule_chain.jobs', 10);
	return null;
end $$;
truncate jobs;
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
create trigger within after update on jobs for each row when (new.attempt > old.attempt and pg_trigger_depth() = 0) execute function pop_within();
set queue_ext.claim_path = portable;
call be_late('a', '1 second');
select count(*) from queue_pop('jobs');
select count(*) from within;
select count(*) filter (where attempt = 0) as unclaimed, count(*) filter (where attempt = 1) as claimed from jobs;
reset queue_ext.claim_path;

drop schema test_schedule_chain cascade;
