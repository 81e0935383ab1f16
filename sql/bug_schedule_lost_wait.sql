-- Lost occurrences: a wait in a transaction block, which must not write, does not send them, but ends, since the
-- next pop will. And a pop that has sent one hands it out.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_lost_wait;
set search_path = test_lost_wait, public;
select queue_create('jobs', kinds => true);
create procedure lose(missed text default 'once') language plpgsql as $$
begin
	perform queue_unschedule('jobs', 'a');
	perform queue_schedule('jobs', 'a', '1 hour', missed => missed, kind => 'b');
	delete from jobs;
	update queue_schedule_definition set next_run_at = now() - interval '100 minutes' where source = 'jobs'::regclass;
	alter sequence jobs_id_seq restart with 101;
end $$;
create view state as
select next_run_at > now() as later, job, attempt, last_value as last_id
from queue_schedules s left join jobs j on j.id = s.job, jobs_id_seq
where queue = 'test_lost_wait.jobs';
-- A session looks at most once a second without a reason: each of these is new.
\set new '\\c -\\\\ set client_min_messages = warning; set search_path = test_lost_wait, public;'

call lose();
:new
begin;
call queue_wait('jobs', '10 minutes');
select backend_xid from pg_stat_activity where pid = pg_backend_pid();
table state;
commit;
begin;
call queue_wait('jobs', '10 minutes');
select id, attempt from queue_pop('jobs');
commit;
table state;

-- It is dropped, or of a kind that is not waited for.
call lose('skip');
:new
begin;
call queue_wait('jobs', '10 minutes');
commit;
table state;
select id from queue_pop('jobs');
table state;
call lose();
:new
begin;
call queue_wait('jobs', '10 minutes', kinds => '{a}');
commit;
table state;
select id from queue_pop('jobs', kinds => '{a}');
table state;
begin;
call queue_wait('jobs', '10 milliseconds', kinds => '{a}');
call queue_wait('jobs', '10 minutes', kinds => '{b}');
select id, attempt from queue_pop('jobs', kinds => '{b}');
commit;
delete from jobs;

-- By the portable path as well.
set queue_ext.claim_path = portable;
call lose();
begin;
call queue_wait('jobs', '10 minutes');
table state;
select id, attempt from queue_pop('jobs');
commit;
reset queue_ext.claim_path;

-- A moment of the schedule comes between two looks of a session.
select queue_unschedule('jobs', 'a');
delete from jobs;
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
create procedure pop_when_due() language plpgsql as $$
declare
	due timestamptz;
	jobs bigint;
	wait interval := '50 milliseconds';
begin
	-- The first pop must come before the time.
	loop
		delete from jobs;
		due := clock_timestamp() + wait;
		update queue_schedule_definition set next_run_at = due where source = 'jobs'::regclass;
		commit;
		select count(*) into jobs from queue_pop('jobs');
		exit when clock_timestamp() < due;
		commit;
		wait := wait * 2;
	end loop;
	raise notice 'before: %', jobs;
	commit;
	while clock_timestamp() <= due loop
		perform pg_sleep(0.01);
	end loop;
	select count(*) into jobs from queue_pop('jobs');
	raise notice 'then: %', jobs;
end $$;
set client_min_messages = notice;
call pop_when_due();
set queue_ext.claim_path = tid;
call pop_when_due();
set queue_ext.claim_path = portable;
call pop_when_due();
set client_min_messages = warning;

-- It was lost, and its time changed, since the last look of a session.
delete from jobs;
select count(*) from queue_pop('jobs');
update queue_schedule_definition set next_run_at = now() - interval '1 second' where source = 'jobs'::regclass;
select count(*) from queue_pop('jobs');
reset queue_ext.claim_path;

-- Many that are dropped stand in front of a job.
delete from jobs;
select count(queue_schedule('jobs', 's' || n, '1 hour', missed => 'skip')) from generate_series(1, 30) as n;
update queue_schedule_definition set next_run_at = now() - interval '2 hours' where source = 'jobs'::regclass;
update jobs set run_at = now() - interval '2 hours';
select count(queue_send('jobs', '"ready"')) from generate_series(1, 2);
set queue_ext.claim_path = portable;
select payload from queue_pop('jobs', 2);
select count(*) from jobs where attempt > 0;
drop schema test_lost_wait cascade;
