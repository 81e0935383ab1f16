-- What the error of an unknown queue tells: a queue of that name outside the search_path, in a
-- schema that is closed to the caller, or whose name differs in case.
set client_min_messages = error;
create schema test_unknown;
create schema test_unknown_shop;
create schema test_unknown_attic;
create schema "Test_Unknown";
create role regress_unknown;
grant usage on schema test_unknown, test_unknown_shop, "Test_Unknown" to regress_unknown;
set search_path = test_unknown, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'no error';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;
create function try_to_pop(variadic names text[]) returns table (name text, error text) language sql as $$
	select name, error_of(format('select queue_pop(%L)', name)) from unnest(names) as name
$$;
select queue_create('test_unknown_shop.emails'), queue_create('"Mixed Case"'), queue_create('test_unknown_shop."Größe"'),
       queue_create('test_unknown_attic.old'), queue_create('"Test_Unknown"."order"');
-- A queue that is gone.
create table gone (id integer primary key);
select queue_attach('gone', 'gone', 'true', claim_mode => 'transaction');
drop table gone;

select * from try_to_pop('emails', '"Emails"', 'test_unknown.emails', 'test_unknown_none.emails', 'mixed case',
	'"mixed case"', 'test_unknown."MIXED CASE"', '"größe"', 'old', 'gone', '"order"', 'ORDER', 'emial');
select error_of('select queue_send(''emails'', ''1'')');
select error_of('select queue_drop(''emails'')');
select error_of('select queue_detach(''old'')');
select error_of('select * from queue_unique_insert(''emails'', ''1'')');
-- The table of a former queue comes first.
select queue_create('test_unknown.emails');
select queue_detach('test_unknown.emails');
select * from try_to_pop('emails');
drop table test_unknown.emails;
-- What it says to write works.
select count(*) from queue_pop('test_unknown_shop.emails') union all
select count(*) from queue_pop('"Mixed Case"') union all
select count(*) from queue_pop('test_unknown_shop."Größe"') union all
select count(*) from queue_pop('"Test_Unknown"."order"');

-- The schema of the queue is closed to the caller, in the search_path or not.
set role regress_unknown;
select * from try_to_pop('emails', 'old', 'test_unknown_attic.old', '"Old"');
set search_path = test_unknown, public, test_unknown_attic;
select * from try_to_pop('old');
reset role;
grant usage on schema test_unknown_attic to regress_unknown;
set role regress_unknown;
select * from try_to_pop('old');
reset role;
set search_path = test_unknown, public;

-- Nothing that the caller may not read in the view of all queues.
begin;
revoke select on queues from public;
set local role regress_unknown;
select * from try_to_pop('emails', '"mixed case"', 'old');
rollback;
drop schema test_unknown, test_unknown_shop, test_unknown_attic, "Test_Unknown" cascade;
drop role regress_unknown;
