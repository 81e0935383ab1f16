-- queue_requeue_where, queue_cancel_where, queue_delete_where, queue_change_where: which jobs they
-- change, and how; what a condition can say; what is refused.
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_queue_repair;
set search_path = test_queue_repair, public;

select queue_create('jobs', lease => '1 hour', max_attempts => 3);
create function jobs_now() returns table (payload jsonb, state text, priority smallint, attempt integer, max_attempts integer, last_error text)
language sql set search_path = test_queue_repair, public as $$
	select payload, case when dead_at <= clock_timestamp() then 'dead' when leased_until > clock_timestamp() then 'leased'
		when run_at > clock_timestamp() then 'scheduled' else 'ready' end, priority, attempt, max_attempts, last_error
	from jobs order by id $$;
-- Ten of each state: 1 to 10 dead, 11 to 20 leased, 21 to 30 scheduled, 31 to 40 ready.
create procedure refill() language plpgsql set search_path = test_queue_repair, public as $$ begin
	truncate jobs;
	perform queue_send_many('jobs', array(select jsonb_build_object('n', n, 'tenant', 'tenant ' || n % 2) from generate_series(1, 10) as n), max_attempts => 1);
	perform queue_fail('jobs', id, attempt, error => case when payload ->> 'n' < '5' then 'mailbox full' else 'no such address' end)
	from queue_pop('jobs', 10);
	perform queue_send_many('jobs', array(select jsonb_build_object('n', n, 'tenant', 'tenant ' || n % 2) from generate_series(11, 20) as n));
	perform queue_pop('jobs', 10, worker => 'w');
	perform queue_send_many('jobs', array(select jsonb_build_object('n', n, 'tenant', 'tenant ' || n % 2) from generate_series(21, 30) as n), run_at => '2100-01-01');
	perform queue_send_many('jobs', array(select jsonb_build_object('n', n, 'tenant', 'tenant ' || n % 2) from generate_series(31, 40) as n));
end $$;

-- All dead with this error.
call refill();
call queue_requeue_where('jobs', $$last_error = arguments ->> 'error'$$, '{"error": "mailbox full"}');
select state, last_error, count(*), min(attempt) as attempt, min(max_attempts) as max_attempts from jobs_now() group by 1, 2 order by 1, 2;
-- It is repeated: they are dead no more.
call queue_requeue_where('jobs', $$last_error = arguments ->> 'error'$$, '{"error": "mailbox full"}');
-- Only dead ones are requeued, whatever the condition says.
call queue_requeue_where('jobs', 'true');
select * from queue_counts('jobs');

-- All of this tenant, in every state.
call refill();
call queue_cancel_where('jobs', $$payload ->> 'tenant' = arguments ->> 0$$, '["tenant 1"]', batch_size => 3);
select payload ->> 'tenant' as tenant, state, count(*) from jobs_now() group by 1, 2 order by 1, 2;
-- The state is a variable.
call queue_cancel_where('jobs', $$state = 'leased'$$);
call queue_cancel_where('jobs', $$state in ('scheduled', 'no such state') or call.state = 'dead'$$);
call queue_delete_where('jobs', $$state <> 'ready'$$);
call queue_delete_where('jobs', $$state = 'ready'$$, batch_size => 1);
select * from queue_counts('jobs');

-- Priority and time. Those that have them already are left alone.
call refill();
call queue_change_where('jobs', $$state = 'ready'$$, priority => 7);
call queue_change_where('jobs', $$state = 'ready'$$, priority => 7);
call queue_change_where('jobs', $$state = 'scheduled' and payload ->> 'tenant' = 'tenant 0'$$, run_at => '2000-01-01');
call queue_change_where('jobs', $$state = 'scheduled'$$, priority => -1, run_at => '2100-01-01');
call queue_change_where('jobs', $$priority = -1 and (payload ->> 'n')::integer > (arguments ->> 'least')::integer$$, '{"least": 25}', -2, '2100-01-02', 2);
select state, priority, count(*) from jobs_now() group by 1, 2 order by 1, 2;
-- A receipt stays good.
select count(queue_complete('jobs', id, attempt)) filter (where leased_by = 'w') from jobs where leased_until > now();

