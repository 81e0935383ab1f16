-- Named locks, one session.
set client_min_messages = warning;
create schema test_lock;
set search_path = test_lock, public;
set application_name = 'test';
create function error_of(command text) returns text language plpgsql as $$
declare
	name text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics name = constraint_name;
	return concat_ws(' ', sqlstate, nullif(name, ''));
end $$;

create function wal_records(command text) returns integer language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, wal, costs off, timing off, summary off, format json) ' || command into plan;
	return plan->0->'Plan'->>'WAL Records';
end $$;

-- A mutex: made when first asked for, held until released.
select mutex_acquire('a') as first, mutex_acquire('a') as second;
select mutex_acquire('a') as third;
select task_id, token, until, since <= clock_timestamp() as since,
       holder = format('%s, pid %s, test', session_user, pg_backend_pid()) as holder
from held_locks;
select mutex_release('a') as released, mutex_release('a') as again;
select count(*) as held from held_locks;
select held, holder, held_since, held_until, token, retries_left from named_lock;
select mutex_acquire('a');
select mutex_release('never seen') as released, count(*) as locks from named_lock;

-- A timeout, of the same names.
select timeout_acquire('a', '1 hour') as held_as_mutex;
select timeout_acquire('b', '1 hour') as first, timeout_acquire('b', '1 hour') as second,
       mutex_acquire('b') as as_mutex;
select task_id, until - since as timeout from held_locks order by task_id;
-- It runs out.
update named_lock set held_until = clock_timestamp() where task_id = 'b';
select count(*) as held from held_locks where task_id = 'b';
select mutex_release('b') as too_late;
select timeout_acquire('b', '1 minute');
update named_lock set held_until = clock_timestamp() where task_id = 'b';
select mutex_acquire('b') as mutex, timeout_acquire('b', '1 hour') as refused;
select until, token from held_locks where task_id = 'b';
select mutex_release('b');
-- Or is released before.
select timeout_acquire('b', '1 hour'), mutex_release('b'), timeout_acquire('b', '1 hour');

-- Fenced.
select * from mutex_acquire_fenced('c');
select * from mutex_acquire_fenced('c');
select mutex_release('c', 2) as wrong, mutex_release('c', 1) as right, mutex_release('c', 1) as again;
select * from timeout_acquire_fenced('c', '1 hour');
select * from timeout_acquire_fenced('c', '1 hour');
select mutex_release('c', 1) as late, mutex_release('c', 2) as right;
select (mutex_acquire_fenced('c')).token as token;
select token from held_locks where task_id = 'c';
-- Run out, and acquired by another: the late holder cannot release it.
select mutex_release('c');
select token from timeout_acquire_fenced('c', '1 hour') \gset late_
update named_lock set held_until = clock_timestamp() where task_id = 'c';
select acquired, token - :late_token as more from timeout_acquire_fenced('c', '1 hour');
select mutex_release('c', :late_token) as late;

-- Retries.
select lock_set_retries('d', 2);
select held, token, retries_left from named_lock where task_id = 'd';
select mutex_acquire('d'), mutex_acquire('d') as held, mutex_release('d'), mutex_acquire('d') as second, mutex_release('d'),
       mutex_acquire('d') as third, timeout_acquire('d', '1 hour') as fourth;
select held, token, retries_left from named_lock where task_id = 'd';
select lock_set_retries('d', 1);
select mutex_acquire('d') as held, mutex_release('d') as was_used_up;
select retries_left from named_lock where task_id = 'd';
select lock_set_retries('d', null), mutex_release('d');
select mutex_acquire('d'), mutex_release('d'), mutex_acquire('d');
select held, token, retries_left from named_lock where task_id = 'd';

-- Rolled back, it is as if never acquired.
begin;
select mutex_acquire('new');
rollback;
select count(*) from named_lock where task_id = 'new';
begin;
savepoint s;
select * from mutex_acquire_fenced('new');
rollback to s;
select * from mutex_acquire_fenced('new');
select mutex_release('new'), mutex_acquire('new');
savepoint s;
select mutex_release('new');
rollback to s;
select mutex_acquire('new');
commit;
do $$
begin
	perform mutex_release('new');
	raise division_by_zero;
exception when division_by_zero then
	assert not mutex_acquire('new');
	assert mutex_release('new');
end $$;
begin isolation level repeatable read;
select mutex_acquire('rr'), mutex_acquire('rr'), mutex_release('rr'), mutex_acquire('new');
commit;
begin isolation level serializable;
select mutex_acquire('ser'), mutex_acquire('ser'), mutex_release('ser'), mutex_release('new');
commit;

-- A refusal writes nothing: no transaction id, no WAL.
begin;
select mutex_acquire('a'), timeout_acquire('a', '1 hour'), mutex_release('a', -1), mutex_release('ser');
select wal_records('select mutex_acquire(''a''), mutex_release(''ser'')');
select pg_current_xact_id_if_assigned() is null as no_xid;
commit;

-- Acquiring is one write, and releasing. (With assertions the row is locked first.)
vacuum named_lock;
select wal_records('select mutex_acquire(''ser'')') - more as acquire, wal_records('select mutex_release(''ser'')') - more as release
from (select (current_setting('debug_assertions') = 'on')::integer as more) as assertions;

-- Null is null.
select mutex_acquire(null) as a, mutex_release(null) as b, mutex_release('a', null) as c, timeout_acquire('a', null) as d,
       mutex_acquire_fenced(null) as e, timeout_acquire_fenced(null, '1 hour') as f;

