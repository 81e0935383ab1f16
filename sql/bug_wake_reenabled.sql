-- What plain SQL writes while the trigger is off, or the extension away, takes its turn as soon as there is the trigger
-- again, also where the ring has candidates. (It came after those.)
set client_min_messages = error;
create schema bug_wake_reenabled;
set search_path = bug_wake_reenabled, public;
select queue_create('jobs');
select count(*) from queue_send_many('jobs', '{1,2,3,4}');
select payload from queue_pop('jobs');
alter table jobs disable trigger queue_ext_wake;
insert into jobs (payload, priority) values ('"first"', -1);
alter table jobs enable always trigger queue_ext_wake;
select payload from queue_pop('jobs');
drop trigger queue_ext_wake on jobs;
insert into jobs (payload, priority) values ('"first again"', -2);
select queue_alter('jobs', wake => true);
select payload from queue_pop('jobs');
select payload from queue_pop('jobs');
select queue_drop('jobs');
drop schema bug_wake_reenabled cascade;