-- Each id once, though the condition stays true of it.
call refill();
create function more() returns trigger language plpgsql set search_path = test_queue_repair, public as $$ begin
	insert into jobs (payload, dead_at) values ('"more"', '2000-01-01');
	return null;
end $$;
create trigger more after update on jobs for each row execute function more();
create function again() returns trigger language plpgsql as $$ begin
	new.dead_at := '2000-01-01';
	return new;
end $$;
create trigger again before update on jobs for each row execute function again();
call queue_requeue_where('jobs', 'true', batch_size => 1);
select count(*) filter (where payload = '"more"') as more, count(*) as dead from jobs where dead_at < now();
drop trigger again on jobs;
-- A job that a trigger takes away from it is none.
create function spare() returns trigger language plpgsql as $$ begin
	return case when old.payload ->> 'n' = '3' then null else old end;
end $$;
create trigger spare before delete on jobs for each row execute function spare();
call queue_delete_where('jobs', '(payload ->> $q$n$q$)::integer < 6');
select * from jobs_now() where (payload ->> 'n')::integer < 7;
drop trigger spare on jobs;

drop trigger more on jobs;
-- More than a window, a batch, and a chunk; and none above the highest at the start.
create trigger more after update on jobs for each row when (new.payload = '1') execute function more();
truncate jobs;
insert into jobs (payload, dead_at) select to_jsonb(n), '2000-01-01' from generate_series(1, 25000) as n;
call queue_requeue_where('jobs', $$payload::integer % 5 <> 0$$, batch_size => 10000);
select count(*) filter (where dead_at is null) as requeued, count(*) as jobs, count(*) filter (where payload = '"more"' and dead_at is not null) as more from jobs;
drop trigger more on jobs;
call queue_delete_where('jobs', $$dead_at is null$$, batch_size => 77);
select count(*) as left from jobs;
truncate jobs;
call queue_cancel_where('jobs', 'true');

-- Cancelled jobs are archived, deleted ones are not.
select queue_create('kept', archive => true);
select count(*) from queue_send_many('kept', array_fill('{}'::jsonb, '{10}'));
call queue_cancel_where('kept', 'id <= 4');
call queue_delete_where('kept', 'id <= 8');
select state, count(*), bool_and(finished_at is not null) from kept_archive group by state;
select count(*) from kept;

-- A table of 0.1, and without the trigger: a session that has found it idle finds what was requeued.
select queue_create('old', archive => true);
select queue_detach('old');
alter table old drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
alter table old_archive drop claimed_at, drop kind, drop errors, drop progress, drop origin;
select queue_adopt('old');
drop trigger queue_ext_wake on old;
insert into old (payload, dead_at) select to_jsonb(n), '2000-01-01' from generate_series(1, 4) as n;
select count(*) from queue_pop('old'), generate_series(1, 3);
call queue_requeue_where('old', 'payload <> $$4$$');
select payload, attempt from queue_pop('old', 2);
call queue_change_where('old', 'true', run_at => '2100-01-01');
select count(*) from queue_pop('old');
call queue_change_where('old', $$state = 'scheduled'$$, run_at => '2000-01-01');
select payload, attempt from queue_pop('old');
call queue_cancel_where('old', 'true');
select state, attempt, payload from old_archive order by id;

-- What is counted.
select queue_create('counted');
do $$ begin
	perform queue_send_many('counted', array_fill('{}'::jsonb, '{10}'), max_attempts => 1);
	perform queue_fail('counted', id, attempt, 'no') from queue_pop('counted', 6);
