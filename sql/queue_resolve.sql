-- A queue lives in the schema of its table, and is found through search_path.
set client_min_messages = warning;
create schema test_resolve_a;
create schema test_resolve_b;
select queue_create('test_resolve_a.jobs'), queue_create('test_resolve_b.jobs');
select queue_send('test_resolve_a.jobs', '"a"'), queue_send('test_resolve_b.jobs', '"b"');
create view public.where_is as
select queue, source from queues where queue like 'test\_resolve%' order by queue;

-- Two queues of one name: the first in the path.
set search_path = test_resolve_a, test_resolve_b, public;
select payload from queue_pop('jobs');
select queue_release('jobs', 1, 1);
set search_path = test_resolve_b, test_resolve_a, public;
select payload from queue_pop('jobs');
select queue_release('jobs', 1, 1);
set search_path = no_such_schema, test_resolve_a, public;
select payload from queue_pop('jobs');
select queue_release('jobs', 1, 2);
\set VERBOSITY sqlstate
set search_path = public;
select payload from queue_pop('jobs');
set search_path = '';
select public.queue_pop('jobs');
select payload from public.queue_pop('test_resolve_b.jobs');
select public.queue_release('test_resolve_b.jobs', 1, 2);

-- A new queue goes where CREATE TABLE would put it, whatever stands behind.
set search_path = test_resolve_b, test_resolve_a, public;
select queue_create('news');
select queue_drop('news');
set search_path = test_resolve_a, test_resolve_b, public;
select queue_create('news');
select queue_drop('test_resolve_b.news');
select queue_drop('news');

-- A queue that is dropped uncovers the one behind it, one that is created hides it.
select queue_drop('jobs');
select payload from queue_pop('jobs');
select queue_release('jobs', 1, 3);
select queue_create('jobs');
select payload from queue_pop('jobs');
select queue_send('jobs', '"a again"');
select payload from queue_pop('jobs');

-- The table renamed: the queue's name stays.
alter table test_resolve_a.jobs rename to letters;
select * from public.where_is;
select queue_send('jobs', '"renamed"');
select payload from queue_pop('jobs');
select queue_pop('letters');
select queue_create('jobs');
select queue_create('letters');
select queue_alter('jobs', archive => true, max_attempts => 5);
select queue_complete('jobs', 2, 1);
select id, state from letters_archive;

-- Moved to another schema: the queue comes along.
create schema test_resolve_c;
alter table letters set schema test_resolve_c;
select * from public.where_is;
select payload from queue_pop('jobs');
select queue_complete('test_resolve_c.jobs', 1, 1);
select id, state from letters_archive order by id;
alter table letters_archive rename to old_letters;
select queue_send('test_resolve_c.jobs', '"moved"');
select id, payload from queue_pop('test_resolve_c.jobs');
select queue_complete('test_resolve_c.jobs', 3, 1);
select id, state from old_letters order by id;

-- The schema renamed.
alter schema test_resolve_c rename to test_resolve_d;
select queue_send('test_resolve_c.jobs', '1');
select queue_send('test_resolve_d.jobs', '1');
select id from queue_pop('test_resolve_d.jobs');
select * from public.where_is;

-- Two of one name in one schema.
alter index test_resolve_d.jobs_pkey rename to letters_pkey;
alter index test_resolve_d.jobs_priority_run_at_id_idx rename to letters_claim;
alter index test_resolve_d.jobs_unique_key_idx rename to letters_unique_key;
alter index test_resolve_d.jobs_dead_at_idx rename to letters_dead;
alter sequence test_resolve_d.jobs_id_seq rename to letters_id_seq;
alter table test_resolve_d.letters set schema test_resolve_b;
select queue_send('test_resolve_b.jobs', '1');
set search_path = test_resolve_b, public;
select queue_pop('jobs');
select queue_drop('jobs');
alter table letters set schema test_resolve_d;
select queue_send('jobs', '1');

-- The table dropped: no such queue, and the name is free.
drop table test_resolve_b.jobs;
select queue_send('jobs', '1');
select queue_drop('jobs');
select queue_drop('jobs', if_exists => true);
select queue from public.where_is;
select queue_create('jobs');
select queue_send('jobs', '1');
drop schema test_resolve_a, test_resolve_b, test_resolve_d cascade;
select count(*) as queues from queues where queue like 'test\_resolve%';
drop view if exists public.where_is;
