-- Claims of recurring jobs, and what removes jobs that are kept no longer, run as the owner of the table, so that workers
-- need no right for it. Code of users on the table does not: what it names could be a temporary object of the worker's,
-- or what a function was compiled or inlined to under a path of the worker's. Such a table is written as the worker, who
-- needs the right then. Code ran as the owner there, and so the worker's code did.
set client_min_messages = warning;
\set VERBOSITY terse
\set SHOW_CONTEXT never
create role regress_hostile_owner;
create role regress_hostile_worker;
create schema test_hostile_as_owner authorization regress_hostile_owner;
grant usage on schema test_hostile_as_owner to regress_hostile_worker;
set search_path = test_hostile_as_owner, public;
set role regress_hostile_owner;
create table secrets (secret text);
create table audit (what text);
grant insert on audit to public;
-- Code of the owner's, with a search_path as many have it.
create function note() returns trigger language plpgsql set search_path = test_hostile_as_owner as $$
begin
	insert into audit values (tg_op);
	return coalesce(new, old);
end $$;
create function note_value(n text) returns boolean language plpgsql set search_path = test_hostile_as_owner as $$
begin
	insert into audit values (n);
	return true;
end $$;
create function plain(n text) returns boolean language sql immutable as 'select n is not null';
reset role;
-- Says whether the call was refused, or else whether the trap took the right; and takes all back.
create procedure try(call text, shows_all boolean default false) language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute call;
	raise exception using errcode = 'P0001',
		message = 'done, taken: ' || has_table_privilege('regress_hostile_worker', 'test_hostile_as_owner.secrets', 'select');
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	raise warning '% %', sqlstate, sqlerrm;
	if shows_all then
		raise warning '% | %', detail, hint;
	end if;
end $$;

-- The worker's trap: a temporary table by the name of the owner's, whose trigger takes what its user may give.
set role regress_hostile_worker;
create temporary table audit (what text);
grant all on pg_temp.audit to public;
create function pg_temp.take() returns trigger language plpgsql as $$
begin
	grant select on test_hostile_as_owner.secrets to regress_hostile_worker;
	return new;
exception when insufficient_privilege then
	return new;
end $$;
create trigger take before insert on pg_temp.audit for each row execute function pg_temp.take();
reset role;

-- A claim sends the next occurrence, also for a worker that may not insert.
set role regress_hostile_owner;
select queue_create('fired', lease => '1 hour');
select queue_schedule('fired', 'often', '1 hour') > now() as later;
grant select, update, delete on fired to regress_hostile_worker;
reset role;
update fired set run_at = now() where attempt = 0;
update queue_schedule_definition set next_run_at = now() where source = 'fired'::regclass;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
-- Not where a trigger would run. With the right to insert it is sent, and the trigger runs as the worker.
set role regress_hostile_owner;
create trigger note after insert on fired for each row execute function note();
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$, shows_all => true);
set role regress_hostile_owner;
grant insert on fired to regress_hostile_worker;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
-- What is sent then is what was to be sent.
begin;
select payload, attempt from queue_pop('fired');
select count(*) filter (where attempt = 0) as next, (select count(*) from pg_temp.audit) as audited from fired;
rollback;
set role regress_hostile_owner;
revoke insert on fired from regress_hostile_worker;
-- Also one that is disabled; but not one that fires at other events.
alter table fired disable trigger note;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop trigger note on fired;
create trigger note after truncate or delete on fired for each statement execute function note();
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop trigger note on fired;

