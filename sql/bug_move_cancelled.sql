-- A look for dead jobs that is cancelled, or must be repeated, has not been hindered by its jobs: the next one does not go on behind them.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_cancelled;
set search_path = test_cancelled, public;
select queue_create('letters');
select queue_create('jobs', max_attempts => 1, dead_queue => 'letters');
alter table jobs set (autovacuum_enabled = off);
create function fail() returns trigger language plpgsql as $$ begin raise exception 'again' using errcode = '40P01'; end $$;
create trigger fail before insert on letters for each row execute function fail();
insert into jobs (payload, dead_at, attempt) values ('1', '2020-01-01', 1);
select count(*) from queue_pop('jobs');
\echo :LAST_ERROR_SQLSTATE
select queue_alter('jobs', lease => '1 hour'); -- so that the next claim looks
select count(*) from queue_pop('jobs');
create or replace function fail() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
select queue_alter('jobs', lease => '1 hour');
set statement_timeout = '1 s';
select count(*) from queue_pop('jobs');
reset statement_timeout;
drop trigger fail on letters;
select queue_alter('jobs', lease => '1 hour');
select count(*) from queue_pop('jobs');
select count(*) from letters;
drop schema test_cancelled cascade;
