-- A column whose type is a domain that does not take null, and that has no default:
-- sending is an error, as an INSERT is.
set client_min_messages = error;
create schema test_send_domain;
set search_path = test_send_domain, public;
set queue_ext.claim_path = direct;
select queue_create('jobs');
create domain needed as integer check (value is not null);
create domain never_null as integer not null;
create domain with_default as integer default 5 not null;
alter table jobs add column missing needed;
\set VERBOSITY sqlstate
select queue_send('jobs', '1');
select queue_send_many('jobs', '{1,2}');
insert into jobs (payload) values ('1');
alter table jobs drop missing, add given with_default;
select queue_send('jobs', '1') is not null as sent;
select given from jobs;
truncate jobs;
alter table jobs drop given;
alter table jobs add missing never_null;
select queue_send('jobs', '1');
select queue_send_many('jobs', '{1,2}');
select count(*) from jobs;
\set VERBOSITY default

drop schema test_send_domain cascade;
