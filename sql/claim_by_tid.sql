-- Claims by TID: a statement writes the rows that the ring names, with all that an UPDATE does, and
-- with the promises of every claim.
set client_min_messages = error;
create schema test_claim_by_tid;
set search_path = test_claim_by_tid, public;
set queue_ext.claim_path = auto;
create function touch() returns trigger language plpgsql as $$ begin new.touched := coalesce(new.touched, 0) + 1; return new; end $$;
-- The rows lie in the table in another order than the queue's.
create table jobs (id integer primary key, state text not null default 'new', touched integer, doubled integer generated always as (id * 2) stored);
create index on jobs (id) where state = 'new';
insert into jobs (id) select 101 - g from generate_series(1, 100) as g;
create trigger touch before update on jobs for each row execute function touch();
select queue_attach('jobs', 'jobs', 'state = ''new''', 'id', 'state = ''run''', wake => true);
select queue_claim_stats_reset();
select id, state, touched, doubled from queue_pop_rows(null::jobs);
select array_agg(id) as in_order from queue_pop_rows(null::jobs, max_jobs => 70);
select claims, locked, gone, not_pending from queue_claim_stats where source = 'jobs'::regclass;
-- A rollback puts the rows back, also to a savepoint.
begin;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 3);
savepoint s;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 3);
rollback to s;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 2);
rollback;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 2);
-- A claim that finds nothing assigns no XID.
select count(*) from queue_pop_rows(null::jobs, max_jobs => 100);
begin;
select count(*) from queue_pop_rows(null::jobs);
select pg_current_xact_id_if_assigned() is null as no_xid;
commit;
-- The isolation level does not matter: what has been committed since the snapshot is there.
begin isolation level repeatable read;
select count(*) from jobs where state = 'new';
update jobs set state = 'new' where id in (7, 3, 5);
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 2);
commit;
set default_transaction_isolation = serializable;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 2);
reset default_transaction_isolation;

-- The statement finds its rows by their TIDs, also where the statistics say that there are none.
create table grown (id integer primary key, state integer not null default 0);
create index on grown (state, id);
create trigger touch before update on grown for each row execute function suppress_redundant_updates_trigger();
analyze grown;
insert into grown select generate_series(1, 1000);
select queue_attach('grown', 'grown', 'state = 0', 'id', 'state = 1');
select count(*) from queue_pop_rows(null::grown);
select pg_stat_force_next_flush();
begin;
select count(*) from queue_pop_rows(null::grown, max_jobs => 20);
select idx_scan from pg_stat_xact_user_tables where relid = 'grown'::regclass;
commit;

-- The trigger of wake => true does not take a claim's own write for rows that have become claimable;
-- what a trigger or a function writes meanwhile it does.
create table told (id integer primary key, state integer not null default 0);
create index on told (id) where state = 0;
insert into told select generate_series(1, 10);
create function tell() returns trigger language plpgsql as $$
begin
	if new.id = 3 and new.state = 1 then
		update told set state = 0 where id = 1;
	end if;
	return new;
end $$;
create trigger tell before update on told for each row execute function tell();
select queue_attach('told', 'told', 'state = 0', 'id', 'state = 1', wake => true);
select id from queue_pop_rows(null::told) union all select id from queue_pop_rows(null::told);
select id from queue_pop_rows(null::told) union all select id from queue_pop_rows(null::told);
create table many (id integer primary key, state integer not null default 0);
create index on many (id) where state = 0;
insert into many select generate_series(1, 1000);
create function reopen(number integer) returns integer language plpgsql as $$
begin
	update many set state = 0 where id = number;
	return 1;
end $$;
create function reopen() returns trigger language plpgsql as $$
begin
	if new.id = 1000 then
		perform reopen(1);
	end if;
	return new;
end $$;
create trigger reopen before update on many for each row execute function reopen();
select queue_attach('many', 'many', 'state = 0', 'id', 'state = 1', wake => true);
select queue_claim_stats_reset();
do $$ begin
	for i in 1..200 loop
		perform queue_pop_rows(null::test_claim_by_tid.many);
		commit;
	end loop;
