-- A queue's table with a child that has IDs more than once: a batch that cancels them returns more jobs
-- than it was told.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_repair_children;
set search_path = test_repair_children, public;
select queue_create('jobs');
select queue_schedule('jobs', 'nightly', '1 hour') > now() as later;
select count(*) from queue_send_many('jobs', array_fill('{}'::jsonb, '{12}'));
create table child (like jobs) inherits (jobs);
insert into child select j.* from only jobs as j, generate_series(1, 1500) where unique_key is null;
create index on child (id);
analyze jobs, child;
call queue_cancel_where('jobs', 'unique_key is null', batch_size => 10000);
select count(*), min(unique_key) as key from jobs;
drop schema test_repair_children cascade;
