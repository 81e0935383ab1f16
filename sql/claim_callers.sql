-- Callers for whom "pending" or a policy means something else do not share candidates: each gets its
-- own rows, in order, whatever the others have read before.
set client_min_messages = error;
create schema test_claim_callers;
set search_path = test_claim_callers, public;
set queue_ext.claim_path = auto;
create role test_ra;
create role test_rb;
grant usage on schema test_claim_callers to test_ra, test_rb;

-- By current_user: every tenth row is for test_rb.
create table by_role (id integer primary key, st text not null default 'todo', qn text not null);
create index on by_role (qn, id) where st = 'todo';
insert into by_role (id, qn) select g, case when g % 10 = 0 then 'test_rb' else 'test_ra' end from generate_series(1, 20000) as g;
grant select, update on by_role to test_ra, test_rb;
select queue_attach('by_role', 'by_role', 'st = ''todo'' and qn = current_user', 'id', 'st = ''taken''', wake => true);
set role test_ra;
select id from queue_pop_rows(null::by_role);
select id from queue_pop_rows(null::by_role);
set role test_rb;
select id from queue_pop_rows(null::by_role);
set role test_ra;
select id from queue_pop_rows(null::by_role);
set role test_rb;
select id from queue_pop_rows(null::by_role, max_jobs => 3);
reset role;

-- By older names of current_user.
create table by_name (id integer primary key, st text not null default 'todo', qn name not null);
create index on by_name (id) where st = 'todo';
insert into by_name (id, qn) select g, case when g % 100 = 0 then 'test_rb' else 'test_ra' end from generate_series(1, 2000) as g;
grant select, update on by_name to test_ra, test_rb;
select queue_attach('by_name', 'by_name', 'st = ''todo'' and qn = getpgusername()', 'id', 'st = ''taken''');
select queue_attach('by_call', 'by_name', 'st = ''todo'' and qn = pg_catalog."current_user"()', 'id', 'st = ''taken''');
set role test_ra;
select id from queue_pop_rows(null::by_name, 'by_name', 2);
set role test_rb;
select id from queue_pop_rows(null::by_name, 'by_name');
set role test_ra;
select id from queue_pop_rows(null::by_name, 'by_call', 2);
set role test_rb;
select id from queue_pop_rows(null::by_name, 'by_call');
reset role;

-- By the variable, and by a setting of the session.
create table by_worker (id integer primary key, taken boolean not null default false, w text not null);
create index on by_worker (id) where not taken;
insert into by_worker (id, w) select g, case when g % 100 = 0 then 'rare' else 'often' end from generate_series(1, 2000) as g;
select queue_attach('by_worker', 'by_worker', 'not taken and w = worker', 'id', 'taken = true');
select id from queue_pop_rows(null::by_worker, worker => 'often', max_jobs => 2);
select id from queue_pop_rows(null::by_worker, worker => 'rare', max_jobs => 2);
select id from queue_pop_rows(null::by_worker, worker => 'often', max_jobs => 2);
select id from queue_pop_rows(null::by_worker, worker => 'rare');
select count(*) from queue_pop_rows(null::by_worker);
create table by_setting (id integer primary key, taken boolean not null default false, tenant integer not null);
create index on by_setting (id) where not taken;
insert into by_setting (id, tenant) select g, case when g % 10 = 0 then 2 else 1 end from generate_series(1, 20000) as g;
create function tenant() returns integer stable language sql return current_setting('app.tenant', true)::integer;
select queue_attach('by_setting', 'by_setting', 'not taken and tenant = tenant()', 'id', 'taken = true');
set app.tenant = 1;
select id from queue_pop_rows(null::by_setting, max_jobs => 2);
set app.tenant = 2;
select id from queue_pop_rows(null::by_setting, max_jobs => 2);
set app.tenant = 1;
select id from queue_pop_rows(null::by_setting);
set app.tenant = 2;
select id from queue_pop_rows(null::by_setting);