end $$;
select claims, sweeps < 50 as few_sweeps from queue_claim_stats where source = 'many'::regclass;
-- Nor if it writes more rows than the trigger notes one by one, or if the trigger is one for each statement: else each claim
-- would have the next one sweep.
create table batches (id integer primary key, state integer not null default 0);
create index on batches (id) where state = 0;
insert into batches select generate_series(1, 6000);
create table statements (like batches including all);
insert into statements select generate_series(1, 200);
create trigger told after insert or update on statements for each statement execute function queue_wake();
set queue_ext.claim_path = tid;
select queue_attach(q, q, 'state = 0', 'id', 'state = 1', wake => true) from unnest('{batches,statements}'::text[]) as q;
-- More sweeps than one for each tenth of a second, and a few, are not of the clock.
create procedure claim_all(queue text, jobs integer, times integer, inout claims bigint default null, inout few_sweeps boolean default null)
language plpgsql as $$
declare
	began timestamptz := clock_timestamp();
begin
	for i in 1 .. times loop
		execute format('select count(*) from public.queue_pop_rows(null::test_claim_by_tid.%1$I, %1$L, %2$s)', queue, jobs);
		commit;
	end loop;
	select c.claims, c.sweeps <= 5 + 10 * extract(epoch from clock_timestamp() - began) into claims, few_sweeps
	from public.queue_claim_stats c where c.source = format('test_claim_by_tid.%I', claim_all.queue)::regclass;
end $$;
call claim_all('batches', 100, 60);
call claim_all('statements', 1, 200);
set queue_ext.claim_path = auto;
select queue_attach('backward', 'many', 'state = 0', 'id desc', 'state = case id when 999 then test_claim_by_tid.reopen(2) else 1 end');
select id from queue_pop_rows(null::many, 'backward');
select id from queue_pop_rows(null::many, 'many');
select id from queue_pop_rows(null::many, 'backward');
select id from queue_pop_rows(null::many, 'many');
select id from queue_pop_rows(null::many, 'many');
-- A function in "pending" that is replaced makes other rows pending.
create function is_far(integer) returns boolean immutable language plpgsql as $$ begin return $1 > 500; end $$;
select queue_attach('far', 'many', 'state = 0 and is_far(id)', 'id', 'state = 1');
select id from queue_pop_rows(null::many, 'far');
create or replace function is_far(integer) returns boolean immutable language plpgsql as $$ begin return $1 > 400; end $$;
select id from queue_pop_rows(null::many, 'far');
-- What is planned while a claim by TID is planned finds its indexes.
set client_min_messages = warning;
create function attach(text) returns integer immutable language plpgsql as $$
begin
	perform public.queue_detach('test_claim_by_tid.' || $1, if_exists => true);
	perform public.queue_attach($1, 'test_claim_by_tid.grown', 'state = 0', 'id', 'state = 1');
	return 1;
end $$;
select queue_attach('planned', 'many', 'state = 0', 'id', 'state = (select 1) * test_claim_by_tid.attach(''grown_too'')');
select id from queue_pop_rows(null::many, 'planned');
set client_min_messages = error;

-- An immutable function of the user's can be evaluated without a statement; a domain, a sub-select and
-- any other function cannot.
create table kinds (id integer primary key, state integer not null default 0, other integer);
create index on kinds (id) where state = 0;
insert into kinds select generate_series(1, 100);
create function is_open(integer) returns boolean immutable language plpgsql as $$ begin return $1 = 0; end $$;
create function is_due(integer) returns boolean stable language sql return $1 < extract(epoch from now());
create domain positive as integer check (value > 0);
create operator === (function = int4eq, leftarg = integer, rightarg = integer);
select queue_attach('k1', 'kinds', 'state = 0 and is_open(state)', 'id', 'state = 1');
select queue_attach('k2', 'kinds', 'state = 0 and is_due(id)', 'id', 'state = 1');
select queue_attach('k3', 'kinds', 'state = 0', 'id', 'state = 1, other = id::positive');
select queue_attach('k4', 'kinds', 'state = 0 and id not in (select 8)', 'id', 'state = 1');
select queue_attach('k5', 'kinds', 'state === 0', 'id', 'state = 1');
select queue_attach('k6', 'kinds', 'state = 0', 'id', 'state = 1, other = (select max(k.id) from kinds as k)');
select q, (select array_agg(id) from queue_pop_rows(null::kinds, q, 2)) as ids from unnest('{k1,k2,k3,k4,k5,k6}'::text[]) as q;
create or replace function is_open(integer) returns boolean immutable language plpgsql as $$ begin return $1 < 0; end $$;
select count(*) from queue_pop_rows(null::kinds, 'k1');

