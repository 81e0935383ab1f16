-- queue_stats of attached queues: what is counted in each claim mode, and what cannot be known.
set client_min_messages = warning;
create schema test_stats_attached;
set search_path = test_stats_attached, public;
create table tasks (id integer primary key, state text not null default 'new', tries integer not null default 0);
create index on tasks (id) where state = 'new';
select queue_attach('tasks', 'tasks', $$state = 'new'$$, order_by => 'id',
	on_claim => $$state = 'taken', tries = tries + 1$$, on_complete => $$state = 'done'$$,
	on_release => $$state = 'new'$$, on_fail => $$state = 'new'$$);
select queue_attach('others', 'tasks', $$state = 'new'$$, order_by => 'id', claim_mode => 'transaction');
create view counted as
select queue, sent, claimed, completed, failed, retried, dead, released, cancelled, expired, duplicates
from queue_stats where source = to_regclass('test_stats_attached.tasks') order by queue;
select * from counted;

-- A plain insert is not seen; a unique one counts for each queue of the table.
insert into tasks select generate_series(1, 20);
select inserted from queue_unique_insert_row(row(21, 'new', 0)::tasks, '{id}');
select inserted from queue_unique_insert_rows(array[row(21, 'new', 0), row(22, 'new', 0)]::tasks[], '{id}');
select * from counted;

-- Each path in mode update.
create function live() returns void language sql as $$
	select queue_complete_row('tasks', j) from queue_pop_rows(null::tasks, 'tasks') as j;
	select queue_release_row('tasks', j) from queue_pop_rows(null::tasks, 'tasks') as j;
	select queue_fail_row('tasks', j) from queue_pop_rows(null::tasks, 'tasks') as j;
	select queue_complete_receipt('tasks', queue_receipt('tasks', j)) from queue_pop_rows(null::tasks, 'tasks') as j;
$$;
set queue_ext.claim_path = direct;
select live();
select * from counted where queue like '%tasks';
set queue_ext.claim_path = tid;
select live();
select * from counted where queue like '%tasks';
set queue_ext.claim_path = portable;
select live();
select * from counted where queue like '%tasks';
reset queue_ext.claim_path;

-- A claim by a row lock counts when the transaction commits.
begin;
select count(*) from queue_pop_rows(null::tasks, 'others', 3);
rollback;
begin;
select queue_complete_row('others', j) from queue_pop_rows(null::tasks, 'others') as j;
select queue_release_row('others', j) from queue_pop_rows(null::tasks, 'others') as j;
commit;
select * from counted where queue like '%others';

-- The other queue of the table goes on when one is attached anew.
select queue_detach('others');
select queue_attach('others', 'tasks', $$state = 'new'$$, order_by => 'id', claim_mode => 'transaction');
select * from counted;
drop view counted;
drop schema test_stats_attached cascade;
