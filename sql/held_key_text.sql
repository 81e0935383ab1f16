-- In the lock modes two sessions with different settings saw different keys, and one
-- job went to both.
set client_min_messages = warning;
create schema test_key_text;
set search_path = test_key_text, public;
create table moments (at timestamptz primary key, state text default 'new');
create index on moments (at) where state = 'new';
insert into moments values ('2020-01-01 00:00+00'), ('infinity');
select queue_attach('moments', 'moments', 'state = ''new''', 'at', claim_mode => 'session');
set timezone = 'UTC';
select count(*) from queue_pop_rows(null::moments, max_jobs => 2);
set timezone = 'Asia/Tokyo';
set datestyle = 'German';
select count(*) from queue_pop_rows(null::moments, max_jobs => 2);
select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
select queue_complete_row('moments', m) from moments m;
select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
reset timezone;
reset datestyle;
-- Where there is no such text, there is no lock.
\set VERBOSITY sqlstate
create table ratios (ratio float8 primary key, state text);
select queue_attach('ratios', 'ratios', 'state = ''new''', 'ratio', claim_mode => 'session');
select queue_attach('ratios', 'ratios', 'state = ''new''', 'ratio', claim_mode => 'transaction');
select queue_attach('ratios', 'ratios', 'state = ''new''', 'ratio', 'state = ''taken''');
alter table moments drop constraint moments_pkey;
select * from queue_pop_rows(null::moments);
\set VERBOSITY default
drop schema test_key_text cascade;
