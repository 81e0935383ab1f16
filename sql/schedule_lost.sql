-- An occurrence that was deleted is sent again when its time has come.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_schedule_lost;
set search_path = test_schedule_lost, public;
select queue_create('jobs');
select queue_schedule('jobs', 'a', '1 hour') > now() as later;

create procedure be_late(late interval) language sql as $$
	update jobs set run_at = now() - late where attempt = 0;
	update queue_schedule_definition set next_run_at = now() - late where source = 'jobs'::regclass;
$$;
create view state as
select s.name, next_run_at > now() as later, j.attempt, j.run_at = s.next_run_at as same
from queue_schedules s left join jobs j on j.id = s.job where queue = 'test_schedule_lost.jobs' order by 1;
-- A session looks at most once a second without a reason: each of these is new.
\set new '\\c -\\\\ set client_min_messages = warning; set search_path = test_schedule_lost, public;'

-- Not before its time.
delete from jobs;
select count(*) from queue_pop('jobs');
table state;
:new
call be_late('1 second');
select attempt from queue_pop('jobs');
table state;

truncate jobs;
call be_late('1 second');
:new
select attempt from queue_pop('jobs');
table state;

select queue_purge('jobs') > 0 as purged;
call be_late('1 second');
:new
select attempt from queue_pop('jobs');
table state;

-- One claimed by plain SQL is lost, too.
call be_late('1 second');
update jobs set attempt = 1, leased_until = now() + '1 hour' where attempt = 0;
:new
select attempt from queue_pop('jobs');
table state;
delete from jobs where attempt > 0;

-- A job that waits is not lost, though it has been moved.
call be_late('1 second');
update jobs set run_at = now() + '1 hour';
:new
select count(*) from queue_pop('jobs');
select count(*) from jobs;

-- One that waits is not sent again beside another one.
select queue_schedule('jobs', 'b', '1 hour') > now() as later;
call be_late('1 second');
delete from jobs where unique_key = 'schedule|b';
:new
select count(*) from queue_pop('jobs', 10);
select unique_key, count(*) filter (where attempt = 0) as unclaimed, count(*) filter (where attempt = 1) as claimed from jobs group by 1 order by 1;
select queue_unschedule('jobs', 'b');

-- By the rule for those that were missed.
delete from jobs;
call be_late('3 hours 10 minutes');
:new
select count(*) from queue_pop('jobs', 10);
table state;
delete from jobs;
select queue_schedule('jobs', 'a', '1 hour', missed => 'skip') > now() as later;
delete from jobs;
call be_late('3 hours 10 minutes');
:new
select count(*) from queue_pop('jobs', 10);
select name, later, attempt, same from state;
select queue_schedule('jobs', 'a', '1 hour', missed => 'all') > now() as later;
delete from jobs;
call be_late('3 hours 10 minutes');
:new
select count(*) from queue_pop('jobs', 1);
select count(*) from queue_pop('jobs', 1);
select count(*) from queue_pop('jobs', 1);
select count(*) from queue_pop('jobs', 1);
select count(*) from queue_pop('jobs', 1);
table state;

-- Many, more than one look is long, of which most wait.
select queue_unschedule('jobs', 'a');
delete from jobs;
select count(queue_schedule('jobs', 's' || n, '1 hour')) from generate_series(1, 700) as n;
call be_late('1 second');
delete from jobs where id in (select job from queue_schedules where queue = 'test_schedule_lost.jobs' and right(name, 1) = '7');
:new
select count(*) > 600 as popped from (select queue_pop('jobs', 10) from generate_series(1, 90)) as p;
:new
select count(*) <= 90 as popped from (select queue_pop('jobs', 10) from generate_series(1, 90)) as p;
select count(*) filter (where later) as later, count(*) from state;

-- The last of them is found by the third look, if nothing makes the session begin anew.
call be_late('1 second');
update queue_schedule_definition set next_run_at = now() where source = 'jobs'::regclass and name = 's700';
delete from jobs where unique_key = 'schedule|s700';
:new
create procedure look_until_found() language plpgsql as $$
begin
	for i in 1 .. 200 loop
		perform queue_pop('jobs');
		commit;
		exit when exists (select from jobs where unique_key = 'schedule|s700');
		perform pg_sleep(1.1);
		commit;
	end loop;
end $$;
call look_until_found();
select count(*) from jobs where unique_key = 'schedule|s700';

-- Waiting finds it as well.
delete from jobs;
select count(queue_unschedule('jobs', 's' || n)) from generate_series(2, 700) as n;
call be_late('1 second');
:new
call queue_wait('jobs', '5 minutes');
select attempt from queue_pop('jobs');
table state;

-- A rollback loses nothing.
delete from jobs;
call be_late('1 second');
:new
begin;
select attempt from queue_pop('jobs');
rollback;
select count(*) from jobs;
:new
select attempt from queue_pop('jobs');
table state;

drop schema test_schedule_lost cascade;
