-- An empty pop looks for prepared transactions, which anyone may, where that is so.
set client_min_messages = error;
create schema test_prepared_view;
set search_path = test_prepared_view, public;
create role prepared_view_worker;
grant usage on schema test_prepared_view to prepared_view_worker;
select queue_create('jobs');
grant select, update, insert on jobs to prepared_view_worker;
revoke select on pg_prepared_xacts from public;
set role prepared_view_worker;
select count(*) from pg_prepared_xacts;
select count(*) from queue_pop('jobs');
select queue_send('jobs', '1');
select id from queue_pop('jobs');
select count(*) from queue_pop('jobs');
reset role;
grant select on pg_prepared_xacts to public;
set role prepared_view_worker;
select count(*) from queue_pop('jobs');
-- The function behind it may be closed, too.
reset role;
revoke execute on function pg_prepared_xact() from public;
-- Of a new queue the first pop reads the table, and so looks.
select queue_create('unread');
grant select, update on unread to prepared_view_worker;
set role prepared_view_worker;
select count(*) from pg_prepared_xacts;
select count(*) from queue_pop('unread');
select queue_send('jobs', '2');
select id from queue_pop('jobs');
select count(*) from queue_pop('jobs');
reset role;
grant execute on function pg_prepared_xact() to public;
set role prepared_view_worker;
select count(*) from queue_pop('jobs');
reset role;
select queue_drop('jobs'), queue_drop('unread');
drop schema test_prepared_view cascade;
drop role prepared_view_worker;
