-- Several queues of one table: what one of them is told, or does, can be what another
-- waits for, and that one is not to take itself for idle.
set client_min_messages = error;
create schema test_wake_two_queues;
set search_path = test_wake_two_queues, public;
set queue_ext.claim_path = direct;

-- A managed queue and an attached one.
select queue_create('jobs', lease => '1 hour');
create index on jobs (id) where payload ? 'audit';
select queue_attach('audit', 'jobs', $$payload ? 'audit'$$, 'id', $$payload = payload - 'audit'$$);
create function next() returns bigint[] language sql volatile
return (select array_agg(id) from queue_pop('jobs'));
create function next_audit() returns bigint[] language sql volatile
return (select array_agg(id) from queue_pop_rows(null::jobs, 'audit'));
select next(), next_audit();
select next(), next_audit();
select queue_send('jobs', '{"audit": 1}');
select next_audit(), next();
select next_audit(), next();
insert into jobs (payload) values ('{"audit": 1}');
select next_audit(), next();
select next_audit(), next();
update jobs set payload = '{"audit": 1}' where id = 1;
select next_audit();
select next_audit();
begin;
delete from jobs where id = 1;
select next_audit();
rollback;
begin;
select queue_send_many('jobs', '{"{\"audit\": 1}"}');
commit;
select next_audit(), next();

-- Stages: the claim of one queue makes the row claimable in the next.
create table stages (id integer primary key, stage integer not null default 0);
create index on stages (id) where stage = 0;
create index on stages (id) where stage = 1;
create index on stages (id) where stage = 2;
select queue_attach('first', 'stages', 'stage = 0', 'id', 'stage = 1', wake => true);
select queue_attach('second', 'stages', 'stage = 1', 'id', 'stage = 2', wake => true);
select queue_attach('third', 'stages', 'stage = 2', 'id', 'stage = 3', wake => true);
create function next(queue text) returns integer[] language sql volatile
return (select array_agg(id) from queue_pop_rows(null::stages, queue));
select next('first'), next('second'), next('third');
select next('first'), next('second'), next('third');
insert into stages values (1), (2);
select next('first');
select next('second');
select next('third');
select next('second'), next('third');
begin;
select next('first');
select next('second');
rollback;
select next('second'), next('third');
select next('first');
select next('second');
select next('third');

-- What a queue has made claimable for another is found by that one once the first is gone, though nothing told of it.
create table steps (id integer primary key, step integer not null default 0);
create index on steps (id) where step = 0;
create index on steps (id) where step = 1;
select queue_attach('later', 'steps', 'step = 1', 'id', 'step = 2', wake => true);
create function next_step(queue text) returns integer[] language sql volatile
return (select array_agg(id) from queue_pop_rows(null::steps, queue));
insert into steps values (1);
select next_step('later'), next_step('later');
select queue_attach('sooner', 'steps', 'step = 0', 'id', 'step = 1');
select next_step('sooner');
select queue_detach('sooner');
select next_step('later');

drop schema test_wake_two_queues cascade;