end $$;
call queue_requeue_where('counted', 'true');
call queue_cancel_where('counted', 'id in (1, 2)');
call queue_change_where('counted', 'id in (3, 4)', priority => 1);
call queue_delete_where('counted', 'id in (5, 6)');
select sent, claimed, failed, retried, dead, cancelled, released, completed from queue_stats where queue = 'test_queue_repair.counted';

-- A null condition, of a job, is not true.
call queue_delete_where('counted', 'last_error <> null');
-- Columns of the table come after variables; qualified they are columns.
alter table counted add state integer default 5, add "Worker's" text default 'me';
call queue_change_where('counted', $$counted.state = 5 and state = 'ready' and "Worker's" = 'me'$$, priority => 3);
-- A sub-select reads other tables, and has names that statements have, too.
create table t (r bigint, state text, repaired_id integer);
insert into t values (7, 'ready', 0), (8, 'dead', 0);
call queue_change_where('counted', $$exists (select from t as r where r.r = counted.id and r.state = call.state)$$, priority => 4);
call queue_change_where('counted', $$id in (select r from t)$$, priority => 5);
select id, priority from counted order by id;
-- As the caller reads it: names by the search_path, and settings as for other fragments.
create function public.is_seven(bigint) returns boolean language sql return false;
create function is_seven(bigint) returns boolean language sql return $1 = 7;
set DateStyle = 'German, DMY';
call queue_change_where('counted', $$is_seven(id) and created_at > '02/01/2020'::date and '2020-02-01'::date = '02/01/2020'::date$$, priority => 6);
reset DateStyle;
select id, priority from counted where priority = 6;
drop function public.is_seven(bigint);
-- Operators that a construct does not name are PostgreSQL's, also in later batches.
create function is_never(bigint, integer) returns boolean language sql return false;
create operator = (leftarg = bigint, rightarg = integer, function = is_never);
set search_path = test_queue_repair, pg_catalog, public;
call queue_change_where('counted', $$nullif(id, 7) is null$$, priority => 7, batch_size => 1);
set search_path = pg_catalog, test_queue_repair, public;
call queue_change_where('counted', $$nullif(id, 7) is null$$, priority => 8, batch_size => 1);
set search_path = test_queue_repair, public;
drop operator test_queue_repair.= (bigint, integer);
drop function is_never(bigint, integer);
select id, priority from counted where priority in (7, 8);

-- The variable call_time, and no other ones of fragments.
call queue_delete_where('counted', 'created_at < call_time - interval $q$1 day$q$');
\set VERBOSITY sqlstate
call queue_delete_where('counted', 'lease is null');
call queue_delete_where('counted', 'call.worker is null');
\set VERBOSITY default

-- Bad conditions: nothing is done.
\set VERBOSITY sqlstate
select count(*) as jobs from counted;
call queue_delete_where('counted', '');
call queue_delete_where('counted', 'no_such_column = 1');
call queue_delete_where('counted', 'id');
call queue_delete_where('counted', 'id = 1; drop table counted');
call queue_delete_where('counted', 'true) or (true');
call queue_delete_where('counted', 'true) -- ');
call queue_delete_where('counted', 'where true');
call queue_delete_where('counted', 'true order by 1');
call queue_delete_where('counted', 'id = $1');
call queue_delete_where('counted', 'count(*) > 0');
call queue_delete_where('counted', 'id = generate_series(1, 2)');
call queue_delete_where('counted', 'exists (select from t for update)');
call queue_delete_where('counted', null);
call queue_delete_where(null, 'true');
call queue_delete_where('counted', 'true', null);
call queue_delete_where('counted', 'true', batch_size => null);
call queue_delete_where('counted', 'true', batch_size => 0);
call queue_delete_where('counted', 'true', batch_size => 10001);
call queue_delete_where('no_such_queue', 'true');
call queue_change_where('counted', 'true');
call queue_change_where('counted', 'true', priority => 32768);
select count(*) as jobs from counted;
\set VERBOSITY default
\set SHOW_CONTEXT errors
call queue_requeue_where('counted', 'no_such_column = 1');
\set SHOW_CONTEXT never
\set VERBOSITY sqlstate
call queue_change_where('counted', 'true');
-- An error of the condition: no job of its window is touched.
call queue_delete_where('counted', '1 / (9 - id) is not null', batch_size => 1);
\set VERBOSITY default
select array_agg(id order by id) from counted;
-- An error of the write: the batches before it are done.
create function keep() returns trigger language plpgsql as $$ begin
	if old.id = 9 then raise 'keep it'; end if;
	return old;
