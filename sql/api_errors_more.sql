-- The wording of the errors of what came in 0.2, as api_errors has that of the rest.
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_errors_more;
set search_path = test_errors_more, public;
select queue_create('jobs');
create table t (id integer primary key, state integer not null default 0);
create index on t (id) where state = 0;
insert into t select generate_series(1, 3);
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1');

-- Waiting.
call queue_pop_wait('t');
call queue_wait('jobs', null);
call queue_wait('jobs', '-1 s');
begin isolation level repeatable read;
call queue_wait('jobs');
rollback;
begin;
insert into t values (4);
call queue_wait('jobs');
rollback;
do $$ begin begin call queue_wait('jobs'); exception when division_by_zero then null; end; end $$;
begin;
call queue_pop_wait('jobs');
rollback;

-- Receipts; finish_receipt has what is wrong with a text that is none.
select queue_receipt('t', j) as r from queue_pop_rows(null::t) as j \gset
select queue_complete_receipt('jobs', :'r');
alter table t alter id type bigint;
select queue_complete_receipt('t', :'r');

-- Repairs.
call queue_delete_where('jobs', 'id = $1');
call queue_change_where('jobs', 'true');
begin;
call queue_cancel_where('jobs', 'true');
rollback;
call queue_cancel_where('t', 'true');

-- Schedules. An error of an expression names the field.
select queue_schedule('jobs', 's', cron => '0 25 * * *');
select queue_schedule('jobs', 's', cron => '0 0 30 2 *');
select queue_schedule('jobs', 's', cron => '0 0 * *');
select queue_schedule('jobs', 's', cron => '@fortnightly');
select queue_schedule('jobs', 's', cron => repeat('0,', 500) || '0 * * * *');
select queue_schedule('jobs', 's');
select queue_schedule('jobs', 's', '1 hour', missed => 'x');
select queue_schedule('jobs', 's', '1 hour', time_zone => 'Europe/Atlantis');

drop schema test_errors_more cascade;
