-- A queue took another queue's table, which happened to be named <queue>_archive,
-- for its archive; dropping the first queue then dropped the other one's jobs.
set client_min_messages = warning;
create schema test_archive_name_taken;
set search_path = test_archive_name_taken, public;
select queue_create('jobs_archive');
select queue_send('jobs_archive', '"precious"');
\set VERBOSITY sqlstate
select queue_create('jobs', archive => true);
select queue_create('jobs');
select queue_alter('jobs', archive => true);
select queue, archive from queues where queue like 'test\_archive\_name\_taken.%' order by queue;
select queue_drop('jobs');
select payload from jobs_archive;

-- Nor is any other table an archive unless it has the columns of one.
create table letters_archive (id bigint);
select queue_create('letters', archive => true);
create view mail_archive as select 1 as id;
select queue_create('mail', archive => true);
create sequence bills_archive;
select queue_create('bills', archive => true);

-- And an archive serves one queue.
select queue_create('orders', archive => true);
alter table orders rename to old_orders;
alter table old_orders rename constraint orders_pkey to old_orders_pkey;
create schema test_archive_name_taken_2;
alter table old_orders set schema test_archive_name_taken_2;
select queue_create('orders', archive => true);

drop schema test_archive_name_taken, test_archive_name_taken_2 cascade;
