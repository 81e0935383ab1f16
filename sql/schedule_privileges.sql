-- Who may make a schedule, see it, and claim what it sends; and as whom it is sent.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_schedule_privileges;
set search_path = test_schedule_privileges, public;
create role regress_schedule_owner;
create role regress_schedule_worker;
grant usage, create on schema test_schedule_privileges to regress_schedule_owner;
grant usage, create on schema test_schedule_privileges to regress_schedule_worker;
set role regress_schedule_owner;
select queue_create('jobs');
select queue_schedule('jobs', 'a', '1 hour', payload => '"secret"') > now() as later;
reset role;
create procedure be_late() language sql as $$
	update test_schedule_privileges.jobs set run_at = now() where attempt = 0;
	update queue_schedule_definition set next_run_at = now() where source = 'test_schedule_privileges.jobs'::regclass;
$$;

-- Only the owner: what it says is sent in its name.
grant select, insert, update, delete on jobs to regress_schedule_worker;
set role regress_schedule_worker;
\set VERBOSITY sqlstate
select queue_schedule('jobs', 'b', '1 hour');
select queue_unschedule('jobs', 'a');
select * from queue_schedule_definition;
select name, payload from queue_schedules where queue ~ 'schedule_privileges';
reset role;
revoke all on jobs from regress_schedule_worker;
set role regress_schedule_worker;
select name, payload from queue_schedules where queue ~ 'schedule_privileges';
reset role;

-- A worker needs no right to insert.
grant select, update on jobs to regress_schedule_worker;
call be_late();
set role regress_schedule_worker;
select attempt from queue_pop('jobs');
reset role;
select count(*) filter (where attempt = 0) as unclaimed, count(*) as jobs from jobs;
-- Nor one that cancels.
grant delete on jobs to regress_schedule_worker;
select job from queue_schedules where queue ~ 'privileges' \gset
set role regress_schedule_worker;
select queue_cancel('jobs', :job);
reset role;
select count(*) filter (where attempt = 0) as unclaimed, count(*) as jobs from jobs;

-- Where triggers run, it is sent as the worker, who needs the right. The owner's own claims send it under a path without
-- schemas of users.
create table log (who name, path text);
grant insert on log to regress_schedule_owner, regress_schedule_worker;
set role regress_schedule_owner;
create function log() returns trigger language plpgsql as $$
begin
	insert into test_schedule_privileges.log values (current_user, current_setting('search_path'));
	return new;
end $$;
create trigger log before insert on jobs for each row execute function log();
reset role;
call be_late();
set role regress_schedule_worker;
set search_path = test_schedule_privileges, public;
select attempt from queue_pop('jobs');
reset role;
grant insert on jobs to regress_schedule_worker;
set role regress_schedule_worker;
select attempt from queue_pop('jobs');
select current_user, current_setting('search_path');
reset role;
call be_late();
set role regress_schedule_owner;
select attempt from queue_pop('jobs');
reset role;
table log;
revoke insert on jobs from regress_schedule_worker;
drop trigger log on jobs;

-- Row security that does not show it does not show the payload.
alter table jobs enable row level security;
create policy others on jobs to regress_schedule_worker using (payload <> '"secret"');
set role regress_schedule_worker;
select name, payload from queue_schedules where queue ~ 'schedule_privileges';
reset role;
select name, payload from queue_schedules where queue ~ 'privileges';

drop schema test_schedule_privileges cascade;
drop role regress_schedule_owner, regress_schedule_worker;
