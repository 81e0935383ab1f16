-- What a fragment speaks of changes after it was compiled: the next call gets the
-- new state, or a clear error; never a stale plan.
set client_min_messages = error;
create schema test_change;
create schema test_change_b;
set search_path = test_change, public;
create type mood as enum ('sad', 'happy');
create function is_due(integer) returns boolean language plpgsql as $$ begin return $1 <= 2; end $$;
create function after(integer) returns integer language sql return 1;
create table t (id integer primary key, state integer not null default 0, note text, spare integer, feeling mood default 'sad', due date default '2020-01-01');
insert into t select generate_series(1, 9);
select queue_attach('t', 't', 'is_due(id) and state = 0', 'id', 'state = after(state)', on_release => $$state = 0, note = 'released'$$, on_complete => 'state = 9');
select queue_attach('feelings', 't', $$feeling = 'sad' and due < '2021-01-01' and state = 0$$, 'id desc', $$state = 5, feeling = 'happy'$$);
\set try 'select id, state from queue_pop_rows(null::t, ''t'');'
\set again 'update t set state = 0 where id = 6;'
\set VERBOSITY sqlstate
:try

-- A function: replaced, renamed, dropped, made anew; with another type; moved.
create or replace function is_due(integer) returns boolean language plpgsql as $$ begin return $1 = 3; end $$;
:try
alter function is_due(integer) rename to was_due;
discard plans;
:try
:try
create function is_due(integer) returns boolean language plpgsql as $$ begin return $1 = 4; end $$;
:try
drop function is_due(integer);
:try
create function is_due(bigint) returns boolean language plpgsql as $$ begin return $1 = 5; end $$;
:try
alter function is_due(bigint) set schema test_change_b;
:try
alter function test_change_b.is_due(bigint) set schema test_change;
create or replace function is_due(integer) returns boolean language sql return $1 = 6;
:try
create or replace function after(integer) returns integer language sql return 77;
:again
:try
drop function after(integer);
:again
:try
create function after(integer) returns text language sql return 'x';
:try
drop function after(integer);
create function after(integer) returns smallint language sql return 1;
:try
:again
-- An error leaves nothing behind that the next call would trip over.
begin;
drop function is_due(integer), is_due(bigint);
savepoint s;
:try
rollback to s;
:try
rollback;
:again
:try

-- A type.
select id, feeling from queue_pop_rows(null::t, 'feelings');
alter type mood rename to spirit;
select id, feeling from queue_pop_rows(null::t, 'feelings');
alter table t alter feeling drop default, alter feeling type text;
update t set state = 0, feeling = 'sad' where id > 6;
select id, feeling from queue_pop_rows(null::t, 'feelings');
alter table t alter due drop default, alter due type timestamptz;
select id, due < '2020-01-03' as due from queue_pop_rows(null::t, 'feelings');
alter table t alter due type integer using 5;
select id from queue_pop_rows(null::t, 'feelings');
alter table t alter due type date using '2020-01-01';
select id from queue_pop_rows(null::t, 'feelings');

-- Columns: of the table's row type, which receipts have.
prepare pop as select id, state from queue_pop_rows(null::t, 't');
prepare complete as select queue_complete_row('t', t) from t where id = $1;
:again
execute pop;
alter table t drop column spare;
:again
execute pop;
execute complete(6);
alter table t add column extra text default 'e';
:again
select * from queue_pop_rows(null::t, 't');
execute complete(6);
drop function after(integer);
create function after(bigint) returns smallint language sql return 1;
alter table t alter state type bigint;
:again
:try
alter table t rename column note to remark;
:again
:try
select queue_release_row('t', t) from t where id = 6;
alter table t rename column remark to note;
:try
select queue_release_row('t', t) from t where id = 6;
alter table t rename column state to condition;
select id from queue_pop_rows(null::t, 't');
alter table t add column state integer not null default 0;
select id, state, condition from queue_pop_rows(null::t, 't');
alter table t drop column condition;
alter table t alter id type bigint;
:again
:try
execute complete(6);
alter table t alter id type text;
:again
:try
alter table t alter id type integer using id::integer;
alter table t drop column state;
select id from queue_pop_rows(null::t, 't');
alter table t add column state integer generated always as (0) stored;
select id from queue_pop_rows(null::t, 't');
alter table t drop column state;
alter table t add column state integer not null default 0;
:try

-- The table itself.
alter table t rename to u;
update u set state = 0;
select id from queue_pop_rows(null::u, 't');
alter table u set schema test_change_b;
update test_change_b.u set state = 0;
select id from queue_pop_rows(null::test_change_b.u, 't');
select id from queue_pop_rows(null::test_change_b.u, 'test_change_b.t');
select queue, source, search_path from queues where queue like 'test\_change%.t';
set search_path = test_change, test_change_b, public;
truncate u;
insert into u (id, state) values (6, 0);
cluster u using t_pkey;
select id from queue_pop_rows(null::u, 't');
update u set state = 0;
alter table u set unlogged;
vacuum full u;
select id from queue_pop_rows(null::u, 't');
alter table u drop constraint t_pkey;
select queue_complete_row('t', u) from u;
alter table u add primary key (id);
select queue_complete_row('t', u) from u;
select id, state from u;

-- Dropped, and made anew: that is no queue until it is attached again.
drop table u;
select queue_complete_row('t', null::queues);
create table t (id integer primary key, state integer not null default 0);
insert into t values (6);
select id from queue_pop_rows(null::t, 't');
select id from queue_pop_rows(null::t);
select queue_complete_row('t', t) from t;
select queue_detach('t', true);
drop function after(bigint);
select queue_attach('t', 't', 'is_due(id) and state = 0', 'id', 'state = 1');
select id from queue_pop_rows(null::t);
select queue_attach('t', 't', 'is_due(id) and state = 0', 'id', 'state = 1');
select queue_detach('t');
select id from queue_pop_rows(null::t);
begin;
select queue_attach('t', 't', 'state = 1', 'id', 'state = 2');
select id from queue_pop_rows(null::t);
rollback;
select id from queue_pop_rows(null::t);
-- A queue whose fragments no longer compile is paused and detached all the same.
select queue_attach('t', 't', 'state = 0 or is_due(id)', 'id', 'state = 1');
drop function is_due(integer), is_due(bigint);
select id from queue_pop_rows(null::t);
select queue_pause('t'), queue_detach('t');
deallocate all;
drop schema test_change, test_change_b cascade;
