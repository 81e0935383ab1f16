-- Isolation levels, read-only transactions, subtransactions, procedures.
set client_min_messages = warning;
create schema test_transaction;
set search_path = test_transaction, public;
select queue_create('jobs', archive => true);

-- Every level does the same.
create procedure live() language plpgsql as $$
declare
	job queue_job;
begin
	perform queue_send('jobs', '1');
	perform queue_send_many('jobs', '{2,3,4}');
	select * into job from queue_pop('jobs');
	assert job.attempt = 1;
	assert queue_extend('jobs', job.id, 1);
	assert queue_release('jobs', job.id, 1);
	assert not queue_complete('jobs', job.id, 1);
	select * into job from queue_pop('jobs');
	assert job.attempt = 2;
	assert queue_fail('jobs', job.id, 2, retry_in => '0');
	assert (select count(*) from queue_pop('jobs', 10)) = 4;
	assert (select count(*) from queue_pop('jobs', 10)) = 0;
	assert queue_complete('jobs', job.id, 3);
	assert (select count(*) from queue_complete_many(
		'jobs',
		array(select id from jobs),
		array(select attempt from jobs)
	)) = 3;
	assert (select count(*) from jobs) = 0;
end $$;
call live();
begin isolation level repeatable read;
call live();
commit;
begin isolation level serializable;
call live();
commit;
select count(*) as archived from jobs_archive;

-- What the transaction itself has sent it pops, whatever its snapshot.
begin isolation level repeatable read;
select count(*) as jobs from jobs;
select queue_send('jobs', '"seen"') is not null as sent;
select payload from queue_pop('jobs');
rollback;

-- A read-only transaction: PostgreSQL's own error from every function that writes.
\set VERBOSITY sqlstate
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
begin read only;
select distinct p.proname as function,
       error_of(format('%s %s(%s)', case p.prokind when 'p' then 'call' else 'select' end, p.proname, (
           select string_agg(case when n = 1 and type = 'text'::regtype then '''jobs'''
                                  when type = 'anyelement'::regtype then 'null::jobs'
                                  when type = 'anyarray'::regtype then 'null::jobs[]'
                                  when p.proisstrict then case when type = 'interval'::regtype then '''1 hour''' else '''1''' end
                                  else 'null' end, ', ' order by n)
           from unnest(p.proargtypes) with ordinality as a(type, n)))) as error
from pg_proc p
join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
join pg_extension e on e.oid = d.refobjid and e.extname = 'queue_ext' and p.prorettype <> 'trigger'::regtype
where p.provolatile = 'v' and p.proname not in ('queue_counts', 'queue_result', 'queue_is_held', 'queue_lock', 'queue_try_lock', 'queue_receipt', 'queue_unique_key', 'queue_health') and p.proname not like 'queue_claim_%' and p.proname not like 'queue_stats_%'
order by 1;
select count(*) as queues from queues where queue = 'test_transaction.jobs';
commit;

-- An error in a subtransaction leaves nothing behind, and the queue usable.
select queue_send('jobs', '"survives"') is not null as sent;
do $$
begin
	perform queue_pop('jobs');
	raise division_by_zero;
exception when division_by_zero then
	perform queue_alter('jobs', lease => '2 hours');
	perform queue_pop('jobs');
end $$;
select attempt, leased_until > now() + interval '1 hour' as new_lease from jobs;
do $$
begin
	perform queue_drop('jobs');
	raise division_by_zero;
exception when division_by_zero then
	perform queue_complete('jobs', id, 1) from jobs;
end $$;
select count(*) as jobs from jobs;

-- A procedure that commits between a claim and its end.
create procedure work() language plpgsql as $$
declare
	job queue_job;
begin
	loop
		select * into job from queue_pop('jobs');
		exit when not found;
		commit;
		if job.payload = '2' then
			perform queue_fail('jobs', job.id, job.attempt, retry_in => '1 day');
			rollback;
			perform queue_cancel('jobs', job.id);
		else
			perform queue_complete('jobs', job.id, job.attempt);
		end if;
		commit;
	end loop;
end $$;
truncate jobs_archive;
select count(*) from queue_send_many('jobs', '{1,2,3}');
call work();
select payload, state from jobs_archive order by id;

-- The table changes while a transaction uses the queue.
begin;
select queue_send('jobs', '"changed"') is not null as sent;
alter table jobs add column note text default 'new';
select payload from queue_pop('jobs');
alter table jobs rename to tasks;
select queue_complete('jobs', id, 1) from tasks;
select count(*) as left_behind from tasks;
commit;

-- A row that the transaction itself has locked is not another's.
select queue_create('own');
create table lines (id integer primary key, done boolean not null default false);
create index on lines (id) where not done;
insert into lines values (1);
select queue_attach('lines', 'lines', 'not done', 'id', 'done = true');
select queue_send('own', '1') is not null as sent;
begin;
select payload from own for update;
select payload from queue_pop('own');
select id from lines for update;
select id from queue_pop_rows(null::lines, 'lines');
commit;

drop schema test_transaction cascade;
