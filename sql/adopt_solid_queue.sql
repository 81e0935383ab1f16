-- Solid Queue's tables as its schema makes them: a job is ready by a row in a table of its own, and a claim
-- moves that row into another one. The row is claimed in mode transaction, and moved in that transaction.
create schema test_adopt_solid_queue;
set search_path = test_adopt_solid_queue, public;
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/solid_queue.sql
\set ECHO none
\i :layout
\set ECHO all
-- Times are without a zone, and mean UTC.
create function utc() returns timestamp language sql stable return now() at time zone 'UTC';
insert into solid_queue_processes (kind, pid, name, last_heartbeat_at, created_at)
values ('Worker', 42, 'worker-1', utc(), utc());
with job as (
	insert into solid_queue_jobs (queue_name, class_name, priority, created_at, updated_at)
	select case when n % 5 = 0 then 'other' else 'default' end, 'Mail', n % 2, utc(), utc()
	from generate_series(1, 12) as n
	returning *
)
insert into solid_queue_ready_executions (job_id, queue_name, priority, created_at)
select id, queue_name, priority, created_at from job;

-- No index warning. Completing deletes the ready row.
select queue_attach(
	'default', 'solid_queue_ready_executions', claim_mode => 'transaction',
	pending => $$queue_name = 'default'$$, order_by => 'priority, job_id'
);

-- As Solid Queue's worker does it: the claim moves the row and is committed, then the work begins. One
-- statement is enough.
create function claim(max_jobs integer, process bigint) returns setof bigint
language sql begin atomic
	with ready as materialized (
		select r from queue_pop_rows(null::solid_queue_ready_executions, 'default', max_jobs) as r
	)
	insert into solid_queue_claimed_executions (job_id, process_id, created_at)
	select (r).job_id, process, utc() from ready where queue_complete_row('default', r)
	returning job_id;
end;
select claim(3, 1);
select job_id, queue_name, priority from solid_queue_ready_executions order by priority, job_id;
select job_id, process_id from solid_queue_claimed_executions order by id;
-- A claim that is rolled back leaves both tables as they were.
begin;
select claim(2, 1);
rollback;
select count(*) from solid_queue_claimed_executions;
-- Done: Solid Queue deletes the claim and writes the time, in this order.
with done as (delete from solid_queue_claimed_executions where job_id = 2 returning job_id)
update solid_queue_jobs set finished_at = utc(), updated_at = utc() from done where id = job_id;
-- Failed: a row says with what.
with failed as (delete from solid_queue_claimed_executions where job_id = 4 returning job_id)
insert into solid_queue_failed_executions (job_id, error, created_at)
select job_id, '{"exception_class": "Timeout", "message": "no answer", "backtrace": []}', utc() from failed;
select
	j.id, finished_at is not null as finished, r.id is not null as ready, c.id is not null as claimed, f.id is not null as failed
from solid_queue_jobs as j
left join solid_queue_ready_executions as r on r.job_id = j.id
left join solid_queue_claimed_executions as c on c.job_id = j.id
left join solid_queue_failed_executions as f on f.job_id = j.id
where j.queue_name = 'default' order by j.id;

-- The other way: the row stays locked while the work goes on, and nobody needs to notice a dead worker.
begin;
select job_id from queue_pop_rows(null::solid_queue_ready_executions, 'default') as r \gset
select :job_id as job_id, count(*) as claimed from solid_queue_claimed_executions;
update solid_queue_jobs set finished_at = utc(), updated_at = utc() where id = :job_id;
select queue_complete_row('default', r) from solid_queue_ready_executions as r where job_id = :job_id;
commit;
select count(*) from solid_queue_ready_executions where job_id = :job_id;
begin;
select job_id from queue_pop_rows(null::solid_queue_ready_executions, 'default') as r;
rollback;
-- When the work fails, its row of the failed ones takes the place of the ready one.
begin;
select r as receipt, job_id from queue_pop_rows(null::solid_queue_ready_executions, 'default') as r \gset
insert into solid_queue_failed_executions (job_id, error, created_at) values (:job_id, '{"message": "no answer"}', utc());
select queue_complete_row('default', :'receipt'::solid_queue_ready_executions);
commit;
-- A job that is discarded takes its ready row along.
begin;
select job_id from queue_pop_rows(null::solid_queue_ready_executions, 'default') as r \gset
rollback;
delete from solid_queue_jobs where id = :job_id;
select :job_id as gone, job_id as next from queue_pop_rows(null::solid_queue_ready_executions, 'default') as r;
-- Given back.
with released as (delete from solid_queue_claimed_executions where job_id = 6 returning job_id)
insert into solid_queue_ready_executions (job_id, queue_name, priority, created_at)
select job_id, queue_name, priority, utc() from released join solid_queue_jobs on id = job_id;
-- To the last one, and none of the other queue.
select count(*) from claim(100, 1);
select queue_name, count(*) from solid_queue_ready_executions group by 1;

set client_min_messages = warning;
drop schema test_adopt_solid_queue cascade;
