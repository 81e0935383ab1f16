-- What PostgreSQL tells of a row in an error, it tells with the rights of the table's owner, as whom jobs are maintained and
-- occurrences sent: a worker to whom row security applies, or who may not read the column, does not get it.
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_leak_owner;
create role regress_leak_worker;
create schema test_leak authorization regress_leak_owner;
grant usage on schema test_leak to regress_leak_worker;
set search_path = test_leak, public;
set role regress_leak_owner;
select queue_create('archived', archive => true, on_expire => 'archive');
select queue_create('died', on_expire => 'dead');
select queue_create('letters');
select queue_create('moved', max_attempts => 1, dead_queue => 'letters');
select queue_create('kept', archive => true, dead_keep => '1 us');
select queue_create('valued', archive => true, on_expire => 'archive');
select queue_create('recurring');
alter table archived_archive add constraint note check (payload ? 'note');
alter table died add constraint note check (dead_at is null or payload ? 'note');
alter table letters add constraint note check (payload ? 'note');
alter table kept_archive add constraint note check (payload ? 'note');
-- Here the message has the value.
alter table valued_archive add constraint number check ((payload->>'secret')::int > 0);
do $$
declare
	queue text;
begin
	foreach queue in array '{archived,died,moved,kept,valued}'::text[] loop
		execute format('alter table %I enable row level security', queue);
		execute format($q$create policy mine on %I using (payload->>'tenant' = current_user)$q$, queue);
		execute format('grant select, update, delete on %I to regress_leak_worker', queue);
	end loop;
	foreach queue in array '{archived,died,valued}'::text[] loop
		execute format($q$insert into %I (payload, expires_at) values ('{"tenant": "other", "secret": "of another"}', now())$q$, queue);
	end loop;
	foreach queue in array '{moved,kept}'::text[] loop
		execute format($q$insert into %I (payload, dead_at, attempt) values ('{"tenant": "other", "secret": "of another"}', '2020-01-01', 1)$q$, queue);
	end loop;
end $$;
-- An occurrence that the worker may see, and the next one, which he may not.
alter table recurring enable row level security;
create policy mine on recurring using (payload->>'tenant' = current_user);
select queue_schedule('recurring', 'hourly', every => '1 hour', payload => '{"tenant": "other", "secret": "of a schedule"}') is not null as made;
update recurring set run_at = '2020-01-01', payload = '{"tenant": "regress_leak_worker"}';
alter table recurring add constraint note check (payload->>'secret' is null);
grant select, update on recurring to regress_leak_worker;
reset role;
set session authorization regress_leak_worker;
set search_path = test_leak, public;
select (select count(*) from archived) + (select count(*) from died) + (select count(*) from moved) + (select count(*) from kept)
	+ (select count(*) from valued) as seen;
call queue_maintain('archived');
\echo :LAST_ERROR_SQLSTATE
call queue_maintain('died');
\echo :LAST_ERROR_SQLSTATE
call queue_maintain('moved');
\echo :LAST_ERROR_SQLSTATE
call queue_maintain('kept');
\echo :LAST_ERROR_SQLSTATE
call queue_maintain('valued');
\echo :LAST_ERROR_SQLSTATE
-- Names of the table and the constraint stay.
do $$
declare
	code text;
	table_of text;
	constraint_of text;
	detail text;
begin
	perform from queue_pop('recurring');
exception when others then
	get stacked diagnostics code = returned_sqlstate, table_of = table_name, constraint_of = constraint_name, detail = pg_exception_detail;
	raise warning '% % % "%"', code, table_of, constraint_of, detail;
end $$;
-- Of all queues that he may delete from, here one after the other, as their order is not told; and in the log.
\set maintain_all 'reset session authorization; revoke delete on archived, died, moved, kept, valued from regress_leak_worker; grant delete on :queue to regress_leak_worker; set session authorization regress_leak_worker; call queue_maintain();'
\set queue archived
:maintain_all
\set queue died
:maintain_all
\set queue moved
:maintain_all
\set queue kept
:maintain_all
\set queue valued
:maintain_all
set client_min_messages = log;
select id from queue_pop('archived');
select id from queue_pop('valued');
select id from queue_pop('moved');
reset client_min_messages;
set client_min_messages = warning;
-- The owner is told all, and so is who has the owner's role.
reset session authorization;
set role regress_leak_owner;
do $$
declare
	detail text;
begin
	perform from queue_pop('recurring');
exception when others then
	get stacked diagnostics detail = pg_exception_detail;
	raise warning '% %', sqlstate, detail ~ 'of a schedule';
end $$;
\set VERBOSITY terse
call queue_maintain('valued');
\set VERBOSITY default
select (select count(*) from archived) as archived, (select count(*) from died where dead_at is null) as died,
	(select count(*) from moved) as moved, (select count(*) from kept) as kept;
reset role;
drop schema test_leak cascade;
drop role regress_leak_owner, regress_leak_worker;
