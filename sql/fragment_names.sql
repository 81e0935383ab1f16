-- Names in a fragment are looked up once, under the search path of whoever
-- attached the queue; whoever pops has another path, and perhaps traps in it.
set client_min_messages = error;
create schema test_names;
create schema test_names_tools;
create schema test_names_evil;
create role regress_names_worker;
grant usage on schema test_names, test_names_tools to regress_names_worker;

-- Tools that are found on the path of the attaching session alone.
set search_path = test_names_tools, public;
create type mood as enum ('sad', 'happy');
create domain percent as integer check (value between 0 and 100);
create function is_due(percent) returns boolean language sql immutable return $1 < 50;
create function next_mood(mood) returns mood language sql immutable return 'happy'::mood;
create function rank(mood, variadic integer[] default '{1}') returns integer language sql immutable
	return case $1 when 'sad' then 1 else 2 end + $2[1];
create function close_to(percent, percent) returns boolean language sql immutable return abs($1 - $2) < 10;
create operator ~~~ (leftarg = percent, rightarg = percent, function = close_to);
create function negate(mood) returns mood language sql immutable return 'sad'::mood;
create operator !! (rightarg = mood, function = negate);
create function int4(mood) returns integer language sql immutable return 7;
create cast (mood as integer) with function int4(mood);
create function as_mood(integer) returns mood language sql immutable return 'sad'::mood;
create collation my_order from "C";
create table limits (at_most percent);
insert into limits values (60);
grant select on limits to regress_names_worker;

create table test_names.t (id integer primary key, done percent, feeling mood not null default 'sad', label text, worker text, taken boolean not null default false);
insert into test_names.t values (1, 5, 'sad', 'a'), (2, 12, 'sad', 'b'), (3, 70, 'sad', 'c'), (4, 11, 'happy', 'd'), (5, null, 'sad', 'e');
grant select, update, delete on test_names.t to regress_names_worker;
set search_path = test_names, test_names_tools, public;
select queue_attach(
	'q',
	't',
	$$is_due(done) and done ~~~ 8 and feeling in ('sad', 'happy') and (!! feeling) = 'sad'::mood and feeling::integer = 7
	  and done < all (select at_most from limits) and done = done::percent and not taken$$,
	$$rank(feeling), rank(feeling, variadic array[1, 2]), label collate my_order desc$$,
	$$taken = true, feeling = next_mood(feeling), label = label || 1::text || worker || (select count(*) from limits)::text$$,
	on_complete => $$feeling = as_mood(1), done = 100::percent$$
);
select search_path from queues where queue = 'test_names.q';

-- As somebody else, with nothing on the path; with other things; with traps in
-- front of pg_catalog.
create function reset_rows() returns void language sql security definer set search_path = test_names, test_names_tools, public
	as 'update t set taken = false, done = (array[5, 12, 70, 11, null])[id], feeling = case id when 4 then ''happy'' else ''sad'' end::mood, label = chr(96 + id), worker = ''w''';
select reset_rows();
\set try 'select id, done::pg_catalog.text, feeling::pg_catalog.text, label from public.queue_pop_rows(null::test_names.t, ''test_names.q'', 10)'
grant create on schema test_names_evil to regress_names_worker;
set role regress_names_worker;
set search_path = '';
:try;
select test_names.reset_rows();
set search_path = pg_catalog;
:try;
select test_names.reset_rows();
set search_path = test_names;
:try;
reset role;

