-- An error in one of our statements does not show it: the context has a few words instead, what
-- users wrote within the statement, and what called the function.
set client_min_messages = error;
create schema test_context;
set search_path = test_context, public;
create function fail() returns trigger language plpgsql as $$
begin
	raise exception 'no % of %', lower(tg_op), tg_table_name;
end $$;
create function always_fails() returns boolean language plpgsql as $$ begin raise exception 'never'; end $$;
select queue_create('jobs', archive => true);
do $$ begin perform queue_send_many('jobs', '{1,2,3}'); perform queue_pop('jobs', 2); end $$;
create table things (id integer primary key, state integer not null default 0, divisor integer not null default 0);
create index on things (id) where state = 0;
insert into things select generate_series(1, 3);
insert into things values (4, 1, 0);
do $$ begin
	perform queue_attach('by_zero', 'things', 'state = 0 and 1 / divisor >= 0', 'id', 'state = 1');
	perform queue_attach('order_by_zero', 'things', 'state = 0', '1 / divisor', 'state = 1');
	perform queue_attach('writes_zero', 'things', 'state = 0', 'id', 'state = 1 / divisor + 1', on_complete => 'state = 2 / divisor',
		on_release => 'state = 0 / divisor', on_fail => 'state = 3 / divisor', on_extend => 'state = 1 / divisor');
	perform queue_attach('calls', 'things', 'state = 0 and always_fails()', 'id', 'state = 1');
end $$;
-- The lines down to the call of this function.
create function context_of(command text) returns text language plpgsql as $$
declare
	context text;
begin
	execute command;
	return 'no error';
exception when others then
	get stacked diagnostics context = pg_exception_context;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(substring(context from '^(.*?)\n?SQL statement "' || left(command, 6)), ''));
end $$;
create view fragments as
select call, context_of(call) as error from unnest(array[
	'select queue_pop_rows(null::things, ''by_zero'')',
	'select queue_pop_rows(null::things, ''order_by_zero'')',
	'select queue_pop_rows(null::things, ''writes_zero'')',
	'select queue_pop_rows(null::things, ''calls'')',
	'select queue_complete_row(''writes_zero'', ''(4,1,0)''::things)',
	'select queue_release_row(''writes_zero'', ''(4,1,0)''::things)',
	'select queue_fail_row(''writes_zero'', ''(4,1,0)''::things)',
	'select queue_extend_row(''writes_zero'', ''(4,1,0)''::things)',
	'select queue_unique_insert_row(''(9,0,0)''::things, ''{id}'', ''1 / divisor = 1'')'
]) with ordinality as c(call, n);
create view triggers as
select call, context_of(call) as error from unnest(array[
	'select queue_send(''jobs'', ''1'')',
	'select queue_send_many(''jobs'', ''{1,2}'')',
	'select queue_unique_insert(''jobs'', ''"new"'')',
	'select queue_unique_insert_row(jsonb_populate_record(null::jobs, ''{"id": 9, "payload": 1}''), ''{id}'')',
	'select queue_pop(''jobs'')',
	'select queue_complete(''jobs'', 1, 1)',
	'select queue_complete_many(''jobs'', ''{1,2}'', ''{1,1}'')',
	'select queue_fail(''jobs'', 1, 1)',
	'select queue_release(''jobs'', 1, 1)',
	'select queue_extend(''jobs'', 1, 1)',
	'select queue_cancel(''jobs'', 1)',
	'select queue_purge(''jobs'')'
]) with ordinality as c(call, n);
-- Wherever a statement is run, on each path.
create procedure show(name text) language plpgsql as $$
declare
	path text;
	line text;
begin
	foreach path in array array['direct', 'tid', 'portable'] loop
		perform set_config('queue_ext.claim_path', path, true);
		raise info '% on the path %:', name, path;
		for line in execute format('select concat_ws('': '', call, error) from %I', name) loop
			raise info '%', line;
		end loop;
	end loop;
end $$;
\set VERBOSITY terse
call show('fragments');
create trigger fail before insert or update or delete on jobs for each row execute function fail();
call show('triggers');
drop trigger fail on jobs;

-- The archive's.
create trigger fail before insert on jobs_archive for each row execute function fail();
select context_of('select queue_complete(''jobs'', 1, 1)');
-- A column that a statement names, and that is gone.
alter table jobs drop column last_error;
select context_of('select queue_fail(''jobs'', 1, 1)');
select context_of('select queue_complete(''jobs'', 1, 1)');
-- Tables of the extension.
begin;
create trigger fail before insert or update on named_lock for each row execute function fail();
create trigger fail before insert or update or delete on throttled_resource for each row execute function fail();
select context_of('select mutex_acquire(''test_context'')');
select context_of('select throttle_create(''test_context'', ''1 hour'')');
rollback;
-- Commands.
create table taken (id integer);
select context_of('select queue_create(''taken'')');
create table next_archive (id integer);
select context_of('select queue_create(''next'', archive => true)');
-- A comment of a queue's table that is no JSON.
do $$ begin perform queue_create('former'), queue_detach('former'); end $$;
comment on table former is 'queue of queue_ext: {"lease": 1';
select context_of('select queue_adopt(''former'')');
drop schema test_context cascade;
