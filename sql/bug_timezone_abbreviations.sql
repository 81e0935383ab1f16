-- What an abbreviation of a time zone in a fragment means depended on the session that popped.
set client_min_messages = error;
create schema test_timezone_abbreviations;
set search_path = test_timezone_abbreviations, public;
create table t (id integer primary key, at timestamptz, s text);
create index on t (id) where s is null;
insert into t values (1, '2020-01-01 08:00+00');
select queue_attach('t', 't', 's is null and at < ''2020-01-01 12:00 IST''', 'id', 's = ''x''', on_release => 's = null');
select queue_release_row('t', j) from queue_pop_rows(null::t, 't') as j;
set timezone_abbreviations = 'India';
select queue_release_row('t', j) from queue_pop_rows(null::t, 't') as j;
select queue_detach('t');
select queue_attach('t', 't', 's is null and at < ''2020-01-01 12:00 IST''', 'id', 's = ''x''', on_release => 's = null');
select queue_release_row('t', j) from queue_pop_rows(null::t, 't') as j;
reset timezone_abbreviations;
select queue_detach('t');
drop schema test_timezone_abbreviations cascade;
