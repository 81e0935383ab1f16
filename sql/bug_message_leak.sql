-- Checks of the owner's may cast a value to the name of an object, of a type, and so on: the message of the error, of nearly any
-- class, has the value then, and so has the notice of a name that is cut. A worker who may not see the row is told neither.
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_leak_owner;
create role regress_leak_worker;
create schema test_message_leak authorization regress_leak_owner;
create schema test_message_secret;
grant usage on schema test_message_leak to regress_leak_worker;
set search_path = test_message_leak, public;
set role regress_leak_owner;
select queue_create('recurring', lease => '1 hour');
-- An occurrence that the worker may see, and the next one, which he may not.
alter table recurring enable row level security;
create policy mine on recurring using (payload->>'tenant' = current_user);
select queue_schedule('recurring', 'hourly', every => '1 hour') is not null as made;
update recurring set run_at = '2020-01-01', payload = '{"tenant": "regress_leak_worker"}';
grant select, update on recurring to regress_leak_worker;
reset role;

-- The payloads of the next occurrence, and what checks them.
create table checked (number integer primary key, value text, condition text);
insert into checked values
	(1, 'secret_role', $$(payload->>'value')::regrole is not null$$),
	(2, 'secret_type', $$(payload->>'value')::regtype is not null$$),
	(3, 'secret_schema', $$(payload->>'value')::regnamespace is not null$$),
	(4, 'secret_function', $$(payload->>'value')::regproc is not null$$),
	(5, 'secret_table', $$(payload->>'value')::name::regclass is not null$$),
	(6, 'other.secret.table', $$(payload->>'value')::name::regclass is not null$$),
	(7, 'test_message_secret.table', $$(payload->>'value')::name::regclass is not null$$),
	(8, 'a secret type', $$(payload->>'value')::regtype is not null$$),
	(9, repeat('secret', 400), $$left((payload->>'value')::tsquery::text, 1) <> ''$$),
	(10, 'secret', $$(payload->>'value')::integer > 0$$),
	(11, '{"secret" 1}', $$(payload->>'value')::json is not null$$),
	(12, 'secret_mood', $$(payload->>'value')::mood is not null$$),
	(13, repeat('secret_', 10), $$(payload->>'value')::regtype is not null$$),
	-- The message of this one has no value.
	(14, 'secret', $$payload->>'value' = ''$$);
create type mood as enum ();
-- Tells what the claim raises, and whether it has a detail, and the value in the context.
create procedure try(wanted integer, claimer name) language plpgsql as $$
declare
	tried checked;
	message text;
	detail text;
	hint text;
	context text;
begin
	select * into tried from checked where number = wanted;
	update queue_schedule_definition set payload = jsonb_build_object('value', tried.value) where source = 'recurring'::regclass;
	execute format('alter table recurring add constraint note check (payload->>''value'' is null or %s)', tried.condition);
	execute format('set local session authorization %I', claimer);
	perform from queue_pop('recurring');
	raise exception 'claimed';
exception when others then
	get stacked diagnostics message = message_text, detail = pg_exception_detail, hint = pg_exception_hint, context = pg_exception_context;
	raise warning '% % % | % | % | %', wanted, sqlstate, left(message, 70), detail <> '', hint, context ~ 'secret';
end $$;
\set VERBOSITY terse
-- A label that the transaction has added may not be used yet.
begin;
alter type mood add value 'secret_mood';
do $$ begin for i in 1 .. 14 loop call try(i, 'regress_leak_worker'); end loop; end $$;
-- The owner is told all.
do $$ begin for i in 1 .. 14 loop call try(i, 'regress_leak_owner'); end loop; end $$;
rollback;
-- A notice that a name is cut comes before the error.
set client_min_messages = notice;
call try(13, 'regress_leak_worker');
call try(13, 'regress_leak_owner');
set client_min_messages = warning;
-- The session's role counts, also in a function of the owner's that makes a schedule.
set role regress_leak_owner;
alter table recurring add constraint note check (payload->>'value' is null or (payload->>'value')::regrole is not null);
create function plan() returns timestamptz language sql security definer set search_path = test_message_leak, public as
	$$select queue_schedule('recurring', 'daily', every => '1 day', payload => '{"value": "secret_role"}')$$;
reset role;
set session authorization regress_leak_worker;
\set VERBOSITY default
select plan();
set session authorization default;
set role regress_leak_owner;
select plan();
reset role;
drop schema test_message_leak, test_message_secret cascade;
drop role regress_leak_owner, regress_leak_worker;
