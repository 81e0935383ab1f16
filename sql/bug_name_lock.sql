-- The lock of a queue's name was a hash of schema and name: a queue of one's own schema could be
-- given a name that blocked one in another schema.
set client_min_messages = error;
create schema test_name_lock;
set search_path = test_name_lock, public;
begin;
do $$ begin perform queue_create('q'), queue_create('r'); end $$;
select objsubid > 0 as of_name, objid = 'test_name_lock'::regnamespace as in_schema, count(*)
from pg_locks
where locktype = 'object' and classid = 'queue_definition'::regclass and pid = pg_backend_pid() and objsubid > 0
group by 1, 2;
commit;
select queue_drop('q'), queue_drop('r');
drop schema test_name_lock cascade;
