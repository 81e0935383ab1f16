-- The owner has given the column unique_key another type: a claim does not take its value for a text.
\set VERBOSITY terse
set client_min_messages = warning;
create schema test_key_type;
set search_path = test_key_type, public;
select queue_create('jobs');
select count(*) from queue_send_many('jobs', '{"{}","{}","{}","{}"}');
alter table jobs alter unique_key type bigint using 7;
select attempt from queue_pop('jobs');
set queue_ext.claim_path = tid;
select attempt from queue_pop('jobs');
set queue_ext.claim_path = portable;
select attempt from queue_pop('jobs', 2);
alter table jobs alter unique_key type text;
alter table jobs alter id drop identity;
alter table jobs alter id type numeric;
update jobs set unique_key = 'schedule|a', attempt = 0, leased_until = null;
select (queue_pop_rows(null::jobs, 'jobs', 1)).attempt;
set queue_ext.claim_path = tid;
select (queue_pop_rows(null::jobs, 'jobs', 1)).attempt;
reset queue_ext.claim_path;
select (queue_pop_rows(null::jobs, 'jobs', 1)).attempt;
drop schema test_key_type cascade;
