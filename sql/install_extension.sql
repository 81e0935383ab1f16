-- The extension in a schema that is in nobody's path; dropped, it leaves the jobs.
set client_min_messages = warning;
drop extension queue_ext;
create schema "Test Extension";
create schema test_extension;
create extension queue_ext schema "Test Extension";
set search_path = '';

select "Test Extension".queue_create('test_extension.jobs', archive => true);
select "Test Extension".queue_send('test_extension.jobs', '1');
select "Test Extension".queue_send_many('test_extension.jobs', '{2,3}');
select id, attempt, payload from "Test Extension".queue_pop('test_extension.jobs', 2);
select "Test Extension".queue_complete('test_extension.jobs', 1, 1);
select "Test Extension".queue_fail('test_extension.jobs', 2, 1, 'broken', '0');
select * from "Test Extension".queue_counts('test_extension.jobs');
select "Test Extension".queue_alter('test_extension.jobs', max_attempts => 3);
select "Test Extension".queue_pause('test_extension.jobs');
select "Test Extension".queue_resume('test_extension.jobs');
select queue, source, archive, max_attempts from "Test Extension".queues;
select "Test Extension".fnv1_64('a');
select "Test Extension".throttle_create('r', '1 hour');
select "Test Extension".lock_throttled_resource('r', 'x') as granted, "Test Extension".mutex_acquire('m') as acquired;
select task_id, token from "Test Extension".held_locks;
create table test_extension.items (id integer primary key, note text);
create index on test_extension.items (id) where note is null;
insert into test_extension.items select generate_series(1, 2);
select "Test Extension".queue_attach('test_extension.items', 'test_extension.items', 'note is null', 'id', claim_mode => 'session');
set queue_ext.claim_path = portable;
select id from "Test Extension".queue_pop_rows(null::test_extension.items);
alter schema "Test Extension" rename to test_renamed;
select test_renamed.lock_throttled_resource('r', 'x') as granted, test_renamed.mutex_release('m') as released,
       test_renamed.mutex_acquire('n') as acquired;
select id from test_renamed.queue_pop_rows(null::test_extension.items);
reset queue_ext.claim_path;
alter schema test_renamed rename to "Test Extension";

-- It cannot be moved.
\set VERBOSITY sqlstate
alter extension queue_ext set schema public;

-- Dropped: the jobs stay.
drop extension queue_ext;
select "Test Extension".queue_pop('test_extension.jobs');
select (select count(*) from test_extension.jobs) as jobs,
       (select count(*) from test_extension.jobs_archive) as archived;
select nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where relname = 'queue_definition';

-- In public again, as other tests want it; this session has the old one's OIDs.
reset search_path;
create extension queue_ext;
select lock_throttled_resource('r', 'x');
select throttle_create('r', '1 hour'), lock_throttled_resource('r', 'x') as granted, throttle_drop('r');
select * from mutex_acquire_fenced('m');
select mutex_release('m') as released, count(*) as locks from named_lock;
delete from named_lock;
select queue_pop('test_extension.jobs');
select queue_create('test_extension.jobs');
select count(*) as queues from queues where queue like 'test\_extension.%';
begin;
drop extension queue_ext;
rollback;
select queue_create('test_extension.others');
select queue_send('test_extension.others', '1');
drop schema "Test Extension", test_extension cascade;
