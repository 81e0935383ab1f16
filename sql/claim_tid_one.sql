-- Claims of one row by TID: the claimer locks the row itself, before the statement, if "pending" is
-- true of it and the caller may write it. A lock that was taken shows in xmax, also after its end.
set client_min_messages = error;
create schema test_claim_tid_one;
set search_path = test_claim_tid_one, public;
set queue_ext.claim_path = tid;
create role regress_tid_reader;
create role regress_tid_tenant;
grant usage on schema test_claim_tid_one to regress_tid_reader, regress_tid_tenant;
create function touch() returns trigger language plpgsql as $$ begin new.touched := coalesce(new.touched, 0) + 1; return new; end $$;
create table jobs (id integer primary key, gone text, state text not null default 'new', touched integer, doubled integer generated always as (id * 2) stored);
alter table jobs drop column gone;
create index on jobs (id) where state = 'new';
create trigger touch before update on jobs for each row execute function touch();
insert into jobs select generate_series(1, 20);
grant select, update (touched) on jobs to regress_tid_reader;
grant select, update (state) on jobs to regress_tid_tenant;
select queue_attach('jobs', 'jobs', 'state = ''new''', 'id', 'state = worker');
select id, state, touched, doubled from queue_pop_rows(null::jobs, worker => 'run');
-- Twice in one transaction, in a savepoint, and at every level.
begin isolation level repeatable read;
select count(*) from jobs;
select id, state, touched, doubled from queue_pop_rows(null::jobs, worker => 'run');
savepoint s;
select id, state, touched, doubled from queue_pop_rows(null::jobs, worker => 'run');
rollback to s;
select id, state, touched, doubled from queue_pop_rows(null::jobs, worker => 'run');
-- Its own row comes last, since a sweep may read it in front.
update jobs set state = 'new', id = 102 where id = 2;
select array_agg(id) from queue_pop_rows(null::jobs, worker => 'run', max_jobs => 2);
commit;
update jobs set state = 'run', id = 2 where id = 102;
-- A row that this transaction has written before.
create table lone (like jobs including all);
create trigger touch before update on lone for each row execute function touch();
insert into lone (id) values (1);
select queue_attach('lone', 'lone', 'state = ''new''', 'id', 'state = worker');
begin;
update lone set touched = 100;
select id, state, touched from queue_pop_rows(null::lone, worker => 'run');
select id, state, touched from queue_pop_rows(null::lone, worker => 'run');
commit;

-- By a caller who may not write what a claim writes, and one who may write the columns of the claim.
\set VERBOSITY sqlstate
set role regress_tid_reader;
select id from queue_pop_rows(null::jobs, worker => 'run');
reset role;
\set VERBOSITY default
select id, xmax = 0 as unlocked from jobs where id = 6;
set role regress_tid_tenant;
select id, touched from queue_pop_rows(null::jobs, worker => 'run');
reset role;
-- A row whose claim leaves it pending: nothing is claimed.
select id from queue_pop_rows(null::jobs, worker => 'new');

-- A row that is no longer pending, though it is unchanged, is not claimed. (A function that is not
-- really immutable.)
create function is_open(id integer) returns boolean immutable language plpgsql as $$ begin return id::text is distinct from current_setting('test.closed', true); end $$;
create table doors (like jobs including all);
create trigger touch before update on doors for each row execute function touch();
insert into doors (id) select generate_series(1, 5);
select queue_attach('doors', 'doors', 'state = ''new'' and is_open(id)', 'id', 'state = worker');
select id from queue_pop_rows(null::doors, worker => 'run');
set test.closed = '2';
select id from queue_pop_rows(null::doors, worker => 'run');
select id, xmax = 0 as unlocked from doors where id = 2;

-- A row that the caller's policies let it read, and not write, is not locked.
create table files (like jobs including all);
insert into files (id) select generate_series(1, 5);
grant select, update on files to regress_tid_tenant;
alter table files enable row level security;
create policy see on files for select using (true);
create policy change on files for update using (id <> 2);
select queue_attach('files', 'files', 'state = ''new''', 'id', 'state = worker');
set role regress_tid_tenant;
select id from queue_pop_rows(null::files, worker => 'run');
select id from queue_pop_rows(null::files, worker => 'run');
reset role;
select id, xmax = 0 as unlocked from files where id = 2;

-- User-defined code in "pending" and in a trigger that claims from the same queue.
create table nested (like jobs including all);
insert into nested (id) select generate_series(1, 9);
create function claim_another(id integer) returns boolean immutable language plpgsql as $$
begin
	if id = current_setting('test.at', true)::integer then
		perform set_config('test.at', '0', false);
		perform from test_claim_tid_one.pop();
	end if;
	return true;
end $$;
create function pop() returns setof nested volatile language sql as $$ select * from public.queue_pop_rows(null::test_claim_tid_one.nested, worker => 'nested') $$;
create function claim_one_more() returns trigger language plpgsql as $$
begin
	if new.id = current_setting('test.more', true)::integer then
		perform set_config('test.more', '0', false);
		perform from test_claim_tid_one.pop();
	end if;
	return new;
end $$;
create trigger claim_one_more before update on nested for each row execute function claim_one_more();
select queue_attach('nested', 'nested', 'state = ''new'' and claim_another(id)', 'id', 'state = worker');
select id from queue_pop_rows(null::nested, worker => 'run');
set test.more = 2;
select count(*) from queue_pop_rows(null::nested, worker => 'run');
set test.at = 4;
select count(*) from queue_pop_rows(null::nested, worker => 'run');
set test.at = 0;
select count(*) from queue_pop_rows(null::nested, worker => 'run');
select state, count(*) from nested group by state order by state;
drop schema test_claim_tid_one cascade;
drop role regress_tid_reader, regress_tid_tenant;
