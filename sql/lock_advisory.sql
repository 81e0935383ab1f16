-- queue_lock, queue_try_lock.
set client_min_messages = warning;
create schema test_advisory_lock;
set search_path = test_advisory_lock, public;
create view held as
select ((classid::bigint << 32) | objid::bigint) as key, mode
from pg_locks where locktype = 'advisory' and objsubid = 1 and pid = pg_backend_pid();

begin;
select queue_lock('nightly report');
select queue_lock('nightly report'), queue_try_lock('nightly report');
select mode, key = fnv_lock_key('nightly report') as key from held;
savepoint s;
select queue_try_lock('other');
select count(*) as held from held;
rollback to s;
select count(*) as held from held;
commit;
select count(*) as held from held;

-- The prefix goes into the upper half.
begin;
set local queue_ext.advisory_lock_prefix = 7;
select queue_lock('nightly report');
set local queue_ext.advisory_lock_prefix = -1;
select queue_lock('nightly report');
select key = fnv_lock_key('nightly report', 7) as seven, key = fnv_lock_key('nightly report', -1) as minus_one
from held order by key desc;
commit;
show queue_ext.advisory_lock_prefix;

-- Null is no name.
begin;
select queue_lock(null) is null as nothing, queue_try_lock(null) is null as neither;
select queue_try_lock('');
select key = fnv_lock_key('') as empty from held;
commit;

-- All sessions have to agree on the prefix: it is a superuser's to set.
create role regress_lock_user;
set role regress_lock_user;
set queue_ext.advisory_lock_prefix = 1;
reset role;
drop role regress_lock_user;
drop schema test_advisory_lock cascade;
