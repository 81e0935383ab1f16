-- A cast of users' ran as the owner in a worker's session where the type of a column had that of the cast within: a
-- domain over it, an array of it, a composite type.
set client_min_messages = warning;
create schema test_casts_within;
set search_path = test_casts_within, public;
create type tone as enum ('low', 'high');
create function tone_text(t tone) returns text language plpgsql as $$ begin raise warning 'to text as %', current_user; return enum_out(t); end $$;
create cast (tone as text) with function tone_text(tone) as assignment;
create function text_tone(t text) returns tone language plpgsql as $$ begin raise warning 'from text as %', current_user; return 'low'::test_casts_within.tone; end $$;
create cast (text as tone) with function text_tone(text) as assignment;
create function tone_json(t tone) returns json language plpgsql as $$ begin raise warning 'to json as %', current_user; return '"x"'; end $$;
create cast (tone as json) with function tone_json(tone);
create domain toned as tone;
create type pair as (n integer, tones toned[]);
create type tones as range (subtype = tone);
create domain short as text check (length(value) < 10);

select queue_create('letters');
select queue_create(name, max_attempts => 1, dead_queue => 'letters') from unnest('{a_domain,an_array,a_composite,a_range,plain}'::text[]) as name;
select queue_create('archived', archive => true, on_expire => 'archive');
alter table a_domain alter last_error type toned using null;
alter table an_array alter attempt drop default, alter attempt type tone[] using null;
alter table a_composite alter attempt drop default, alter attempt type pair using null;
alter table a_range add tones tones;
alter table plain add note short[];
alter table archived_archive alter last_error type toned using null;
insert into a_domain (payload, dead_at, attempt, last_error) values ('1', now(), 1, 'low');
insert into an_array (payload, dead_at, attempt) values ('2', now(), '{low}');
insert into a_composite (payload, dead_at, attempt) values ('3', now(), '(1,{low})');
insert into a_range (payload, dead_at, attempt, tones) values ('4', now(), 1, '[low,high]');
insert into plain (payload, dead_at, attempt, note) values ('5', now(), 1, '{a}');
insert into archived (payload, expires_at, last_error) values ('6', now(), 'low');
create role regress_casts_within;
grant usage on schema test_casts_within to regress_casts_within;
grant select, update, delete on a_domain, an_array, a_composite, a_range, plain, archived to regress_casts_within;

-- A new session, which has planned nothing yet.
\c -
set client_min_messages = warning;
set search_path = test_casts_within, public;
set queue_ext.claim_path = auto;
set role regress_casts_within;
select count(*) from queue_pop('plain');
select count(*) from queue_pop_rows(null::a_domain, 'a_domain');
select count(*) from queue_pop_rows(null::a_range, 'a_range');
select count(*) from queue_pop_rows(null::archived, 'archived');
call queue_maintain('a_domain');
call queue_maintain('an_array');
call queue_maintain('a_composite');
call queue_maintain('a_range');
call queue_maintain('archived');
reset role;
select payload from letters order by id;
select count(*) from archived_archive;
drop owned by regress_casts_within;
drop role regress_casts_within;
drop schema test_casts_within cascade;
