-- Procrastinate's tables as its migrations make them, with triggers and keys: the claim writes what its own
-- function writes, in the same order, and keeps its rule of locks.
create schema test_adopt_procrastinate;
set search_path = test_adopt_procrastinate, public;
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/procrastinate.sql
\set ECHO none
\i :layout
\set ECHO all

-- No index warning.
select queue_attach(
	'default', 'procrastinate_jobs',
	pending => $$status = 'todo' and queue_name = 'default'
		and (scheduled_at is null or scheduled_at <= call_time)
		and (lock is null or not exists (
			select from procrastinate_jobs as other
			where other.lock = procrastinate_jobs.lock and (
				other.status = 'doing'
				or (other.status = 'todo' and (
					other.priority > procrastinate_jobs.priority
					or (other.priority = procrastinate_jobs.priority and other.id < procrastinate_jobs.id)
				))
			)
		))$$,
	order_by => 'priority desc, id',
	on_claim => $$status = 'doing', worker_id = worker::bigint$$,
	on_complete => $$status = 'succeeded', attempts = attempts + 1, abort_requested = false$$,
	on_fail => $$status = 'failed', attempts = attempts + 1, abort_requested = false$$,
	on_release => $$status = case when abort_requested then 'failed' else 'todo' end::procrastinate_job_status,
		attempts = attempts + (retry_at is not null)::integer, scheduled_at = coalesce(retry_at, scheduled_at)$$
);

insert into procrastinate_workers default values returning id;
insert into procrastinate_jobs (queue_name, task_name, priority, lock, scheduled_at) values
	('default', 'mail', 0, 'ann', null),
	('default', 'mail', 0, null, null),
	('default', 'mail', 0, 'ann', null),
	('other', 'mail', 9, null, null),
	('default', 'mail', 5, 'ann', null),
	('default', 'mail', 0, null, now() + interval '1 year'),
	('default', 'mail', 0, 'bob', null),
	('default', 'mail', 9, 'bob', now() + interval '1 year'),
	('default', 'mail', 0, 'cyd', null),
	('default', 'mail', 7, 'cyd', now() - interval '1 year');

-- One of each lock, the highest first; bob's waits, as one that is not due is ahead of it.
create temp table taken (n serial, job procrastinate_jobs);
insert into taken (job) select j from queue_pop_rows(null::procrastinate_jobs, 'default', 9, worker => '1') as j;
select (job).id, (job).priority, (job).lock, (job).status, (job).worker_id, (job).attempts from taken order by n;
select count(*) from queue_pop_rows(null::procrastinate_jobs, 'default', 9, worker => '1');
-- When the holder is done, the next of the lock comes.
select (job).id, queue_complete_row('default', job) from taken where (job).id in (5, 10) order by 1;
select id, lock from queue_pop_rows(null::procrastinate_jobs, 'default', 9, worker => '1') as j;
-- Its own function agrees that nothing else can be fetched.
select id from fetch_job('{default}', 1);
-- Failed for good; to be tried again at a time; given back.
select queue_fail_row('default', job, 'no answer') from taken where (job).id = 2;
select queue_complete_row('default', job) as has_failed from taken where (job).id = 2;
select queue_release_row('default', j, run_at => now() + interval '1 year')
from procrastinate_jobs as j where id = 1;
select queue_release_row('default', j) from procrastinate_jobs as j where id = 9;
select id, status, attempts, scheduled_at > now() as later from procrastinate_jobs order by id;
-- The one that is to be tried later is still ahead of its lock's last.
select id from queue_pop_rows(null::procrastinate_jobs, 'default', 9, worker => '1') as j;
-- A job whose abortion was requested is not run again.
update procrastinate_jobs set abort_requested = true where id = 9;
select queue_release_row('default', j) from procrastinate_jobs as j where id = 9;
select status, abort_requested from procrastinate_jobs where id = 9;
-- The triggers have written what they write for Procrastinate's own workers.
select job_id, string_agg(type::text, ', ' order by id) as events from procrastinate_events group by 1 order by 1;
-- A worker must be registered; without one, the column is null.
update procrastinate_jobs set scheduled_at = null where id = 6;
\set VERBOSITY sqlstate
select id from queue_pop_rows(null::procrastinate_jobs, 'default', worker => '77') as j;
\set VERBOSITY default
select id, worker_id from queue_pop_rows(null::procrastinate_jobs, 'default') as j;
-- The worker goes: its jobs are without one, and its receipts are not good any more.
delete from procrastinate_workers;
select count(*) from procrastinate_jobs where worker_id is not null;

