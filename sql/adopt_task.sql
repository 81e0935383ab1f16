-- Tasks with a status: one that is done or has failed may be taken up again, and is
-- in progress while somebody has it. Then with a number of tries, and with many
-- queues in the one table.
create schema test_adopt_task;
set search_path = test_adopt_task, public;
create type task_status as enum ('done', 'in_progress', 'failed');
create table task (id text not null, status task_status not null);
insert into task values ('task_a', 'done'), ('task_b', 'failed'), ('task_c', 'in_progress'), ('task_d', 'done'), ('task_e', 'done');

-- As it is, without a key: tasks can be captured.
select queue_attach(
	'tasks', 'task', pending => $$status in ('done', 'failed')$$, order_by => 'id',
	on_claim => $$status = 'in_progress'$$, on_complete => $$status = 'done'$$
);
select id, status from queue_pop_rows(null::task, 'tasks', 3);
select id, status from task order by id;
select id, status from queue_pop_rows(null::task, 'tasks', 3);
select id, status from queue_pop_rows(null::task, 'tasks', 3);
-- But which row a receipt is for, nobody could tell. The status is set by hand.
\set VERBOSITY sqlstate
select queue_complete_row('tasks', t) from task as t where id = 'task_a';
\set VERBOSITY default
update task set status = 'done' where id = 'task_a';
update task set status = 'failed' where id = 'task_b';
select id, status from queue_pop_rows(null::task, 'tasks', 3);
select queue_detach('tasks');

-- With a key, the queue sets it. The claim's hint is good.
alter table task add constraint task_unique_id unique (id);
update task set status = 'done';
create index on test_adopt_task.task (id) where status = any (array['done'::test_adopt_task.task_status, 'failed'::test_adopt_task.task_status]);
select queue_attach(
	'tasks', 'task', pending => $$status in ('done', 'failed')$$, order_by => 'id',
	on_claim => $$status = 'in_progress'$$, on_complete => $$status = 'done'$$, on_fail => $$status = 'failed'$$
);
create temp table captured (job task);
insert into captured select t from queue_pop_rows(null::task, 'tasks', 3) as t;
select job, queue_complete_row('tasks', job) as done from captured where (job).id <> 'task_b';
select job, queue_fail_row('tasks', job, 'it rained') as failed from captured where (job).id = 'task_b';
select id, status from task order by id;
-- A second time, nobody has it.
select job, queue_complete_row('tasks', job) from captured;
select id, status from task order by id;
select queue_detach('tasks');
drop table captured;

-- A number of tries that are left, counted down by the claim.
alter table task add column retries_left integer not null default 0;
alter table task add constraint never_below_zero check (retries_left >= 0);
update task set status = 'done', retries_left = 2;
update task set retries_left = 0 where id = 'task_e';
drop index task_id_idx;
select queue_attach(
	'tasks', 'task', pending => $$status in ('done', 'failed') and retries_left <> 0$$, order_by => 'id',
	on_claim => $$status = 'in_progress', retries_left = retries_left - 1$$,
	on_complete => $$status = 'done'$$, on_release => $$status = 'done', retries_left = retries_left + 1$$,
	on_fail => $$status = 'failed'$$
);
create temp table captured (job task);
insert into captured select t from queue_pop_rows(null::task, 'tasks', 10) as t;
select job from captured order by (job).id;
select queue_release_row('tasks', job) as released from captured where (job).id = 'task_a';
select queue_fail_row('tasks', job) as failed from captured where (job).id <> 'task_a';
select id, status, retries_left from task order by id;
-- Again and again: none goes below zero.
do $$
declare
	rounds integer := 0;
begin
	loop
		perform queue_fail_row('tasks', t) from queue_pop_rows(null::task, 'tasks', 2) as t;
		exit when not found;
		rounds := rounds + 1;
		assert rounds < 9;
	end loop;
	raise notice '% rounds', rounds;
end $$;
select id, status, retries_left from task order by id;
drop table captured;
select queue_detach('tasks');

-- Many queues in the table: a name may be in several of them.
alter table task add column queue_id text not null default 'default';
alter table task drop constraint task_unique_id;
alter table task add constraint queue_task_unique_id unique (queue_id, id);
truncate task;
insert into task (queue_id, id, status, retries_left)
select 'q' || q, 'task_' || n, 'done', 5 from generate_series(1, 12) as q, generate_series(1, 30) as n;
create index on task (queue_id, id) where status = any (array['done'::task_status, 'failed'::task_status]) and retries_left <> 0;
select queue_attach(
	format('tasks_%s', q), 'task',
	pending => format($$status in ('done', 'failed') and retries_left <> 0 and queue_id = 'q%s'$$, q), order_by => 'id',
	on_claim => $$status = 'in_progress', retries_left = retries_left - 1$$, on_complete => $$status = 'done'$$,
	on_fail => $$status = 'failed'$$
) from generate_series(1, 12) as q;
-- By turns; every queue gets its own rows, and each of them once.
create temp table captured (queue integer, job task);
do $$
begin
	for round in 1..10 loop
		for q in 1..12 loop
			insert into captured select q, t from queue_pop_rows(null::task, format('tasks_%s', q), 3) as t;
		end loop;
	end loop;
end $$;
select count(*), count(distinct job) as different, count(*) filter (where (job).queue_id <> 'q' || queue) as of_others from captured;
select count(*) as still_there from task where status <> 'in_progress';
-- A receipt is for the row of its own queue.
select queue_complete_row('tasks_3', job) from captured where queue = 3 and (job).id = 'task_7';
select queue_id, id, status, retries_left from task where status <> 'in_progress';
-- Of a table with several queues, one must be named.
\set VERBOSITY sqlstate
select * from queue_pop_rows(null::task);
\set VERBOSITY default

-- Queues in the claim modes that write nothing, besides: their rows are apart, too.
update task set status = 'done';
select queue_attach(
	'locked', 'task', pending => $$queue_id = 'q1' and status = 'done' and retries_left <> 0$$, order_by => 'id',
	claim_mode => 'transaction', on_complete => $$status = 'failed'$$
);
select queue_attach(
	'held', 'task', pending => $$queue_id = 'q2' and status = 'done' and retries_left <> 0$$, order_by => 'id',
	claim_mode => 'session', on_complete => $$status = 'failed'$$
);
begin;
select queue_id, id from queue_pop_rows(null::task, 'locked', 2);
select queue_id, id from queue_pop_rows(null::task, 'held', 2);
select queue_id, id from queue_pop_rows(null::task, 'tasks_3', 2);
select count(*) filter (where queue_complete_row('held', t)) as done from task as t where queue_id in ('q1', 'q2');
select count(*) filter (where queue_complete_row('locked', t)) as done from task as t where queue_id in ('q1', 'q2');
commit;
select queue_id, id, status from task where status <> 'done' order by 1, 2;
select count(*) as locks from pg_locks where locktype = 'advisory' and classid = 'task'::regclass;

set client_min_messages = warning;
drop schema test_adopt_task cascade;
