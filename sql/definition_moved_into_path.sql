-- A session that had used a queue did not notice when another queue's table moved
-- into a schema in front of it in the search path.
set client_min_messages = warning;
create schema test_moved_a;
create schema test_moved_b;
create schema test_moved_c;
select queue_create('test_moved_b.jobs'), queue_create('test_moved_c.jobs');
set search_path = test_moved_a, test_moved_b, public;
select queue_send('jobs', '"b"'), queue_send('test_moved_c.jobs', '"moved"');
select payload from queue_pop('jobs');
select queue_release('jobs', 1, 1);
alter table test_moved_c.jobs set schema test_moved_a;
select payload from queue_pop('jobs');

-- Likewise into the schema itself: two queues of one name.
alter table test_moved_a.jobs rename to moved;
alter index test_moved_a.jobs_pkey rename to moved_pkey;
alter index test_moved_a.jobs_priority_run_at_id_idx rename to moved_claim;
alter index test_moved_a.jobs_unique_key_idx rename to moved_unique_key;
alter index test_moved_a.jobs_dead_at_idx rename to moved_dead;
alter sequence test_moved_a.jobs_id_seq rename to moved_id_seq;
set search_path = test_moved_b, public;
select payload from queue_pop('jobs');
alter table test_moved_a.moved set schema test_moved_b;
\set VERBOSITY sqlstate
select payload from queue_pop('jobs');
drop schema test_moved_a, test_moved_b, test_moved_c cascade;