-- The other code of a table: a default, a check, a domain or its default, an index, a policy, a rule, statistics.
alter table fired add column noted boolean;
alter table fired alter column noted set default note_value('default');
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop column noted;
alter table fired add constraint noted check (plain(unique_key)) not valid;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop constraint noted;
create domain noted as text default 'noted';
alter table fired add constraint noted check (payload::text::noted is not null) not valid;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop constraint noted;
alter table fired add column noted noted[];
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop column noted;
create type pair as (one integer, other noted);
alter table fired add constraint noted check (('(1,' || priority::text || ')')::pair::text is not null) not valid;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop constraint noted;
alter table fired add column noted boolean generated always as (plain(unique_key)) stored;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop column noted;
create index noted on fired (plain(unique_key));
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop index noted;
create index noted on fired (id) where plain(unique_key);
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop index noted;
create statistics noted on (plain(unique_key)), id from fired;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop statistics noted;
alter table fired enable row level security, force row level security;
create policy noted on fired using (true);
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop policy noted on fired;
alter table fired disable row level security, no force row level security;
create rule noted as on insert to fired do also insert into audit values (new.id);
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop rule noted on fired;
-- Neither is PostgreSQL's code that finds code of users: a cast to json of an enum, a query in a text, a row type's domain;
-- nor the condition of our trigger; nor the key of a table whose partition it is.
create type color as enum ('red', 'green');
alter table fired add column color color default 'red', add constraint noted check (to_jsonb(color) is not null) not valid;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop column color;
alter table fired add column noted text;
alter table fired alter column noted set default query_to_xml('select what from audit', true, true, '')::text;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop column noted;
alter table fired add constraint noted check (jsonb_populate_record(null::pair, '{}') is null) not valid;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table fired drop constraint noted;
create trigger noted after insert on fired for each row when (plain(new.unique_key)) execute function queue_wake();
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop trigger noted on fired;
create table above (like fired) partition by list (plain(unique_key));
alter table fired alter id drop identity;
alter table above attach partition fired for values in (true);
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
alter table above detach partition fired;
drop table above;
alter table fired alter id add generated by default as identity (start 1000);
-- PostgreSQL's own code is none of these, nor is ours, nor an enum; and so are policies that do not bind the owner.
select queue_alter('fired', wake => true);
alter table fired add column color color default 'red' check (color <> 'green'), add column hash integer default length('abc');
create index on fired (color, lower(leased_by)) where lower(leased_by) > 'a';
drop index fired_color_lower_idx;
create statistics plain on priority, run_at from fired;
alter table fired enable row level security;
create policy seen on fired using (plain(unique_key));
create table others (id bigint references fired on delete cascade);
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
set role regress_hostile_owner;
drop policy seen on fired;
alter table fired disable row level security;

-- Those who have the owner's rights have nothing to gain.
create trigger note after insert on fired for each row execute function note();
reset role;
grant regress_hostile_owner to regress_hostile_worker;
set role regress_hostile_worker;
call try($$select queue_pop('fired')$$);
reset role;
revoke regress_hostile_owner from regress_hostile_worker;
-- A function of the owner's for all runs the code under its own path. One of the worker's, in the owner's session, is
-- the worker.
set role regress_hostile_owner;
alter function note() reset search_path;
create function pop_for_all() returns setof jsonb language sql security definer
	set search_path = test_hostile_as_owner, public, pg_temp as $$ select payload from queue_pop('fired') $$;
set session authorization regress_hostile_worker;
call try('select pop_for_all()');
reset session authorization;
create function pop_as_worker() returns setof jsonb language sql security definer
	set search_path = test_hostile_as_owner, public, pg_temp as $$ select payload from queue_pop('fired') $$;
alter function pop_as_worker() owner to regress_hostile_worker;
call try('select pop_as_worker()');
set role regress_hostile_owner;
alter function note() set search_path = test_hostile_as_owner;

-- An occurrence that was missed is deleted for a worker; a lost one is not looked for where the worker may not know.
select queue_create('missed', lease => '1 hour');
select queue_schedule('missed', 'often', '1 hour', missed => 'skip') > now() as later;
grant select, update on missed to regress_hostile_worker;
create trigger note after delete on missed for each row execute function note();
reset role;
update missed set run_at = now() - interval '3 hours';
update queue_schedule_definition set next_run_at = now() - interval '3 hours' where source = 'missed'::regclass;
set role regress_hostile_worker;
call try($$select queue_pop('missed')$$, shows_all => true);
set role regress_hostile_owner;
drop trigger note on missed;
set role regress_hostile_worker;
call try($$select queue_pop('missed')$$);
set role regress_hostile_owner;
delete from missed;
create index noted on missed (plain(unique_key));
revoke select on missed from regress_hostile_worker;
grant select (id, attempt, max_attempts, payload, priority, run_at, leased_until, leased_by, dead_at, last_error, created_at, unique_key, kind, claimed_at, released, errors, progress, origin, expires_at) on missed to regress_hostile_worker;
set role regress_hostile_worker;
call try($$select queue_pop('missed')$$);

