-- A session's temporary queues come where its search_path has temporary tables: in front, or
-- where it names pg_temp. They came in front always, and took the jobs of functions of other
-- roles that name it last.
set client_min_messages = warning;
create role regress_temporary_admin;
create role regress_temporary_caller;
create schema test_temporary authorization regress_temporary_admin;
grant usage on schema test_temporary to regress_temporary_caller;
set role regress_temporary_admin;
select queue_create('test_temporary.emails', lease => '1 hour');

-- The admin's functions for its callers, under two paths.
do $$
declare
	place text;
	path text;
begin
	for place, path in values ('last', 'test_temporary, public, pg_temp'), ('front', 'test_temporary, public') loop
		execute format('create function test_temporary.send_%s(payload jsonb) returns bigint'
			' language sql security definer set search_path = %s as'
			' $f$ select queue_send(''emails'', payload) $f$', place, path);
		execute format('create function test_temporary.pop_%s() returns jsonb'
			' language sql security definer set search_path = %s as'
			' $f$ select payload from queue_pop(''emails'') $f$', place, path);
		execute format('create function test_temporary.insert_%s(payload jsonb) returns boolean'
			' language sql security definer set search_path = %s as'
			' $f$ select inserted from queue_unique_insert(''emails'', payload) $f$', place, path);
	end loop;
end $$;
reset role;
create function test_temporary.jobs(of regclass) returns text language plpgsql as $$
declare
	jobs text;
begin
	execute format('select string_agg(payload #>> ''{}'', '' '' order by id) from %s', of) into jobs;
	return jobs;
end $$;

-- Both from a session that has not used the name: last, then in front.
\c -
set client_min_messages = warning;
set search_path = test_temporary, public;
set role regress_temporary_caller;
select queue_create('pg_temp.emails', lease => '1 hour');
grant all on pg_temp.emails to public;
select send_last('"last"'), insert_last('"last unique"');
select send_front('"front"'), insert_front('"front unique"');
reset role;
select jobs('test_temporary.emails') as admins, jobs('pg_temp.emails') as callers;

-- In front, then last; each twice, so that the second has the name at hand.
discard temp;
\c -
set client_min_messages = warning;
set search_path = test_temporary, public;
set role regress_temporary_caller;
select queue_create('pg_temp.emails', lease => '1 hour');
grant all on pg_temp.emails to public;
select send_front('"front"'), insert_front('"front unique"');
select send_front('"front 2"'), insert_front('"front unique"');
select send_last('"last 2"'), insert_last('"last unique"');
select send_last('"last 3"'), insert_last('"last unique 2"');
reset role;
select jobs('test_temporary.emails') as admins, jobs('pg_temp.emails') as callers;
set role regress_temporary_caller;
select pop_last(), pop_front();
select pop_front(), pop_last();
select pop_last(), pop_last();

-- The session has the name at hand from before it had a temporary queue, or any temporary table.
discard temp;
\c -
set client_min_messages = warning;
set search_path = test_temporary, public;
set role regress_temporary_caller;
select send_last('"before"'), send_last('"before 2"');
create temporary table other ();
select send_last('"before 3"');
select queue_create('pg_temp.emails', lease => '1 hour');
grant all on pg_temp.emails to public;
select send_last('"last 4"'), send_last('"last 5"');
discard temp;
\c -
set client_min_messages = warning;
set search_path = test_temporary, public;
set role regress_temporary_caller;
select send_front('"before 4"'), send_front('"before 5"');
create temporary table other ();
select send_front('"before 6"');
select queue_create('pg_temp.emails', lease => '1 hour');
grant all on pg_temp.emails to public;
select send_front('"front 3"'), send_front('"front 4"');
reset role;
select jobs('test_temporary.emails') as admins, jobs('pg_temp.emails') as callers;

-- The session's own path names the same schemas in other orders.
select queue_create('public.emails', lease => '1 hour'), queue_send('public.emails', '"public"');
set search_path = test_temporary, pg_temp, public;
select payload from queue_pop('emails');
set search_path = public, pg_temp, test_temporary;
select payload from queue_pop('emails');
set search_path = pg_temp, public, test_temporary;
select payload from queue_pop('emails');
select payload from queue_pop('emails');
set search_path = test_temporary, public, pg_temp;
select payload from queue_pop('emails');

-- A path that begins with pg_temp: looking a name up makes no temporary schema.
discard temp;
\c -
set client_min_messages = warning;
do $$ begin execute format('revoke temporary on database %I from public', current_database()); end $$;
grant insert, select on test_temporary.emails to regress_temporary_caller;
set search_path = pg_temp, test_temporary, public;
set role regress_temporary_caller;
select queue_send('emails', '"no schema"') > 0 as sent;
select queue_send('emails', '"no schema"') > 0 as sent;
select pg_my_temp_schema() as temporary;
-- Nor does reading a fragment.
reset role;
create table test_temporary.rows (id integer primary key, done boolean not null default false);
create index on test_temporary.rows (id) where not done;
grant select, insert on test_temporary.rows to regress_temporary_caller;
set role regress_temporary_caller;
select inserted from queue_unique_insert_row((1, false)::test_temporary.rows, '{id}', among => 'not done');
select pg_my_temp_schema() as temporary;
reset role;
select queue_attach('rows', 'test_temporary.rows', 'not done', 'id', 'done = true');
select pg_my_temp_schema() as temporary;
do $$ begin execute format('grant temporary on database %I to public', current_database()); end $$;

select queue_drop('public.emails');
drop schema test_temporary cascade;
drop role regress_temporary_admin, regress_temporary_caller;
