-- TRUNCATE ... RESTART IDENTITY gives the ID of an occurrence to another job, which the schedule leaves alone.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_id_again;
set search_path = test_id_again, public;
select queue_create('jobs');
create procedure begin_again() language plpgsql as $$
begin
	perform queue_unschedule('jobs', 'a');
	truncate jobs restart identity;
	perform queue_schedule('jobs', 'a', '1 hour');
	truncate jobs restart identity;
	perform queue_send('jobs', '"other"', run_at => now() + '1 day');
end $$;
create view state as
select s.job, next_run_at > now() as later, (select array_agg(format('%s %s %s', id, unique_key, payload) order by id) from jobs) as jobs
from queue_schedules s where queue = 'test_id_again.jobs';

-- Ending the schedule, or changing it.
call begin_again();
table state;
select queue_unschedule('jobs', 'a');
select id, payload from jobs;
call begin_again();
select queue_schedule('jobs', 'a', '2 hours') > now() as later;
table state;

-- The schedule as it is: its occurrence is not there.
call begin_again();
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
table state;

-- Cancelling the other job.
call begin_again();
select queue_cancel('jobs', 1);
table state;
call begin_again();
select queue_cancel_many('jobs', '{1,2}');
table state;
call begin_again();
call queue_cancel_where('jobs', 'true');
table state;

-- Its occurrence is lost.
call begin_again();
update queue_schedule_definition set next_run_at = now() - interval '1 second' where source = 'jobs'::regclass;
\c -
set client_min_messages = warning;
set search_path = test_id_again, public;
select id, attempt, unique_key from queue_pop_rows(null::jobs);
table state;

-- One that is the schedule's is cancelled with others.
select queue_cancel_many('jobs', array[job, 1, 17]) from queue_schedules where queue = 'test_id_again.jobs';
table state;

-- The other job is one of another schedule.
create procedure begin_with_other() language plpgsql as $$
begin
	perform queue_unschedule('jobs', 'a'), queue_unschedule('jobs', 'b');
	truncate jobs restart identity;
	perform queue_schedule('jobs', 'a', '1 hour');
	truncate jobs restart identity;
	perform queue_schedule('jobs', 'b', '1 hour');
end $$;
call begin_with_other();
select id, unique_key from jobs;
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
select id, unique_key from jobs order by 1;
call begin_with_other();
select queue_unschedule('jobs', 'a');
select id, unique_key from jobs;
call begin_with_other();
select queue_cancel('jobs', 1);
select id, unique_key from jobs;

drop schema test_id_again cascade;