-- What cannot be.
select command, error_of('select ' || command) as error
from unnest(array[
	'mutex_acquire('''')',
	'mutex_acquire(''  '')',
	'mutex_release(''  '')',
	'timeout_acquire(''x'', ''0'')',
	'timeout_acquire(''x'', ''-1 second'')',
	'timeout_acquire(''x'', ''300000 years'')',
	'timeout_acquire_fenced(''x'', ''0'')',
	'timeout_acquire_fenced('' '', ''1 hour'')',
	'lock_set_retries(null, 1)',
	'lock_set_retries('' '', 1)',
	'lock_set_retries(''x'', -1)'
]) with ordinality as c(command, n)
order by n;
select command, error_of(command) as error
from unnest(array[
	'insert into named_lock (task_id) values ('' '')',
	'insert into named_lock (task_id, held) values (''x'', true)',
	'insert into named_lock (task_id, holder) values (''x'', ''me'')',
	'insert into named_lock (task_id, held_until) values (''x'', now())',
	'insert into named_lock (task_id, token) values (''x'', -1)',
	'insert into named_lock (task_id, retries_left) values (''x'', -1)'
]) with ordinality as c(command, n)
order by n;

-- Each way to make the table special: statements do the same then.
create table fired (what text);
create function note() returns trigger language plpgsql as $$
begin
	insert into fired values (tg_op || ' ' || new.task_id);
	return new;
end $$;
create function lives() returns setof text language plpgsql as $$
declare
	id text := 'lives ' || (select count(*) from named_lock);
begin
	return next concat('mutex: ', mutex_acquire(id), mutex_acquire(id), timeout_acquire(id, '1 hour'));
	return next concat('held: ', until, ' ', token, ' ', split_part(holder, ',', 3)) from held_locks where task_id = id;
	return next concat('release: ', mutex_release(id), mutex_release(id));
	return next concat('timeout: ', timeout_acquire_fenced(id, '1 hour'), timeout_acquire(id, '1 hour'));
	return next concat('held: ', until - since) from held_locks where task_id = id;
	return next concat('release: ', mutex_release(id, 1), mutex_release(id, 2));
	perform lock_set_retries(id, 1);
	return next concat('retries: ', mutex_acquire(id), mutex_release(id), mutex_acquire(id));
	perform lock_set_retries(id, null);
	return next concat('timeout: ', timeout_acquire_fenced(id, '1 hour'));
	update named_lock set held_until = clock_timestamp() where task_id = id;
	return next concat('late: ', mutex_release(id), mutex_acquire_fenced(id), mutex_release(id, 4), mutex_release(id, 5));
	return next concat('unknown: ', mutex_release('unknown'));
	update named_lock set token = 9223372036854775807 where task_id = id;
	return next concat('last token: ', error_of(format('select mutex_acquire(%L)', id)));
end $$;
select lives();
create trigger note before insert or update on named_lock for each row execute function note();
select lives();
select what, count(*) from fired group by what order by what;
begin isolation level repeatable read;
select lives();
rollback;
begin isolation level serializable;
select lives();
rollback;
drop trigger note on named_lock;
create trigger note after insert on named_lock for each row execute function note();
select lives();
select count(*) from fired where what like 'INSERT%';
drop trigger note on named_lock;
alter table named_lock add constraint mine check (holder not like '%forbidden%');
set application_name = 'forbidden';
select error_of('select mutex_acquire(''mine'')');
set application_name = 'test';
select lives();
alter table named_lock drop constraint mine;
create index on named_lock (token);
select lives();
drop index named_lock_token_idx;
alter table named_lock add column note text;
alter table named_lock drop column note;
select lives();

-- A trigger that suppresses the row, on either path.
create function suppress() returns trigger language plpgsql as 'begin return null; end';
create trigger suppress before insert on named_lock for each row execute function suppress();
create function error_of_suppressed() returns setof text language sql begin atomic
	select error_of('select ' || command)
	from unnest(array['mutex_acquire(''none'')', 'timeout_acquire(''none'', ''1 hour'')', 'lock_set_retries(''none'', 1)']) as c(command);
end;
select error_of_suppressed();
create trigger note before update on named_lock for each row execute function note();
select error_of_suppressed();
drop trigger note on named_lock;
drop trigger suppress on named_lock;

-- Rights on the table are rights on the locks.
create role regress_lock;
grant usage on schema test_lock to regress_lock;
create view calls as
select call, n from unnest(array[
	'mutex_acquire(''seen'')',
	'mutex_release(''seen'')',
	'timeout_acquire(''seen'', ''1 hour'')',
	'lock_set_retries(''seen'', 9)',
	'mutex_acquire(''unseen'')',
	'count(*) from held_locks'
]) with ordinality as c(call, n);
grant select on calls to regress_lock;
select mutex_acquire('seen'), mutex_release('seen');
set role regress_lock;
select call, error_of('select ' || call) from calls order by n;
reset role;
grant select, update on named_lock to regress_lock;
set role regress_lock;
select call, error_of('select ' || call) from calls order by n;
reset role;
grant insert on named_lock to regress_lock;
set role regress_lock;
select call, error_of('select ' || call) from calls order by n;
select split_part(holder, ',', 1) = session_user as holder from held_locks where task_id = 'unseen';
reset role;
-- Row security.
alter table named_lock enable row level security;
create policy seen on named_lock to regress_lock using (task_id = 'seen');
set role regress_lock;
select mutex_release('seen') as seen, mutex_release('unseen') as unseen, mutex_acquire('seen') as acquired;
select error_of('select mutex_acquire(''also unseen'')');
reset role;
drop policy seen on named_lock;
alter table named_lock disable row level security;
revoke all on named_lock from regress_lock;

-- A lock whose row is deleted by hand begins anew.
delete from named_lock;
select * from mutex_acquire_fenced('a');
delete from named_lock;
drop schema test_lock cascade;
drop role regress_lock;
