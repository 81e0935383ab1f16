-- An owner of one queue could make queue_health() fail or hang for everybody, or leave a lock in the caller's
-- session: by immutable functions in a queue's fragments, and in predicates of indexes, which planning evaluates.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_health_owner;
create role regress_health_watcher;
create role regress_health_nobody;
grant pg_read_all_data to regress_health_watcher;
create schema test_health_owner;
grant usage, create on schema test_health_owner to regress_health_owner;
grant usage on schema test_health_owner to regress_health_watcher, regress_health_nobody;
set search_path = test_health_owner, public;
-- Another queue, which has a finding that everybody is told.
select queue_create('other');
drop index other_priority_run_at_id_idx;
create function found() returns table (finding text, queue text) language sql security invoker as $$
	select finding, queue from queue_health() where queue like 'test_health_owner.%' order by queue, finding
$$;
grant execute on function found() to public;

set role regress_health_owner;
create table tasks (id bigint primary key, done boolean not null default false);
create function well(state text) returns boolean language plpgsql immutable as 'begin return true; end';
select queue_attach('tasks', 'tasks', pending => $$not done and well('yes')$$, order_by => 'id', on_claim => 'done = true');
-- With any SQLSTATE, as if the server were broken, or somebody had cancelled the call.
create or replace function well(state text) returns boolean language plpgsql immutable as
	'begin raise exception ''broken'' using errcode = current_setting(''app.state''); end';
create function found_with(state text) returns setof text language plpgsql as $$
declare
	found record;
begin
	perform set_config('app.state', state, true);
	for found in select * from test_health_owner.found() loop
		return next format('%s of %s', found.finding, found.queue);
	end loop;
exception when others or query_canceled then
	return next format('%s %s', sqlstate, sqlerrm);
end $$;
grant execute on function found_with(text) to public;
reset role;
\set all 'select state, found_with(state) from unnest(array[''22012'', ''XX000'', ''58P01'', ''57014'', ''53200'', ''40001'']) as state'
set role regress_health_watcher;
:all;
set role regress_health_nobody;
:all;
reset role;
-- A superuser may run anything, and need not.
:all;
-- Those who own it are told.
set role regress_health_owner;
:all;

-- A function that never returns, after it has taken a lock of the session.
create or replace function well(state text) returns boolean language plpgsql immutable as
	'begin perform pg_advisory_lock(4711); perform pg_sleep(3600); return true; end';
set role regress_health_watcher;
set statement_timeout = '2 min';
select * from found();
reset statement_timeout;
reset role;
select count(*) from pg_locks where locktype = 'advisory' and objid = 4711;

-- A predicate of an index.
set role regress_health_owner;
select queue_detach('tasks');
select queue_create('folding');
create function fold(integer) returns boolean language plpgsql immutable as 'begin return true; end';
create index folding_idx on folding (priority, run_at, id) where dead_at is null and fold(1);
drop index folding_priority_run_at_id_idx;
create or replace function fold(integer) returns boolean language plpgsql immutable as
	'begin perform pg_advisory_lock(4712); return 1 / 0 = 1; end';
select * from found();
reset role;
set role regress_health_nobody;
select * from found();
reset role;
select count(*) from pg_locks where locktype = 'advisory' and objid = 4712;
drop function fold cascade;

-- What else goes wrong with a queue is told, and that there may be more.
select queue_create('damaged');
select queue_create('last');
drop index last_priority_run_at_id_idx;
begin;
update pg_class set relfilenode = 1 where oid = 'damaged_pkey'::regclass;
select finding, severity, regexp_replace(detail, '"[^"]*"', '"..."') as detail, hint from queue_health('damaged');
select * from found();
rollback;
select count(*) from queue_health('damaged');
drop schema test_health_owner cascade;
drop role regress_health_owner, regress_health_watcher, regress_health_nobody;