end $$;
create trigger keep before delete on counted for each row execute function keep();
call queue_delete_where('counted', 'id > 4', batch_size => 1);
select array_agg(id order by id) from counted;
drop trigger keep on counted;

-- Where it cannot commit.
\set VERBOSITY sqlstate
begin;
call queue_cancel_where('counted', 'true');
rollback;
create function in_function() returns bigint language plpgsql as $$ declare n bigint; begin call queue_cancel_where('counted', 'true', jobs => n); return n; end $$;
select in_function();
\set VERBOSITY default
do $$
declare
	n bigint;
begin
	call queue_cancel_where('counted', 'true', jobs => n);
exception when others then
	raise warning '%', sqlstate;
end $$;
-- In a procedure it can.
do $$
declare
	n bigint;
begin
	for i in 9 .. 10 loop
		call queue_cancel_where('counted', 'id = (arguments ->> 0)::bigint', jsonb_build_array(i), jobs => n);
		raise warning '% cancelled', n;
	end loop;
end $$;
set default_transaction_read_only = on;
\set VERBOSITY sqlstate
call queue_cancel_where('counted', 'true');
\set VERBOSITY default
reset default_transaction_read_only;
-- Every isolation level.
set default_transaction_isolation = 'repeatable read';
select count(queue_send('counted', '{}')) from generate_series(1, 4);
call queue_change_where('counted', 'true', priority => 2, batch_size => 1);
set default_transaction_isolation = 'serializable';
call queue_cancel_where('counted', 'id % 2 = 0', batch_size => 1);
reset default_transaction_isolation;
-- A queue of a table of its own.
create table own (id integer primary key, state text);
select queue_attach('own', 'own', $$state = 'new'$$, on_claim => $$state = 'done'$$);
\set VERBOSITY sqlstate
call queue_cancel_where('own', 'true');
\set VERBOSITY default

-- Rights, and row security.
create role regress_repair;
grant usage on schema test_queue_repair to regress_repair;
call refill();
set role regress_repair;
call queue_cancel_where('jobs', 'true');
reset role;
grant select, delete on jobs to regress_repair;
set role regress_repair;
call queue_requeue_where('jobs', 'true');
call queue_cancel_where('jobs', 'id in (select r from t)');
call queue_cancel_where('jobs', $$payload ->> 'n' = '31'$$);
reset role;
grant update on jobs to regress_repair;
alter table jobs enable row level security;
create policy own on jobs to regress_repair using (payload ->> 'tenant' = 'tenant 0');
-- Nor is a function of the condition shown what is hidden.
create function tell(jsonb) returns boolean language plpgsql cost 0.0001 as $$ begin
	if $1 ->> 'tenant' <> 'tenant 0' then raise warning 'leaked'; end if;
	return true;
end $$;
set role regress_repair;
call queue_requeue_where('jobs', 'tell(payload)');
call queue_delete_where('jobs', 'tell(payload)');
reset role;
select payload ->> 'tenant' as tenant, state, count(*) from jobs_now() group by 1, 2 order by 1, 2;

-- A queue in another schema, by its full name; after the call the session's settings are as before.
set search_path = public;
set lock_timeout = '7s';
call queue_cancel_where('test_queue_repair.jobs', $$state = 'dead'$$);
show search_path;
show lock_timeout;
reset lock_timeout;

set client_min_messages = error;
drop schema test_queue_repair cascade;
drop role regress_repair;
