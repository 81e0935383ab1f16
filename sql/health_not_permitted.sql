-- queue_health: what a role is not told, as it may not look. That was no row, as if all were well.
set client_min_messages = warning;
create schema test_health_not_permitted;
set search_path = test_health_not_permitted, public;
create role regress_health_watcher;
grant usage on schema test_health_not_permitted to regress_health_watcher;
select queue_create('jobs'), queue_create('kept', archive => true);
create table tasks (id bigint primary key, state text not null default 'new');
create index on tasks (id) where state = 'new';
select queue_attach('tasks', 'tasks', pending => $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'busy'$$);
create function untold(name text) returns table (severity text, queue text, detail text, hint text) language sql as $$
	select severity, queue, detail, hint from queue_health(name)
	where finding = 'not_permitted' and (queue is null or queue like 'test_health_not_permitted.%') order by queue, detail
$$;
select * from untold(null);
set role regress_health_watcher;
select * from untold('jobs');
select * from untold('kept');
select * from untold('tasks');
select * from untold(null) where queue is null;
-- The hints, one after the other.
create or replace procedure pg_temp.obey(name text) language plpgsql as $$
declare
	command text;
begin
	for i in 1 .. 5 loop
		select hint into command from untold(name) limit 1;
		exit when not found;
		raise warning '%', command;
		reset role;
		execute command;
		set role regress_health_watcher;
	end loop;
end $$;
\set VERBOSITY terse
call pg_temp.obey('jobs');
call pg_temp.obey('kept');
call pg_temp.obey('tasks');
\set VERBOSITY default
select * from untold('jobs') union all select * from untold('kept') union all select * from untold('tasks');
reset role;
-- Row security.
alter table jobs enable row level security;
alter table kept_archive enable row level security;
set role regress_health_watcher;
select * from untold('jobs') union all select * from untold('kept');
reset role;
-- What is told to a role for monitoring.
alter table jobs disable row level security;
alter table kept_archive disable row level security;
drop owned by regress_health_watcher;
grant pg_monitor, pg_read_all_data to regress_health_watcher;
set role regress_health_watcher;
select * from untold(null);
reset role;
begin;
do $$ begin execute format('revoke execute on function %s from public', 'queue_stats_counters()'::regprocedure); end $$;
set local role regress_health_watcher;
select severity, queue, detail from untold(null);
rollback;
drop schema test_health_not_permitted cascade;
drop role regress_health_watcher;
