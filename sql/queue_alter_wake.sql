-- queue_alter(wake => ...): makes the trigger of a table anew, or mends it, so that DROP EXTENSION drops it.
set client_min_messages = warning;
create schema test_alter_wake;
set search_path = test_alter_wake, public;
create function trigger_of(name regclass) returns table (tgname name, is_always boolean, for_each_row boolean, goes_with_extension bigint) language sql as $$
	select tgname, tgenabled = 'A', (tgtype & 1) = 1,
		(select count(*) from pg_depend where classid = 'pg_trigger'::regclass and objid = t.oid and refclassid = 'pg_extension'::regclass and deptype = 'x')
	from pg_trigger as t where tgrelid = name and not tgisinternal
$$;
create function wake_findings(name text) returns table (finding text, hint text) language sql as $$
	select finding, hint from queue_health(name) where finding like 'wake%'
$$;
select queue_create('jobs');
select * from trigger_of('jobs');
-- Dropped, disabled, for each statement, by hand: the hint mends it, and once more changes nothing.
drop trigger queue_ext_wake on jobs;
select hint from wake_findings('jobs') \gset
\echo :hint
:hint
select * from trigger_of('jobs');
:hint
select * from trigger_of('jobs');
alter table jobs disable trigger queue_ext_wake;
select hint from wake_findings('jobs') \gset
\echo :hint
:hint
select * from trigger_of('jobs');
drop trigger queue_ext_wake on jobs;
create trigger "By hand" after insert or update on jobs for each row execute function queue_wake();
select queue_alter('jobs', wake => true);
select * from trigger_of('jobs');
drop trigger "By hand" on jobs;
create trigger "By hand" after insert on jobs execute function queue_wake();
select queue_alter('jobs', wake => true);
select * from trigger_of('jobs');
select queue_alter('jobs', lease => '1 minute');
select * from wake_findings('jobs');
-- It counts, and wakes.
insert into jobs (payload) values ('1');
select sent from queue_stats where source = 'jobs'::regclass;
select queue_alter('jobs', wake => false);
select * from trigger_of('jobs');

-- An attached queue may do without.
create table tasks (id bigint primary key, state text not null default 'new');
create index on tasks (id) where state = 'new';
select queue_attach('tasks', 'tasks', pending => $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'busy'$$);
select queue_alter('tasks', wake => true);
select * from trigger_of('tasks');
alter table tasks disable trigger queue_ext_wake;
select hint from wake_findings('tasks') \gset
\echo :hint
:hint
select * from trigger_of('tasks');
select queue_alter('tasks', wake => false);
select queue_alter('tasks', wake => false);
select * from trigger_of('tasks');
-- But not where its table has a managed one.
select queue_attach('others', 'jobs', pending => $$payload = '"others"'$$, on_claim => 'priority = 7');
select queue_alter('others', wake => false);
select queue_alter('others', wake => true);
select * from trigger_of('jobs');

-- Its owner alone may do it.
create role regress_alter_wake;
grant usage on schema test_alter_wake to regress_alter_wake;
set role regress_alter_wake;
select queue_alter('tasks', wake => true);
reset role;

-- The extension goes without its triggers.
select queue_alter('tasks', wake => true);
begin;
drop extension queue_ext;
select tgname from pg_trigger where tgrelid = any (array['jobs', 'tasks']::regclass[]) and not tgisinternal;
rollback;
drop schema test_alter_wake cascade;
drop role regress_alter_wake;
