-- Policies that bind the owner, too, hide jobs from the look for lost occurrences: one that waits for a
-- worker of another tenant is not lost, and the claims of others do not fail.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_tenants;
create schema test_policy authorization regress_tenants;
set search_path = test_policy, public;
set role regress_tenants;
select queue_create('jobs');
alter table jobs enable row level security, force row level security;
create policy tenants on jobs using (payload ->> 'tenant' = current_setting('test.tenant', true));
create policy senders on jobs for insert with check (true);
set test.tenant = 'a';
select queue_schedule('jobs', 'nightly', '1 hour', payload => '{"tenant": "a"}') > now() as later;
select queue_send('jobs', '{"tenant": "a"}') > 0 as sent;
create procedure be_late() language sql as $$
	update jobs set run_at = now() - '1 second'::interval where unique_key is not null and attempt = 0;
$$;
call be_late();
reset role;
update queue_schedule_definition set next_run_at = now() - '1 second'::interval where source = 'jobs'::regclass;
\c -
set client_min_messages = warning;
set search_path = test_policy, public;
set role regress_tenants;
set test.tenant = 'b';
select queue_send('jobs', '{"tenant": "b"}') > 0 as sent;
select payload from queue_pop('jobs', 10);
reset role;
select payload, attempt from jobs order by 1, 2;
set role regress_tenants;
set test.tenant = 'a';
select payload, attempt from queue_pop('jobs', 10) order by run_at;
reset role;
select payload, attempt from jobs order by 1, 2;
drop schema test_policy cascade;
drop role regress_tenants;
