-- How old the jobs of an attached queue are, by the columns that it names.
set client_min_messages = warning;
create schema test_stats_ages;
set search_path = test_stats_ages, public;
create table tasks (
	id integer primary key,
	state text not null default 'new',
	due_at timestamptz,
	taken_at timestamptz,
	"odd column" timestamptz,
	day date
);
create index on tasks (id) where state = 'new';
create function attach(ready_at text, claimed_at text) returns void language sql as $$
	select queue_attach('tasks', 'tasks', $f$state = 'new'$f$, order_by => 'id',
		on_claim => $f$state = 'taken', taken_at = now()$f$, on_complete => $f$state = 'done'$f$,
		on_fail => $f$state = 'failed'$f$, on_release => $f$state = 'new'$f$,
		ready_at => ready_at, claimed_at => claimed_at)
$$;

-- What they may name.
select attach('no_column', null);
select attach(null, 'no_column');
select attach('day', null);
select attach('ctid', null);
select attach('DUE_AT', null);
select attach('', '');
select ready_at, claimed_at from queues where source = 'tasks'::regclass;
select queue_detach('tasks');
select attach('due_at', 'taken_at');
select queue, ready_at, claimed_at from queues where source = 'tasks'::regclass;

-- How long jobs wait and run, by each path: 200 s and 100 s, give or take half. A job without the time is
-- left out.
create view ages as
select 'waiting' as what, jobs, round(total_seconds / jobs / 200) as as_long from queue_wait_histogram
where queue like '%tasks' and le = 'infinity'
union all
select 'running', jobs, round(total_seconds / jobs / 100) from queue_run_histogram
where queue like '%tasks' and le = 'infinity';
create function live() returns void language plpgsql as $$
declare job tasks;
begin
	insert into tasks (id, due_at) select coalesce(max(id), 0) + 1, now() - interval '200 s' from tasks;
	insert into tasks (id, due_at) select max(id) + 1, null from tasks;
	select * into job from queue_pop_rows(null::tasks, 'tasks');
	update tasks set taken_at = taken_at - interval '100 s' where id = job.id returning * into job;
	assert queue_complete_row('tasks', job);
	select * into job from queue_pop_rows(null::tasks, 'tasks');
	assert job.due_at is null;
	update tasks set taken_at = taken_at - interval '100 s' where id = job.id returning * into job;
	assert queue_fail_row('tasks', job);
end
$$;
set queue_ext.claim_path = direct;
select live();
select * from ages;
set queue_ext.claim_path = tid;
select live();
select * from ages;
set queue_ext.claim_path = portable;
select live();
select * from ages;
set queue_ext.claim_path = auto;

-- The receipt of a job says when it was claimed.
insert into tasks (id, due_at) select max(id) + 1, now() - interval '200 s' from tasks;
select queue_complete_receipt('tasks', queue_receipt('tasks', j)) from queue_pop_rows(null::tasks, 'tasks') as j;
select what, jobs from ages;

-- Since when the oldest job has been ready, of those that a claim has read last: it reads all of them
-- here, and again when they are gone.
insert into tasks (id, due_at) values (101, '2001-01-01'), (102, '1999-01-01'), (103, null);
select id from queue_pop_rows(null::tasks, 'tasks');
select oldest_ready_at = '1999-01-01' as is_oldest, oldest_exact from queue_stats where queue like '%tasks';
select id from queue_pop_rows(null::tasks, 'tasks', 10) order by id;
select id from queue_pop_rows(null::tasks, 'tasks', 10) order by id;
select oldest_ready_at from queue_stats where queue like '%tasks';

-- With more jobs than a list has room for, the next ones count when they are read.
insert into tasks (id, due_at) select 1000 + i, case i when 1400 then '1990-01-01' else '2001-01-01' end::timestamptz
from generate_series(1, 2000) as i;
select count(*) from queue_pop_rows(null::tasks, 'tasks', 1300);
select oldest_ready_at = '1990-01-01' as is_oldest from queue_stats where queue like '%tasks';
select count(*) from queue_pop_rows(null::tasks, 'tasks', 1000);

-- Changed, left as they are, and no longer named.
insert into tasks (id, due_at, "odd column") values (4001, '1999-01-01', '2003-01-01'), (4002, '1999-01-01', '2003-01-01'), (4003, '1999-01-01', '2004-01-01');
select id from queue_pop_rows(null::tasks, 'tasks', 1) order by id;
select oldest_ready_at = '1999-01-01' as is_oldest from queue_stats where queue like '%tasks';
select queue_alter('tasks', ready_at => 'day');
select queue_alter('tasks', claimed_at => 'none');
select queue_alter('tasks', ready_at => 'odd column');
select ready_at, claimed_at from queues where source = 'tasks'::regclass;
select id from queue_pop_rows(null::tasks, 'tasks', 1) order by id;
select oldest_ready_at = '2004-01-01' as is_oldest from queue_stats where queue like '%tasks';
select queue_alter('tasks', lease => '1 minute', claimed_at => '');
select ready_at, claimed_at from queues where source = 'tasks'::regclass;

-- A column that is dropped, renamed, or has another type tells nothing more.
alter table tasks alter "odd column" type date;
insert into tasks (id, "odd column") values (4004, '1999-01-01'), (4005, '1999-01-01');
select id from queue_pop_rows(null::tasks, 'tasks', 2) order by id;
select oldest_ready_at from queue_stats where queue like '%tasks';
alter table tasks drop "odd column";
insert into tasks (id) values (4006);
select id from queue_pop_rows(null::tasks, 'tasks', 1) order by id;
select id from queue_pop_rows(null::tasks, 'tasks', 1) order by id;
select oldest_ready_at from queue_stats where queue like '%tasks';
select queue_detach('tasks');

-- A partition with its columns in another order.
create table parts (id integer, due_at timestamptz, state text not null default 'new', primary key (id)) partition by range (id);
create table part (due_at timestamptz, state text not null default 'new', id integer not null);
alter table parts attach partition part for values from (0) to (100);
select queue_attach('parts', 'parts', $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'taken'$$, ready_at => 'due_at');
insert into parts (id, due_at) values (1, now() - interval '200 s'), (2, null);
select id from queue_pop_rows(null::parts, 'parts', 2) order by id;
select jobs, round(total_seconds / jobs / 200) as as_long from queue_wait_histogram where queue like '%parts' and le = 'infinity';

-- Where the claim writes the column, the portable path cannot tell.
create table times (id integer primary key, due_at timestamptz);
create index on times (due_at) where due_at < 'infinity';
select queue_attach('times', 'times', $$due_at < 'infinity'$$, order_by => 'due_at', on_claim => $$due_at = 'infinity'$$, ready_at => 'due_at');
insert into times values (1, now() - interval '200 s'), (2, now() - interval '200 s');
set queue_ext.claim_path = direct;
select id from queue_pop_rows(null::times, 'times');
set queue_ext.claim_path = portable;
select id from queue_pop_rows(null::times, 'times');
set queue_ext.claim_path = auto;
select jobs, round(total_seconds / jobs / 200) as as_long from queue_wait_histogram where queue like '%times' and le = 'infinity';

-- A managed queue knows the ages itself.
select queue_create('jobs');
select queue_alter('jobs', ready_at => 'run_at');
drop view ages;
select queue_drop('jobs');
drop schema test_stats_ages cascade;
