-- In a parallel query, in a worker or beside one, nothing is written, locked or sent: a
-- function that says it is PARALLEL SAFE and is not gets the error for that.
set client_min_messages = error;
create schema test_parallel;
set search_path = test_parallel, public;
select queue_create('jobs', lease => '1 hour');
create table t (id integer primary key, state integer not null default 0);
create index on t (id) where state = 0;
insert into t select generate_series(1, 9);
do $$ begin
	perform queue_send_many('jobs', '{1,2,3,4}');
	perform queue_pop('jobs');
	perform queue_attach('u', 't', 'state = 0', 'id', 'state = 1', on_complete => 'state = 2', on_release => 'state = 0',
		on_fail => 'state = 0', on_extend => 'state = 1');
	perform queue_attach('x', 't', 'state = 0', 'id', claim_mode => 'transaction');
	perform queue_attach('s', 't', 'state = 0', 'id', claim_mode => 'session');
	perform throttle_create('r', '1 hour');
	perform mutex_acquire('a');
end $$;
create table receipts as select 1 as id, queue_receipt('u', '(1,1)'::t) as receipt;
create function receipt() returns text parallel safe language sql as 'select receipt from receipts';
create table one as select 1 as one;
create function safe(command text) returns text language plpgsql parallel safe as $$
begin
	execute 'select ' || command;
	return 'done';
end $$;
create function restricted(command text) returns text language plpgsql parallel restricted as $$
begin
	execute 'select ' || command;
	return 'done';
end $$;
create function outcome_of(command text) returns text language plpgsql as $$
declare
	result text;
begin
	execute command into result;
	return result;
exception when others then
	return sqlstate;
end $$;
create view calls as
select n, call
from unnest(array[
	$$queue_create('mine')$$,
	$$queue_alter('jobs', lease => '1 hour')$$,
	$$queue_adopt('jobs')$$,
	$$queue_upgrade('jobs')$$,
	$$queue_schedule('jobs', 's', '1 hour')$$,
	$$queue_unschedule('jobs', 's')$$,
	$$queue_pause('jobs')$$,
	$$queue_resume('jobs')$$,
	$$queue_attach('v', 't', 'state = 0', on_claim => 'state = 1')$$,
	$$queue_detach('u')$$,
	$$queue_drop('jobs')$$,
	$$queue_purge('jobs')$$,
	$$queue_purge('jobs', 'done')$$,
	$$queue_counts('jobs')$$,
	$$queue_result('jobs', 1)$$,
	$$queue_claim_path('jobs')$$,
	$$queue_health('jobs')$$,
	$$queue_health()$$,
	$$queue_send('jobs', '1')$$,
	$$queue_send_many('jobs', '{1}')$$,
	$$queue_unique_insert('jobs', '1')$$,
	$$queue_unique_insert_many('jobs', '{1}')$$,
	$$queue_unique_insert_row('(1,0)'::t, '{id}')$$,
	$$queue_unique_insert_rows(array['(1,0)']::t[], '{id}')$$,
	$$queue_unique_key('jobs', '1')$$,
	$$queue_pop('jobs')$$,
	$$queue_pop('jobs', kinds => '{a}')$$,
	$$queue_pop_any('{jobs}')$$,
	$$queue_pop_rows(null::t, 'u')$$,
	$$queue_pop_rows(null::t, 'x')$$,
	$$queue_pop_rows(null::t, 's')$$,
	$$queue_complete('jobs', 1, 1)$$,
	$$queue_complete_pop('jobs', 1, 1)$$,
	$$queue_complete_many('jobs', '{1}', '{1}')$$,
	$$queue_fail('jobs', 1, 1)$$,
	$$queue_fail_many('jobs', '{1}', '{1}')$$,
	$$queue_release('jobs', 1, 1)$$,
	$$queue_release_many('jobs', '{1}', '{1}')$$,
	$$queue_extend('jobs', 1, 1)$$,
	$$queue_extend_many('jobs', '{1}', '{1}')$$,
	$$queue_cancel('jobs', 1)$$,
	$$queue_cancel_many('jobs', '{1}')$$,
	$$queue_requeue('jobs', 1)$$,
	$$queue_requeue_many('jobs', '{1}')$$,
	$$queue_complete_row('u', '(1,1)'::t)$$,
	$$queue_release_row('s', '(1,0)'::t)$$,
	$$queue_fail_row('u', '(1,1)'::t)$$,
	$$queue_extend_row('u', '(1,1)'::t)$$,
	$$queue_receipt('u', '(1,1)'::t)$$,
	$$queue_complete_receipt('u', receipt())$$,
	$$queue_complete_receipts('u', array[receipt()])$$,
	$$queue_release_receipt('u', receipt())$$,
	$$queue_release_receipts('u', array[receipt()])$$,
	$$queue_fail_receipt('u', receipt())$$,
	$$queue_fail_receipts('u', array[receipt()])$$,
	$$queue_extend_receipt('u', receipt())$$,
	$$queue_extend_receipts('u', array[receipt()])$$,
	$$lock_throttled_resource('r', 'x')$$,
	$$throttle_acquire('r', 'x') is null$$,
	$$throttle_create('s', '1 hour')$$,
	$$throttle_alter('r', '2 hours')$$,
	$$throttle_drop('r')$$,
	$$mutex_acquire('a')$$,
	$$mutex_acquire_fenced('a')$$,
	$$timeout_acquire('a', '1 hour')$$,
	$$timeout_acquire_fenced('a', '1 hour')$$,
	$$mutex_release('a')$$,
	$$mutex_release('a', 1)$$,
	$$lock_set_retries('a', 1)$$,
	$$fnv1_64('x')$$
]) with ordinality as c (call, n);
select count(*) from (select set_config(name, 'on', false) from pg_settings
	where name in ('force_parallel_mode', 'debug_parallel_query')) as s;
select call, outcome_of(format('select safe(%L) from one', call)) as in_worker from calls order by n;
-- In the leader, which has met the queues before.
select count(*) from (select set_config(name, 'off', false) from pg_settings
	where name in ('force_parallel_mode', 'debug_parallel_query')) as s;
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
alter table one set (parallel_workers = 2);
select count(*) from queue_pop('jobs'), queue_pop_rows(null::t, 'u') as u, queue_pop_rows(null::t, 's') as s;
select mutex_acquire('a'), lock_throttled_resource('r', 'x');
select call, outcome_of(format('select restricted(%L) from one', call)) as in_leader from calls order by n;
reset max_parallel_workers_per_gather;
select count(*) as nothing_new from jobs where id > 4;
select from pg_advisory_unlock_all();
do $$ begin
	perform throttle_drop('r');
	delete from named_lock;
end $$;
drop schema test_parallel cascade;