set search_path = test_names_evil, pg_catalog, test_names_tools;
create table trace (what text);
create function trap(what text) returns void language plpgsql as $$ begin raise exception 'trapped: %', what; end $$;
create type mood as enum ('evil');
create domain percent as text;
create domain text as pg_catalog.int4;
create domain integer_ as pg_catalog.text;
create domain bool as pg_catalog.text;
create table limits (at_most pg_catalog.int4);
create function is_due(test_names_tools.percent) returns pg_catalog.bool language plpgsql as $$ begin perform test_names_evil.trap('is_due'); end $$;
create function is_due(pg_catalog.int4) returns pg_catalog.bool language plpgsql as $$ begin perform test_names_evil.trap('is_due'); end $$;
create function next_mood(test_names_tools.mood) returns test_names_tools.mood language plpgsql as $$ begin perform test_names_evil.trap('next_mood'); end $$;
create function rank(test_names_tools.mood) returns pg_catalog.int4 language plpgsql as $$ begin perform test_names_evil.trap('rank'); end $$;
create function close_to(pg_catalog.int4, pg_catalog.int4) returns pg_catalog.bool language plpgsql as $$ begin perform test_names_evil.trap('close_to'); end $$;
create operator ~~~ (leftarg = pg_catalog.int4, rightarg = pg_catalog.int4, function = close_to);
create function any_operator(anyelement, anyelement) returns pg_catalog.bool language plpgsql as $$ begin perform test_names_evil.trap('operator'); end $$;
create function int_operator(pg_catalog.int4, pg_catalog.int4) returns pg_catalog.bool language plpgsql as $$ begin perform test_names_evil.trap('operator'); end $$;
create function text_operator(pg_catalog.text, pg_catalog.text) returns pg_catalog.text language plpgsql as $$ begin perform test_names_evil.trap('||'); end $$;
create function bool_text(pg_catalog.int8) returns pg_catalog.text language plpgsql as $$ begin perform test_names_evil.trap('text'); end $$;
create operator = (leftarg = anyelement, rightarg = anyelement, function = any_operator);
create operator = (leftarg = pg_catalog.int4, rightarg = pg_catalog.int4, function = int_operator);
create operator < (leftarg = pg_catalog.int4, rightarg = pg_catalog.int4, function = int_operator);
create operator || (leftarg = pg_catalog.text, rightarg = pg_catalog.text, function = text_operator);
create function count(pg_catalog.text) returns pg_catalog.int8 language plpgsql as $$ begin perform test_names_evil.trap('count'); end $$;
create aggregate count(*) (sfunc = pg_catalog.int8inc, stype = pg_catalog.int8, initcond = '1000');
create function abs(pg_catalog.int4) returns pg_catalog.int4 language plpgsql as $$ begin perform test_names_evil.trap('abs'); end $$;
create collation my_order from "C";
create collation "C" from "POSIX";
create function queue_is_held(pg_catalog.oid, pg_catalog.text) returns pg_catalog.bool language plpgsql as $$ begin perform test_names_evil.trap('is_held'); end $$;
create table t (id pg_catalog.int4);
-- The traps work.
select 1 = 1;
select 'a'::pg_catalog.text || 'b'::pg_catalog.text;
select abs(1);

select test_names.reset_rows();
discard plans;
:try;
select test_names.reset_rows();
-- Other numbers of jobs make other statements; a change of the table makes all anew.
select id from public.queue_pop_rows(null::test_names.t, 'test_names.q', 1);
alter table test_names.t set (fillfactor = 90);
select public.queue_complete_row('test_names.q', j) from public.queue_pop_rows(null::test_names.t, 'test_names.q', 2) j;
select id, done::pg_catalog.text, feeling::pg_catalog.text from test_names.t where id operator(pg_catalog.<=) 2 order by id;
-- The planner asks for a claim's plan at attach, too, and for the hint.
select public.queue_attach('test_names.other', 'test_names.t', 'taken', 'done', 'taken = false');
reset search_path;
drop schema test_names_evil cascade;