-- Where completing deletes, the job is first unlinked from the periodic task that made it.
truncate procrastinate_jobs, procrastinate_events, procrastinate_periodic_defers;
select queue_attach(
	'deleting', 'procrastinate_jobs', pending => $$status = 'todo' and queue_name = 'default'$$,
	order_by => 'priority desc, id', on_claim => $$status = 'doing'$$
);
insert into procrastinate_jobs (queue_name, task_name) values ('default', 'mail');
insert into procrastinate_periodic_defers (task_name, job_id) select 'mail', id from procrastinate_jobs;
select queue_complete_row('deleting', j) from queue_pop_rows(null::procrastinate_jobs, 'deleting') as j;
select task_name, job_id from procrastinate_periodic_defers;
select count(*) from procrastinate_events;

-- Many jobs of few locks, some of them not due: ours and Procrastinate's function hand out the same ones.
truncate procrastinate_jobs, procrastinate_events, procrastinate_periodic_defers;
insert into procrastinate_jobs (queue_name, task_name, priority, lock, scheduled_at)
select
	case when n % 11 = 0 then 'other' else 'default' end, 'mail', n % 7 % 4,
	case when n % 3 > 0 then 'lock ' || n % 9 end, case when n % 8 = 5 then now() + (n % 5 - 3.5) * interval '1 year' end
from generate_series(1, 120) as n;
create temp table handed_out (n integer, by_us bigint, by_them bigint);
create procedure take_turns(by_us boolean) language plpgsql as $$
declare
	job procrastinate_jobs;
begin
	for turn in 1..200 loop
		if by_us then
			select * into job from queue_pop_rows(null::procrastinate_jobs, 'default') as j;
		else
			select * into job from fetch_job('{default}', null);
		end if;
		exit when job.id is null;
		if by_us then
			insert into handed_out (n, by_us) values (turn, job.id);
		else
			update handed_out set by_them = job.id where n = turn;
		end if;
		-- Every other job is done at once, and the others a turn later.
		update procrastinate_jobs set status = 'succeeded'
		where status = 'doing' and (turn % 2 = 0 or id <> job.id);
	end loop;
end $$;
-- A job that another's end makes claimable comes late by a sweep, unless a claim reads the table itself.
set queue_ext.claim_path = portable;
call take_turns(by_us => true);
set queue_ext.claim_path = auto;
update procrastinate_jobs set status = 'todo';
call take_turns(by_us => false);
select count(*), count(*) filter (where by_us = by_them) as same, count(distinct by_us) as different from handed_out;
update procrastinate_jobs set status = 'todo';
do $$
declare
	job procrastinate_jobs;
	jobs integer := 0;
begin
	loop
		select * into job from queue_pop_rows(null::procrastinate_jobs, 'default') as j;
		exit when job.id is null;
		jobs := jobs + 1;
		if exists (select from procrastinate_jobs as p where p.lock = job.lock and p.id <> job.id and p.status = 'doing') then
			raise exception 'job % came beside another of its lock', job.id;
		end if;
		update procrastinate_jobs set status = 'succeeded' where status = 'doing' and (jobs % 2 = 0 or id <> job.id);
	end loop;
	raise notice '% jobs', jobs;
end $$;

set client_min_messages = warning;
drop schema test_adopt_procrastinate cascade;
