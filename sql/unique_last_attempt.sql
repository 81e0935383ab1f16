-- A job on its last attempt has a "dead_at" to come: it is not dead before that, and
-- counts for unique inserts, by the statement as on the direct path.
set client_min_messages = warning;
create schema test_unique_last_attempt;
set search_path = test_unique_last_attempt, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 1);
select id, inserted from queue_unique_insert('jobs', '1');
select id, attempt from queue_pop('jobs');
select dead_at > clock_timestamp() as to_come from jobs;
select id, inserted from queue_unique_insert('jobs', '1');
select id, inserted from queue_unique_insert('jobs', '1', states => '{leased}');
-- Dead or done it does not count, unless it is asked to.
select queue_fail('jobs', 1, 1);
select id, inserted from queue_unique_insert('jobs', '1', states => '{dead}');
select id, inserted from queue_unique_insert('jobs', '1');
drop schema test_unique_last_attempt cascade;

-- The same where the look is a statement: for a role with the rights on columns only.
create schema test_unique_last_attempt;
set search_path = test_unique_last_attempt, public;
create role regress_last_attempt;
grant usage on schema test_unique_last_attempt to regress_last_attempt;
select queue_create('jobs', lease => '1 hour', max_attempts => 1);
grant insert, select (id, run_at, leased_until, dead_at, unique_key, payload) on jobs to regress_last_attempt;
select id, inserted from queue_unique_insert('jobs', '1');
select id, attempt from queue_pop('jobs');
set role regress_last_attempt;
select id, inserted from queue_unique_insert('jobs', '1');
select id, inserted from queue_unique_insert('jobs', '1', states => '{leased}');
reset role;
select queue_fail('jobs', 1, 1);
set role regress_last_attempt;
select id, inserted from queue_unique_insert('jobs', '1');
reset role;
drop schema test_unique_last_attempt cascade;
drop role regress_last_attempt;