-- By policies: each tenant has its rows, and the owner all of them.
create table by_policy (id integer primary key, taken boolean not null default false, tenant text not null);
create index on by_policy (tenant, id) where not taken;
insert into by_policy (id, tenant) select g, case when g % 10 = 0 then 'test_rb' else 'test_ra' end from generate_series(1, 20000) as g;
grant select, update on by_policy to test_ra, test_rb;
alter table by_policy enable row level security;
create policy own on by_policy using (tenant = current_user);
select queue_attach('by_policy', 'by_policy', 'not taken', 'id', 'taken = true', wake => true);
set role test_ra;
select id from queue_pop_rows(null::by_policy, max_jobs => 2);
set role test_rb;
select id from queue_pop_rows(null::by_policy, max_jobs => 2);
set role test_ra;
select id from queue_pop_rows(null::by_policy, max_jobs => 2);
reset role;
select id from queue_pop_rows(null::by_policy, max_jobs => 2);
set role test_rb;
select count(*), max(id) from queue_pop_rows(null::by_policy, max_jobs => 10000);
select id from queue_pop_rows(null::by_policy, max_jobs => 10);
reset role;
insert into by_policy values (26000, false, 'test_rb'), (26001, false, 'test_ra');
set role test_rb;
select id from queue_pop_rows(null::by_policy, max_jobs => 10);
-- Membership in a role changes without a notice: the tenant with no rows gets those of the group in a
-- new session (a session's prepared statements keep the policies that applied).
reset role;
create role test_group;
create policy of_group on by_policy to test_group using (tenant = 'group');
insert into by_policy values (27000, false, 'group');
set role test_rb;
select id from queue_pop_rows(null::by_policy);
reset role;
grant test_group to test_rb;
\c -
set client_min_messages = error;
set search_path = test_claim_callers, public;
set queue_ext.claim_path = auto;
set role test_rb;
select id from queue_pop_rows(null::by_policy);
reset role;
drop policy of_group on by_policy;
drop role test_group;
-- FORCE makes the policies the owner's, too.
reset role;
grant all on schema test_claim_callers to test_ra;
alter table by_policy owner to test_ra;
set role test_ra;
select id from queue_pop_rows(null::by_policy);
alter table by_policy force row level security;
update by_policy set taken = false where tenant = 'test_ra' and id < 10;
select id from queue_pop_rows(null::by_policy, max_jobs => 3);
-- A policy that lets a row out of the tenant's sight may not be written by it.
create policy keep on by_policy as restrictive for update using (true) with check (id <> 12);
select count(*) from queue_pop_rows(null::by_policy, max_jobs => 7);
\set VERBOSITY sqlstate
select id from queue_pop_rows(null::by_policy, max_jobs => 3);
set row_security = off;
select id from queue_pop_rows(null::by_policy);
reset row_security;
\set VERBOSITY default
reset role;

-- What may depend on anything has no candidates of its own: such a claim finds its rows itself.
create function anybody() returns text stable language plpgsql as $$ begin return current_user; end $$;
create table by_function (id integer primary key, taken boolean not null default false, tenant text not null);
create index on by_function (tenant, id) where not taken;
insert into by_function (id, tenant) select g, case when g % 100 = 0 then 'test_rb' else 'test_ra' end from generate_series(1, 2000) as g;
grant select, update on by_function to test_ra, test_rb;
select queue_attach('by_function', 'by_function', 'not taken and tenant = anybody()', 'id', 'taken = true');
set role test_ra;
select id from queue_pop_rows(null::by_function, max_jobs => 2);
set role test_rb;
select id from queue_pop_rows(null::by_function, max_jobs => 2);
set role test_ra;
select id from queue_pop_rows(null::by_function);
reset role;

-- Each variant has a ring; a queue has no more than 32, and answers right with more.
do $$
declare
	n integer;
begin
	insert into by_worker (id, w) select 10000 + g, 'w' || g from generate_series(1, 100) as g;
	for round in 1..2 loop
		for g in 1..100 loop
			select id into n from queue_pop_rows(null::by_worker, worker => 'w' || g);
			if round = 1 and n is distinct from 10000 + g or round = 2 and n is not null then
				raise exception 'worker % got %', g, n;
			end if;
		end loop;
	end loop;
end $$;
select queue, count(*) > 1 as some, count(*) <= 32 as not_too_many from queue_claim_stats where queue like 'test_claim_callers.by_worker' group by queue;
drop schema test_claim_callers cascade;
drop role test_ra, test_rb;
