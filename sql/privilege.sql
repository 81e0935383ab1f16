-- Privileges: every function runs as its caller.
set client_min_messages = error;
create schema test_privilege;
create role regress_queue_owner;
create role regress_queue_worker;
create role regress_queue_sender;
create role regress_queue_nobody;
grant usage, create on schema test_privilege to regress_queue_owner;
grant usage on schema test_privilege to regress_queue_worker, regress_queue_sender, regress_queue_nobody;
set search_path = test_privilege, public;
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
create view calls as
select n, call
from unnest(array[
	'queue_send(''jobs'', ''1'')',
	'queue_send_many(''jobs'', ''{1,2}'')',
	'queue_unique_insert(''jobs'', ''1'')',
	'queue_unique_insert_many(''jobs'', ''{1,2}'')',
	'queue_unique_key(''jobs'', ''1'')',
	'queue_unique_insert_row(jsonb_populate_record(null::jobs, ''{"payload": 1}''), ''{payload}'', ''id < 0'')',
	'queue_unique_insert_rows(array[jsonb_populate_record(null::jobs, ''{"payload": 1}'')], ''{payload}'', ''id < 0'')',
	'queue_lock(''name'')',
	'queue_try_lock(''name'')',
	'queue_pop(''jobs'')',
	'queue_complete(''jobs'', 1, 1)',
	'queue_complete_many(''jobs'', ''{1}'', ''{1}'')',
	'queue_fail(''jobs'', 1, 1)',
	'queue_fail_many(''jobs'', ''{1}'', ''{1}'')',
	'queue_release(''jobs'', 1, 1)',
	'queue_release_many(''jobs'', ''{1}'', ''{1}'')',
	'queue_extend(''jobs'', 1, 1)',
	'queue_extend_many(''jobs'', ''{1}'', ''{1}'')',
	'queue_cancel(''jobs'', 1)',
	'queue_cancel_many(''jobs'', ''{1}'')',
	'queue_requeue(''jobs'', 1)',
	'queue_requeue_many(''jobs'', ''{1}'')',
	'queue_purge(''jobs'')',
	'queue_counts(''jobs'')',
	'queue_pop_rows(null::jobs)',
	'queue_complete_row(''jobs'', jsonb_populate_record(null::jobs, ''{"id": 1, "attempt": 1}''))',
	'queue_release_row(''jobs'', jsonb_populate_record(null::jobs, ''{"id": 1, "attempt": 1}''))',
	'queue_fail_row(''jobs'', jsonb_populate_record(null::jobs, ''{"id": 1, "attempt": 1}''))',
	'queue_extend_row(''jobs'', jsonb_populate_record(null::jobs, ''{"id": 1, "attempt": 1}''))',
	'queue_attach(''also'', ''jobs'', ''attempt < 0'', on_claim => ''attempt = 0'')',
	'queue_detach(''also'')',
	'queue_alter(''jobs'', lease => ''1 hour'')',
	'queue_alter(''jobs'', archive => true)',
	'queue_pause(''jobs'')',
	'queue_resume(''jobs'')',
	'queue_drop(''jobs'')',
	'queue_create(''mine'')',
	'queue_drop(''mine'')'
]) with ordinality as c(call, n);
grant select on calls to public;

-- Anyone who may create a table may create a queue, and then owns it.
set role regress_queue_owner;
select queue_create('jobs');
select relowner::regrole as owner from pg_class where oid = 'jobs'::regclass;
select call, error_of('select ' || call) from calls order by n;
select queue_create('jobs', lease => '1 day');
grant select, insert, update, delete on jobs to regress_queue_worker;
grant insert, select (id) on jobs to regress_queue_sender;

-- A worker may do everything with the jobs, nothing with the queue.
set role regress_queue_worker;
select call, error_of('select ' || call) from calls order by n;
select error_of('select queue_detach(''jobs'')') as detach;
-- A sender may send.
set role regress_queue_sender;
select call, error_of('select ' || call) from calls order by n;
-- Others may do nothing.
set role regress_queue_nobody;
select call, error_of('select ' || call) from calls order by n;
reset role;
select paused, lease, archive from queues where queue = 'test_privilege.jobs';
select count(*) as sent from jobs;

-- What one role may do, another may not, in the same session with the same plans.
set role regress_queue_worker;
select count(*) as popped from queue_pop('jobs');
set role regress_queue_nobody;
select error_of('select queue_pop(''jobs'')');
set role regress_queue_worker;
select count(*) as popped from queue_pop('jobs');
reset role;

-- A schema that a role may not use.
revoke usage on schema test_privilege from regress_queue_nobody;
create function public.regress_error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
set role regress_queue_nobody;
select public.regress_error_of('select queue_pop(''jobs'')') as unqualified,
       public.regress_error_of('select queue_pop(''test_privilege.jobs'')') as qualified;
reset role;
drop function public.regress_error_of(text);
grant usage on schema test_privilege to regress_queue_nobody;

-- A SECURITY DEFINER function lends its owner's rights.
set role regress_queue_owner;
create function pop_for_all() returns setof queue_job language sql security definer
set search_path = test_privilege, public, pg_temp
begin atomic
	select * from queue_pop('jobs');
end;
set role regress_queue_nobody;
select count(*) as popped from pop_for_all();
select error_of('select queue_pop(''jobs'')');
reset role;

-- The archive belongs to the caller too; another's table is not taken for it.
set role regress_queue_owner;
select queue_create('kept', archive => true);
select relowner::regrole as owner from pg_class where oid = 'kept_archive'::regclass;
grant select, insert, update, delete on kept to regress_queue_worker;
select queue_send('kept', '1');
set role regress_queue_worker;
select id, attempt from queue_pop('kept');
select error_of('select queue_complete(''kept'', 1, 1)') as without, (select count(*) from kept) as kept;
reset role;
grant insert, select (id) on kept_archive to regress_queue_worker;
set role regress_queue_worker;
select queue_complete('kept', 1, 1);
reset role;
create table others_archive (id bigint);
set role regress_queue_owner;
select error_of('select queue_create(''others'', archive => true)');
reset role;

-- Owning a queue gives no right on the registry; anyone may read the view.
set role regress_queue_owner;
select privilege, has_table_privilege('queue_definition', privilege) as has
from unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as privilege;
select error_of('update queue_definition set paused = true') as update,
       error_of('delete from queue_definition') as delete,
       error_of('insert into queue_definition select * from queue_definition') as insert,
       error_of('update queues set paused = true') as update_view;
set role regress_queue_nobody;
select queue from queues where queue like 'test\_privilege.%' order by queue;
reset role;
-- A member of the owner is an owner.
grant regress_queue_owner to regress_queue_worker;
set role regress_queue_worker;
select queue_pause('jobs');
select queue_resume('jobs');
select queue_drop('kept');
reset role;

-- Row security holds for workers, under plans of whoever came before.
insert into jobs (payload) values ('"hidden"'), ('"shown"');
select queue_purge('jobs', 'leased') is not null as purged;
select count(*) as popped from queue_pop('jobs', 100);
update jobs set leased_until = null;
alter table jobs enable row level security;
create policy shown on jobs to regress_queue_sender using (payload = '"shown"');
grant select, update, delete on jobs to regress_queue_sender;
set role regress_queue_sender;
select payload from queue_pop('jobs', 10);
select error_of('select queue_send(''jobs'', ''"hidden"'')');
select queue_cancel_many('jobs', array(select generate_series(1, 100)));
reset role;
select payload from jobs order by id;

drop schema test_privilege cascade;
drop role regress_queue_owner, regress_queue_worker, regress_queue_sender, regress_queue_nobody;