-- What a fragment calls, it calls as who pops.
set search_path = test_names, test_names_tools, public;
select reset_rows();
revoke execute on function is_due(percent) from public;
set role regress_names_worker;
\set VERBOSITY sqlstate
select count(*) from queue_pop_rows(null::t, 'q');
reset role;
select count(*) from queue_pop_rows(null::t, 'q');
grant execute on function is_due(percent) to regress_names_worker;
revoke execute on function next_mood(mood) from public;
set role regress_names_worker;
select count(*) from queue_pop_rows(null::t, 'q');
reset role;
grant execute on function next_mood(mood) to regress_names_worker;
revoke execute on function as_mood(integer) from public;
revoke select on limits from regress_names_worker;
set role regress_names_worker;
select count(*) from queue_pop_rows(null::t, 'q');
reset role;
grant select on limits to regress_names_worker;
select reset_rows();
set role regress_names_worker;
select queue_complete_row('q', j) from queue_pop_rows(null::t, 'q') j;
reset role;
grant execute on function as_mood(integer) to regress_names_worker;
select reset_rows();
set role regress_names_worker;
select queue_complete_row('q', j) from queue_pop_rows(null::t, 'q') j;
-- Column privileges are enough, and needed.
reset role;
revoke update, delete on t from regress_names_worker;
select reset_rows();
set role regress_names_worker;
select count(*) from queue_pop_rows(null::t, 'q');
reset role;
grant update (taken, feeling) on t to regress_names_worker;
set role regress_names_worker;
select count(*) from queue_pop_rows(null::t, 'q');
reset role;
grant update (label) on t to regress_names_worker;
set role regress_names_worker;
select count(*) from queue_pop_rows(null::t, 'q');
reset role;
-- Without the right to use the schema of the tools: no claim; and what has the
-- tools' names elsewhere on the path is not taken for them.
revoke usage on schema test_names_tools from regress_names_worker;
create function public.is_due(test_names_tools.percent) returns boolean language plpgsql as $$ begin raise 'wrong function'; end $$;
select reset_rows();
select queue_attach('one', 't', 'is_due(done) and not taken', on_claim => 'taken = true');
\c -
set client_min_messages = error;
\set VERBOSITY sqlstate
set role regress_names_worker;
select count(*) from public.queue_pop_rows(null::test_names.t, 'test_names.one');
reset role;
select count(*) from public.queue_pop_rows(null::test_names.t, 'test_names.one');
drop function public.is_due(test_names_tools.percent);
set search_path = test_names, test_names_tools, public;

-- A temporary schema is on nobody's path: neither what was in the attaching
-- session's, nor what is in that of whoever pops.
create temporary table mine (id integer);
select queue_attach('tempted', 't', 'not taken and done < (select max(at_most) from limits)', 'id', 'taken = true, label = ''a''::text');
select search_path ~ 'temp' and search_path !~ ', pg_temp$' as is_temporary from queues where queue = 'test_names.tempted';
drop table mine;
\c -
set client_min_messages = error;
create temporary table limits (at_most integer);
create type pg_temp.text as enum ('b');
create function pg_temp.is_due(test_names_tools.percent) returns boolean language plpgsql as $$ begin raise 'temporary function'; end $$;
select test_names.reset_rows();
select id, label from public.queue_pop_rows(null::test_names.t, 'test_names.tempted', 10);
select test_names.reset_rows();
select count(*) from public.queue_pop_rows(null::test_names.t, 'test_names.one', 10);
drop table pg_temp.limits;
drop type pg_temp.text;
set search_path = test_names, test_names_tools, public;

-- A column of a variable's name is meant where the table has one.
create table v (id integer primary key, worker text, lease interval, taken_by text);
insert into v values (1, 'column', '1 day', null);
select queue_attach('v', 'v', 'taken_by is null', on_claim => $$taken_by = worker || ' ' || lease || ' ' || coalesce(error, 'no error')$$,
	on_release => 'taken_by = null');
select * from queue_pop_rows(null::v, 'v', worker => 'variable', lease => '1 hour');
-- A column that comes later takes the name over.
alter table v add column error text default 'a column';
update v set taken_by = null;
select * from queue_pop_rows(null::v, 'v', worker => 'variable');
alter table v drop column worker, drop column lease;
update v set taken_by = null;
select * from queue_pop_rows(null::v, 'v', worker => 'variable', lease => '1 hour');
-- Variables that a call has no value for are NULL; call_time is the call's, not now().
create table c (id integer primary key, texts text[], times timestamptz[], taken boolean not null default false);
insert into c values (1), (2);
select queue_attach('c', 'c', 'not taken', 'id', 'taken = true, texts = array[worker, error, lease::text], times = array[call_time, retry_at, call_time + lease]',
	on_fail => 'taken = false, texts = array[worker, error, lease::text], times = array[call_time, retry_at]', lease => '3 minutes');
begin;
select texts, times[1] > now() as later, times[1] <= clock_timestamp() as not_too_late, times[2], times[3] - times[1] as lease
from queue_pop_rows(null::c, 'c');
select queue_fail_row('c', c, 'broken', '1 hour') from c where id = 1;
select texts, times[2] - times[1] as retry_in from c where id = 1;
commit;

drop schema test_names, test_names_tools cascade;
drop role regress_names_worker;
