-- queue_wait and queue_pop_wait in one session: what they return, and where they refuse to wait.
\set SHOW_CONTEXT never
create schema test_wait;
set search_path = test_wait, public;
set queue_ext.claim_path = auto;
select queue_create('jobs');
create table t (id integer primary key, state text not null default 'new');
create index on t (id) where state = 'new';
select queue_attach('t', 't', pending => $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'done'$$, wake => true);

-- The time is over: nulls, and no error.
call queue_wait('jobs', '0');
call queue_wait('t', '10 ms');
call queue_pop_wait('jobs', '0');
call queue_pop_wait('jobs', '10 ms', '1 hour', 'me');

-- A job stands ready: both return at once.
select queue_send('jobs', '"a"');
call queue_wait('jobs');
begin;
call queue_wait('jobs');
commit;
do $$
declare
	job record;
begin
	call queue_wait('jobs');
	select * into job from queue_pop('jobs', worker => 'me');
	raise notice 'job % attempt % of %', job.payload, job.attempt, job.leased_by;
	assert queue_complete('jobs', job.id, job.attempt);
end $$;

-- It claims what queue_pop claims: in order, with the lease and for the worker.
select count(queue_send('jobs', to_jsonb(n), priority => -n)) from generate_series(1, 3) as n;
create procedure pop(wait interval default '1 minute', lease interval default null, worker text default null) language plpgsql as $$
declare
	id bigint;
	attempt integer;
	payload jsonb;
	priority smallint;
	run_at timestamptz;
	max_attempts integer;
	leased_until timestamptz;
	leased_by text;
	last_error text;
	created_at timestamptz;
	kind text;
begin
	call queue_pop_wait('jobs', wait, lease, worker, id, attempt, payload, priority, run_at, max_attempts, leased_until,
		leased_by, last_error, created_at, kind);
	raise notice 'job % attempt % priority % by %, leased for over a minute: %', payload, attempt, priority, leased_by,
		leased_until > now() + interval '1 minute';
end $$;
call pop();
call pop(worker => 'me');
call pop(lease => '1 hour');
call pop('10 ms');
select count(*) as leased from jobs where leased_until > now() and attempt = 1;

-- A lease that ends during the wait, and a job that falls due.
select count(queue_complete('jobs', id, attempt)) from jobs;
select queue_send('jobs', '"late"', run_at => now() + interval '50 ms') is not null as sent;
call pop(lease => '50 ms');
call pop(lease => '1 hour');
select count(queue_complete('jobs', id, attempt)) from jobs;

-- What the caller has written is committed before the wait.
create procedure write_and_wait() language plpgsql as $$
begin
	insert into t values (1, 'old');
	call queue_wait('jobs', '0');
	rollback;
end $$;
call write_and_wait();
select * from t;

-- An attached table; queue_pop_wait is for managed queues.
insert into t values (2);
call queue_wait('t');
select * from queue_pop_rows(null::t);
call queue_wait('t', '0');
\set VERBOSITY sqlstate
call queue_pop_wait('t');
\set VERBOSITY default

-- A paused queue hands out nothing, and the wait goes on.
select queue_send('jobs', '"b"') is not null as sent;
select queue_pause('jobs');
call queue_wait('jobs', '10 ms');
call queue_pop_wait('jobs', '10 ms');
select queue_resume('jobs');
call queue_wait('jobs');

-- Inside a transaction block queue_wait needs READ COMMITTED, no XID, and no snapshot but its own.
begin;
select count(*) from jobs;
call queue_wait('jobs');
select pg_current_xact_id_if_assigned() is null as has_no_xid;
select count(*) from pg_locks where pid = pg_backend_pid() and mode = 'RowExclusiveLock';
commit;
begin;
savepoint s;
call queue_wait('jobs');
release s;
commit;
\set VERBOSITY sqlstate
begin isolation level repeatable read;
call queue_wait('jobs');
rollback;
begin isolation level serializable;
call queue_wait('jobs');
rollback;
begin;
insert into t values (3, 'old');
call queue_wait('jobs');
rollback;
begin;
declare c cursor for select * from generate_series(1, 10);
fetch 1 from c;
call queue_wait('jobs');
rollback;
begin;
do $$ begin call queue_wait('jobs'); end $$;
rollback;
do $$ begin begin call queue_wait('jobs'); exception when division_by_zero then null; end; end $$;
create function wait_in_function() returns void language plpgsql as $$ begin call queue_wait('jobs'); end $$;
select wait_in_function();
\set VERBOSITY default
-- Nothing is broken after a refusal that was handled.
do $$ begin
	begin
		perform wait_in_function();
	exception when active_sql_transaction then
		raise notice 'refused';
	end;
	perform count(*) from jobs;
end $$;

-- queue_pop_wait must commit.
\set VERBOSITY sqlstate
begin;
call queue_pop_wait('jobs');
rollback;
do $$ begin begin call pop(); exception when division_by_zero then null; end; end $$;
create function pop_in_function() returns void language plpgsql as $$ begin call pop(); end $$;
select pop_in_function();
\set VERBOSITY default

-- Any isolation level will do outside a transaction block.
set default_transaction_isolation = 'repeatable read';
call queue_wait('jobs');
call pop();
call queue_wait('jobs', '10 ms');
call pop('10 ms');
set default_transaction_isolation = 'serializable';
call queue_wait('jobs', '10 ms');
call pop('10 ms');
reset default_transaction_isolation;

-- Bad arguments.
\set VERBOSITY sqlstate
call queue_wait(null);
call queue_wait('jobs', null);
call queue_wait('jobs', '-1 s');
call queue_wait('jobs', '400000 years');
call queue_wait('nosuch');
call queue_pop_wait(null);
call queue_pop_wait('jobs', null);
call queue_pop_wait('jobs', '-1 s');
call queue_pop_wait('jobs', lease => '0');
call queue_pop_wait('nosuch');
begin read only;
call queue_wait('jobs');
rollback;
set default_transaction_read_only = on;
call queue_pop_wait('jobs');
reset default_transaction_read_only;
\set VERBOSITY default

-- Rights: those of a claim.
create role regress_wait;
grant usage on schema test_wait to regress_wait;
set role regress_wait;
call queue_wait('jobs', '0');
call queue_pop_wait('jobs', '0');
reset role;
grant select, update on jobs to regress_wait;
set role regress_wait;
call queue_wait('jobs', '0');
call queue_pop_wait('jobs', '0');
reset role;

-- On each path.
select queue_send('jobs', '"path"') is not null as sent;
set queue_ext.claim_path = portable;
call queue_wait('jobs');
call pop();
call queue_wait('jobs', '10 ms');
call pop('10 ms');
set queue_ext.claim_path = tid;
select count(queue_release('jobs', id, attempt)) from jobs where payload = '"path"';
call queue_wait('jobs');
call pop();
reset queue_ext.claim_path;

-- The key of claim mode session is gone.
create table held (id integer primary key);
select queue_attach('held', 'held', pending => 'true', order_by => 'id', claim_mode => 'session');
alter table held drop constraint held_pkey;
\set VERBOSITY sqlstate
call queue_wait('held', '0');
\set VERBOSITY default
drop table held;

drop owned by regress_wait;
drop role regress_wait;
drop schema test_wait cascade;
