-- A literal without a time zone, in a fragment, is in UTC, whatever the session's TimeZone.
set client_min_messages = error;
create schema test_fragment_time_zone;
set search_path = test_fragment_time_zone, public;
create table t (id integer primary key, at timestamptz, s text);
create index on t (id) where s is null;
insert into t values (1, '2020-01-01 08:00+00'), (2, '2020-01-01 10:00+00');
set timezone = 'Asia/Tokyo';
select queue_attach('t', 't', 's is null and at < ''2020-01-01 09:00''', 'id', 's = ''2020-01-01 00:00''::timestamptz::date::text');
select id, s from queue_pop_rows(null::t, 't', 5);
update t set s = null;
set timezone = 'America/New_York';
select id, s from queue_pop_rows(null::t, 't', 5);
update t set s = null;
-- In a session that has compiled nothing.
\c -
set search_path = test_fragment_time_zone, public;
set client_min_messages = error;
set timezone = 'Asia/Tokyo';
select id, s from queue_pop_rows(null::t, 't', 5);
update t set s = null;
set queue_ext.claim_path = portable;
select id, s from queue_pop_rows(null::t, 't', 5);
select queue_detach('t');
drop schema test_fragment_time_zone cascade;
