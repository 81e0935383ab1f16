-- An idle queue does not stay so when its trigger does not fire for a while: disabled,
-- as pg_restore --disable-triggers does it, dropped, or gone with the queue.
set client_min_messages = error;
create schema test_wake_trigger_off;
set search_path = test_wake_trigger_off, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
create table t (id integer primary key, state integer not null default 0);
create index on t (id) where state = 0;
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', wake => true);
create function pops(out job bigint, out id integer) language sql volatile
return ((select id from queue_pop('jobs')), (select id from queue_pop_rows(null::t)));

select pops();
select pops();
alter table jobs disable trigger queue_ext_wake;
alter table t disable trigger queue_ext_wake;
insert into jobs (payload) values ('1');
insert into t values (1);
select pops();
alter table jobs enable always trigger queue_ext_wake;
alter table t enable always trigger queue_ext_wake;

select pops();
select pops();
alter table jobs disable trigger all;
alter table t disable trigger all;
insert into jobs (payload) values ('1');
insert into t values (2);
alter table jobs enable trigger all;
alter table t enable trigger all;
select pops();

select pops();
select pops();
drop trigger queue_ext_wake on jobs;
drop trigger queue_ext_wake on t;
insert into jobs (payload) values ('1');
insert into t values (3);
select pops();
select pops();

select queue_detach('t');
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', wake => true);
select pops();
select pops();
select queue_detach('t');
insert into t values (4);
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', wake => true);
select pops();
select pops();
select queue_detach('t');
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1');
insert into t values (5);
select pops();

drop schema test_wake_trigger_off cascade;
