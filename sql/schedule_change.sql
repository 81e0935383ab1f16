-- What a second queue_schedule changes, and what removes a schedule.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_schedule_change;
set search_path = test_schedule_change, public;
set timezone = 'UTC';
select queue_create('jobs');
create table seen (next_run_at timestamptz, job bigint);
create procedure look() language sql as $$
	truncate seen;
	insert into seen select s.next_run_at, s.job from queue_schedules s where queue = 'test_schedule_change.jobs';
$$;
-- What has changed since the last look.
create view change as
select s.next_run_at is distinct from n.next_run_at as other_time, s.job is distinct from n.job as other_job,
	j.payload, j.priority, j.max_attempts, j.kind, j.run_at = n.next_run_at as same, (select count(*) from jobs) as jobs
from queue_schedules n left join jobs j on j.id = n.job, seen s where n.queue = 'test_schedule_change.jobs';

select queue_schedule('jobs', 'a', '1 hour', payload => '{"a": 1, "b": 2}') > now() as later;
call look();
-- Nothing: at each deployment, say.
select queue_schedule('jobs', 'a', '1 hour', payload => '{"b": 2, "a": 1}') = s.next_run_at as same from seen s;
table change;
-- The job only: it keeps its time.
select queue_schedule('jobs', 'a', '1 hour', payload => '{"c": 3}') = s.next_run_at as same from seen s;
table change;
select queue_schedule('jobs', 'a', '1 hour', priority => 5, max_attempts => 7, kind => 'x', missed => 'all') = s.next_run_at as same from seen s;
table change;
-- When it comes.
call look();
select queue_schedule('jobs', 'a', '60 minutes') = s.next_run_at as same from seen s;
select queue_schedule('jobs', 'a', '2 hours') > s.next_run_at as later from seen s;
table change;
call look();
select queue_schedule('jobs', 'a', cron => '0 0 1 1 *', starts_at => '2090-01-01') as start;
select queue_schedule('jobs', 'a', cron => '0 0 1 1 *', starts_at => '2090-01-01', time_zone => 'Asia/Tokyo') as start;
select queue_schedule('jobs', 'a', cron => '0 0 1 1 *', starts_at => '2090-01-02', time_zone => 'Asia/Tokyo') as start;
select queue_schedule('jobs', 'a', cron => '0 0 2 1 *', starts_at => '2090-01-02', time_zone => 'Asia/Tokyo') as start;
table change;
select queue, name, every, cron, time_zone, missed, payload, next_run_at, last_claimed_at, job > 0 as job from queue_schedules
where queue = 'test_schedule_change.jobs';
-- A job that has been lost comes back.
delete from jobs;
select queue_schedule('jobs', 'a', cron => '0 0 2 1 *', starts_at => '2090-01-02', time_zone => 'Asia/Tokyo') as start;
select count(*) from jobs;
-- One that has been claimed stays as it is, and is no more of the schedule.
update jobs set run_at = now();
update queue_schedule_definition set next_run_at = now() where source = 'jobs'::regclass;
select id as claimed, attempt from queue_pop('jobs') \gset
select queue_schedule('jobs', 'a', '3 hours') > now() as later;
select id = :claimed as claimed, attempt from jobs order by id;
select queue_fail('jobs', :claimed, 1, 'oops', '0');
select id = :claimed as claimed, attempt from queue_pop('jobs');
select queue_complete('jobs', :claimed, 2);
select count(*) from jobs;
-- A default of the queue's is that of the time when an occurrence is sent.
select queue_alter('jobs', max_attempts => 9);
select queue_cancel('jobs', id) from jobs;
select max_attempts from jobs;

-- A rollback, and a savepoint.
call look();
begin;
select queue_schedule('jobs', 'a', '4 hours') > now() as later;
rollback;
begin;
savepoint s;
select queue_unschedule('jobs', 'a');
rollback to s;
commit;
table change;

-- The end.
select queue_unschedule('jobs', 'a');
select queue_unschedule('jobs', 'a');
select count(*) from queue_schedules where queue = 'test_schedule_change.jobs';
select count(*) from jobs;
-- Names are compared as they are.
select queue_schedule('jobs', 'A', '1 hour') > now() as later, queue_schedule('jobs', 'a', '1 hour') > now() as later,
	queue_schedule('jobs', 'ä|"x"', '1 hour') > now() as later;
select name from queue_schedules where queue = 'test_schedule_change.jobs' order by name collate "C";
update jobs set run_at = now();
update queue_schedule_definition set next_run_at = now() where source = 'jobs'::regclass;
select count(*) from queue_pop('jobs', 10);
select count(*) from jobs where attempt = 0;

-- A table that is renamed or moved keeps them; with the queue they go.
create schema test_schedule_change_2;
alter table jobs rename to tasks;
alter table tasks set schema test_schedule_change_2;
select queue, count(*) from queue_schedules where queue ~ 'test_schedule' group by 1;
select queue_detach('test_schedule_change_2.jobs');
select count(*) from queue_definition d join queue_schedule_definition s using (source);
select count(*) from queue_schedule_definition where source = 'test_schedule_change_2.tasks'::regclass;
select queue_create('jobs');
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
select 'jobs'::regclass::oid as source \gset
select queue_drop('jobs');
select count(*) from queue_schedule_definition where source = :source;
select queue_create('jobs');
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
select 'jobs'::regclass::oid as source \gset
drop table jobs;
select count(*) from queue_schedules where queue ~ 'test_schedule';
select queue_create('jobs');
select count(*) from queue_schedule_definition where source = :source;

-- The first layout has no kinds.
alter table jobs drop kind;
select queue_schedule('jobs', 'a', '1 hour', kind => 'x');
select queue_schedule('jobs', 'a', '1 hour') > now() as later;
select count(*) from jobs;
select queue_upgrade('jobs');
select queue_schedule('jobs', 'a', '1 hour', kind => 'x') > now() as later;
select kind from jobs;

drop schema test_schedule_change, test_schedule_change_2 cascade;
