-- While a claim by TID from a partition is planned, the planner sees no index and no other partition
-- of the queue's table, but all of any other table, also of one with the alias t: in a policy, and in
-- a function that the planner evaluates, whose plan PL/pgSQL keeps.
set client_min_messages = error;
create schema test_alias_t;
set search_path = test_alias_t, public;
set queue_ext.claim_path = auto;
create role test_alias_t;
grant usage on schema test_alias_t to test_alias_t;
create table grants (job integer, role name, kind text) partition by list (kind);
create table grants_a partition of grants for values in ('a');
create table grants_b partition of grants for values in ('b');
create table jobs (id integer, region text, state text not null default 'ready', primary key (region, id)) partition by list (region);
create table jobs_eu partition of jobs for values in ('eu');
create table jobs_us partition of jobs for values in ('us');
create index on jobs (id) where state = 'ready';
insert into jobs (id, region) select i, case when i % 2 = 0 then 'eu' else 'us' end from generate_series(1, 6) as i;
insert into grants select i, 'test_alias_t', 'a' from generate_series(1, 6) as i;
grant all on jobs, grants to test_alias_t;
alter table jobs enable row level security;
create policy granted on jobs using (exists (select from grants as t where t.job = jobs.id and t.role = current_user));
select queue_attach('q', 'jobs', 'state = ''ready''', 'id, region', 'state = ''running''');
set role test_alias_t;
select path from queue_claim_path('q');
begin;
select array_agg(id) from queue_pop_rows(null::jobs, 'q', 10);
rollback;
reset role;
alter table jobs disable row level security;
create function count_grants() returns bigint immutable language plpgsql as $$ declare n bigint; begin select count(*) into n from test_alias_t.grants as t; return n; end $$;
create function count_jobs() returns bigint immutable language plpgsql as $$ declare n bigint; begin select count(*) into n from test_alias_t.jobs as t; return n; end $$;
select queue_detach('q');
select queue_attach('q', 'jobs', 'state = ''ready''', 'id, region', 'state = ''running '' || test_alias_t.count_grants() || test_alias_t.count_jobs()');
\c -
set search_path = test_alias_t, public;
set queue_ext.claim_path = auto;
begin;
select state from queue_pop_rows(null::jobs, 'q');
rollback;
select count_grants(), count_jobs();
set client_min_messages = error;
drop schema test_alias_t cascade;
drop role test_alias_t;