-- The lock modes.
select queue_attach('l1', 'kinds', 'state = 0 and id not in (select 21)', 'id', claim_mode => 'transaction');
select queue_attach('l2', 'kinds', 'state = 0 and id not in (select 32)', 'id', claim_mode => 'session');
begin;
select array_agg(id) from queue_pop_rows(null::kinds, 'l1', 3);
select array_agg(id) from queue_pop_rows(null::kinds, 'l1', 3);
commit;
select array_agg(id) from queue_pop_rows(null::kinds, 'l1', 2);
select array_agg(id) from queue_pop_rows(null::kinds, 'l2', 3);
select array_agg(id) from queue_pop_rows(null::kinds, 'l2', 3);
select queue_detach(q) from unnest('{l1,l2}'::text[]) as q;
select pg_advisory_unlock_all();

-- Which path is taken, and why.
create role test_tid_columns;
create role test_tid_policy;
grant usage on schema test_claim_by_tid to test_tid_columns, test_tid_policy;
create table plain (id integer primary key, state integer not null default 0);
grant select, update (state) on plain to test_tid_columns;
grant select, update on plain to test_tid_policy;
create table parent (id integer, state integer not null default 0, primary key (id)) partition by list (id);
create table part partition of parent for values in (1);
create table child (primary key (id)) inherits (plain);
create table ruled (id integer primary key, state integer not null default 0);
create table checked (id integer primary key, state integer not null default 0 check (state > random() - 2));
create table guarded (id integer primary key, state integer not null default 0);
create function anything() returns boolean language plpgsql as $$ begin return true; end $$;
create policy p on guarded using (anything());
grant select, update on guarded to test_tid_policy;
alter table guarded enable row level security;
set client_min_messages = notice;
select queue_attach('p1', 'plain', 'state = 0', 'id', 'state = 1');
select queue_attach('p2', 'parent', 'state = 0', 'id', 'state = 1');
select queue_attach('p3', 'part', 'state = 0', 'id', 'state = 1');
set client_min_messages = error;
drop table child;
select queue_attach('p4', 'ruled', 'state = 0', 'id', 'state = 1'), queue_attach('p5', 'checked', 'state = 0', 'id', 'state = 1'),
	queue_attach('p6', 'guarded', 'state = 0', 'id', 'state = 1'), queue_attach('p7', 'plain', 'state = 0 and anything()', 'id', 'state = 1'),
	queue_attach('p8', 'plain', 'state = 0 and id = current_setting(state::text)::integer', 'id', 'state = 1'),
	queue_attach('p9', 'guarded', 'true', 'id', claim_mode => 'session');
create rule noted as on update to ruled do also notify ruled;
select q, p.* from unnest('{p1,p3,p4,p5,p6,p7,p8,p9,k1,k2,k3,k4,k5,k6}'::text[]) as q cross join lateral queue_claim_path(q) as p;
set role test_tid_columns;
select * from queue_claim_path('p1');
set role test_tid_policy;
select * from queue_claim_path('p1');
select * from queue_claim_path('p6');
reset role;
grant select (id) on guarded to test_tid_columns;
set role test_tid_columns;
select * from queue_claim_path('p9');
reset role;
begin;
insert into told values (77);
select * from queue_claim_path('told');
rollback;
set queue_ext.claim_path = portable;
select * from queue_claim_path('p1');
set queue_ext.claim_path = direct;
select q, p.* from unnest('{p1,k3}'::text[]) as q cross join lateral queue_claim_path(q) as p;
set queue_ext.claim_path = tid;
select q, p.* from unnest('{p1,k3}'::text[]) as q cross join lateral queue_claim_path(q) as p;
set queue_ext.claim_path = auto;
select path from queue_claim_stats where source in ('jobs'::regclass, 'ruled'::regclass);
select queue_claim_path('nowhere');
-- EXECUTE on a function of the user's counts as it is now, also in a CHECK.
create function is_state(integer) returns boolean immutable language plpgsql as $$ begin return $1 >= 0; end $$;
create table stated (id integer primary key, state integer not null default 0 check (is_state(state)));
create index on stated (id) where state = 0;
insert into stated values (1), (2);
grant select, update on stated to test_tid_policy;
select queue_attach('stated', 'stated', 'state = 0', 'id', 'state = 1');
set role test_tid_policy;
select path from queue_claim_path('stated');
select id from queue_pop_rows(null::stated);
reset role;
revoke execute on function is_state(integer) from public;
set role test_tid_policy;
select path from queue_claim_path('stated');
\set VERBOSITY sqlstate
select id from queue_pop_rows(null::stated);
\set VERBOSITY default
reset role;
drop schema test_claim_by_tid cascade;
drop role test_tid_columns, test_tid_policy;
