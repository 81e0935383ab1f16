-- Locks and throttles see what their own statement has written so far, and write over
-- that version, not over the one that it has replaced.
set client_min_messages = warning;
create schema test_lock_same_statement;
set search_path = test_lock_same_statement, public;
select mutex_acquire('a'), mutex_release('a');
with freed as (
	update named_lock set retries_left = 5 where task_id = 'a' returning mutex_acquire('a') as acquired
)
select * from freed;
select held, token, retries_left from named_lock where task_id = 'a';
with freed as (
	update named_lock set held = false, holder = null, held_since = null where task_id = 'a'
	returning mutex_acquire('a') as acquired, mutex_acquire('a') as again
)
select * from freed;
select held, token, retries_left from named_lock where task_id = 'a';
with freed as (
	update named_lock set retries_left = null where task_id = 'a' returning mutex_release('a') as released
)
select * from freed;
select held, token, retries_left from named_lock where task_id = 'a';

select throttle_create('r', '1 hour');
with more as (
	update throttled_resource set grants = 2 where resource = 'r'
	returning lock_throttled_resource('r', 'first') as first, lock_throttled_resource('r', 'second') as second,
	          lock_throttled_resource('r', 'third') as third
)
select * from more;
select grants, last_locker_details, cardinality(earlier_grants) from throttled_resource where resource = 'r';
select throttle_drop('r');
delete from named_lock;
drop schema test_lock_same_statement cascade;