-- Jobs past their keep: dead ones are deleted, or go to the archive; then slots are truncated, and rows deleted.
set role regress_hostile_owner;
select queue_create('kept', archive => true, archive_keep => '6000 days', dead_keep => '1 day', max_attempts => 1);
grant select, delete on kept to regress_hostile_worker;
select queue_send('kept', '1');
reset role;
update kept set dead_at = now() - interval '2 days', attempt = 1;
create function state() returns text language sql as $$
	select (select count(*) from test_hostile_as_owner.kept) || ' ' || (select count(*) from test_hostile_as_owner.kept_archive)
$$;
create procedure on_slots(command text) language plpgsql as $$
begin
	execute (select string_agg(format(command, inhrelid::regclass), ';') from pg_inherits where inhparent = 'kept_archive'::regclass);
end $$;
set role regress_hostile_owner;
create trigger note after delete on kept for each row execute function note();
set role regress_hostile_worker;
\set VERBOSITY default
call queue_maintain('kept');
call queue_maintain();
\set VERBOSITY terse
set role regress_hostile_owner;
grant update on kept to regress_hostile_worker;
grant select, insert on kept_archive to regress_hostile_worker;
set role regress_hostile_worker;
call queue_maintain();
begin;
truncate pg_temp.audit;
commit;
call queue_maintain('kept');
select * from pg_temp.audit;
reset role;
select state();
with back as (delete from kept_archive returning id, payload) insert into kept (id, payload, dead_at, attempt) overriding system value select id, payload, now() - interval '2 days', 1 from back;
set role regress_hostile_owner;
revoke all on kept_archive from regress_hostile_worker;
drop trigger note on kept;
create trigger note before insert on kept_archive for each row execute function note();
set role regress_hostile_worker;
call queue_maintain('kept');
set role regress_hostile_owner;
drop trigger note on kept_archive;
call on_slots('create trigger note before insert on %s for each row execute function note()');
set role regress_hostile_worker;
call queue_maintain('kept');
reset role;
select state();
set role regress_hostile_owner;
call on_slots('drop trigger note on %s');
set role regress_hostile_worker;
call queue_maintain('kept');
reset role;
select state();
update kept_archive set finished_at = now() - interval '6001 days';
set role regress_hostile_owner;
call on_slots('create trigger note before truncate on %s for each statement execute function note()');
set role regress_hostile_worker;
call queue_maintain('kept');
reset role;
select state();
set role regress_hostile_owner;
call on_slots('grant select, truncate on %s to regress_hostile_worker');
set role regress_hostile_worker;
call queue_maintain('kept');
select * from pg_temp.audit;
reset role;
select state();
select * from test_hostile_as_owner.audit;
select has_table_privilege('regress_hostile_worker', 'secrets', 'select') as taken;

discard temp;
-- To look for code runs none.
create function loud(n integer) returns integer language plpgsql immutable as $$
begin
	if current_user = 'regress_hostile_worker' then
		raise warning 'evaluated as the worker';
	end if;
	return n;
end $$;
create table above (like kept) partition by list ((priority + loud(1)));
alter table kept alter id drop identity;
alter table above attach partition kept for values in (1);
\c -
set search_path = test_hostile_as_owner, public;
set client_min_messages = warning;
set role regress_hostile_worker;
call queue_maintain();
reset role;
drop schema test_hostile_as_owner cascade;
drop role regress_hostile_owner, regress_hostile_worker;
