-- Which locks a call leaves until its transaction ends, the strongest of each table's, as
-- the reference has them. "queues" is the lock on the queues of one table, "name" that on
-- the name of a queue.
set client_min_messages = error;
create schema test_locks;
set search_path = test_locks, public;
select queue_create('jobs', archive => true, kinds => true), queue_create('paused');
select queue_pause('paused');
create table items (id integer primary key, taken boolean);
create index on items (id) where taken is null;
select queue_attach('items', 'items', 'taken is null', 'id', 'taken = true', on_release => 'taken = null');
select queue_attach('rows', 'items', 'taken is null', 'id', claim_mode => 'transaction');
select queue_attach('keys', 'items', 'taken is null', 'id', claim_mode => 'session');
insert into items select generate_series(1, 10);
create table others (id integer primary key);
select throttle_create('r', '1 hour');
select queue_send_many('jobs', '{1,2,3,4}');

create function strength(mode text) returns integer language sql
return array_position(array['AccessShareLock', 'RowShareLock', 'RowExclusiveLock', 'ShareUpdateExclusiveLock',
	'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'], mode);
-- Runs the call and returns the locks.
create function locks_of(call text) returns text language plpgsql as $$
begin
	execute 'select ' || call;
	return (
		select string_agg(format('%s: %s', what, mode), ', ' order by what)
		from (
			select distinct on (what) what, mode
			from (
				select relname as what, mode
				from pg_locks join pg_class c on c.oid = relation
				where locktype = 'relation' and pid = pg_backend_pid() and relkind in ('r', 'p')
					  and relnamespace <> 'pg_catalog'::regnamespace
				union all
				select case objsubid when 0 then 'queues' else 'name' end, mode
				from pg_locks
				where locktype = 'object' and pid = pg_backend_pid() and classid = 'queue_definition'::regclass
			) as l
			order by what, strength(mode) desc
		) as strongest
	);
end $$;
select format('select %L as call, locks_of(%L)', call, call)
from unnest(array[
	'queue_send(''jobs'', ''1'')',
	'queue_send(''jobs'', ''1'', kind => ''mail'')',
	'queue_send_many(''jobs'', ''{1}'')',
	'queue_unique_insert(''jobs'', ''1'')',
	'queue_unique_insert(''jobs'', ''2'', states => ''{ready,done}'')',
	'queue_unique_insert_many(''jobs'', ''{1}'')',
	'queue_unique_insert_row(row(1, null)::items, ''{id}'')',
	'queue_unique_insert_rows(array[row(1, null)::items], ''{id}'')',
	'queue_unique_key(''jobs'', ''1'')',
	'queue_pop(''jobs'', 2)',
	'queue_pop(''jobs'', kinds => ''{mail,none}'')',
	'queue_pop(''paused'')',
	'queue_pop_any(''{paused,jobs}'')',
	'queue_complete(''jobs'', 1, 1)',
	'queue_complete_pop(''jobs'', -1, 1)',
	'queue_complete_many(''jobs'', ''{}'', ''{}'')',
	'queue_fail(''jobs'', 2, 1)',
	'queue_release(''jobs'', 2, 2)',
	'queue_extend(''jobs'', 2, 1)',
	'queue_cancel(''jobs'', 2)',
	'queue_requeue(''jobs'', 3)',
	'queue_purge(''jobs'', ''dead'')',
	'queue_counts(''jobs'')',
	'queue_result(''jobs'', 2)',
	'queue_claim_path(''jobs'')',
	'queue_health(''jobs'')',
	'queue_pop_rows(null::items, ''items'')',
	'queue_complete_row(''items'', row(1, true)::items)',
	'queue_release_row(''items'', row(2, true)::items)',
	'queue_pop_rows(null::items, ''rows'')',
	'queue_release_row(''rows'', row(2, null)::items)',
	'queue_pop_rows(null::items, ''keys'')',
	'queue_release_row(''keys'', row(2, null)::items)',
	'queue_complete_row(''keys'', row(9, null)::items)',
	'queue_receipt(''items'', row(4, true)::items)',
	'queue_complete_receipt(''items'', queue_receipt(''items'', row(4, true)::items))',
	'queue_complete_receipts(''items'', ''{}'')',
	'queue_release_receipt(''items'', queue_receipt(''items'', row(2, true)::items))',
	'queue_release_receipt(''keys'', queue_receipt(''keys'', row(2, null)::items))',
	'queue_extend_receipt(''jobs'', queue_receipt(''jobs'', j)) from jobs as j where id = 2',
	'queue_is_held(''items''::regclass, ''1'')',
	'queue_claim_counters()',
	'queue_pause(''jobs'')',
	'queue_pause(''jobs'')',
	'queue_resume(''jobs'')',
	'queue_alter(''jobs'', lease => ''1 hour'')',
	'queue_alter(''jobs'', max_attempts => 3)',
	'queue_alter(''jobs'', archive => false)',
	'queue_alter(''jobs'', kinds => true)',
	'queue_alter(''jobs'', wake => true)',
	'queue_create(''more'')',
	'queue_attach(''others'', ''others'', ''true'', claim_mode => ''transaction'')',
	'queue_attach(''woken'', ''others'', ''true'', claim_mode => ''transaction'', wake => true)',
	'queue_detach(''others'')',
	'queue_detach(''woken'')',
	'queue_drop(''none'', true)',
	'queue_detach(''none'', true)',
	'queue_detach(''more'')',
	'queue_adopt(''more'')',
	'queue_upgrade(''more'')',
	'queue_schedule(''more'', ''s'', ''1 hour'')',
	'queue_unschedule(''more'', ''s'')',
	'queue_drop(''more'')',
	'throttle_create(''s'', ''1 hour'')',
	'throttle_alter(''s'', grants => 2)',
	'lock_throttled_resource(''s'', ''x'')',
	'acquired from throttle_acquire(''s'', ''x'')',
	'throttle_drop(''s'')',
	'mutex_acquire(''m'')',
	'mutex_acquire(''m'')',
	'lock_set_retries(''m'', 1)',
	'mutex_release(''m'')',
	'timeout_acquire(''m'', ''1 hour'')',
	'mutex_release(''m'')',
	'queue_lock(''x'')'
]) with ordinality as c(call, place)
order by place
\gexec

select queue_detach('keys'), queue_detach('rows'), queue_detach('items');
select throttle_drop('r');
delete from named_lock;
drop schema test_locks cascade;
