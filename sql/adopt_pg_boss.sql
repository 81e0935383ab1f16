-- pg-boss's tables as its migrations make them, partitioned by the queue: jobs of a queue are claimed and
-- finished as pg-boss does, also under the policies of queues that a claim must keep.
create schema test_adopt_pg_boss;
set search_path = test_adopt_pg_boss, public;
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/pg_boss.sql
\set ECHO none
\i :layout
\set ECHO all
call make_queue('mail');
call make_queue('fast', partition => true);
call make_queue('one', 'singleton');
call make_queue('turns', 'stately', partition => true);
call make_queue('fifo', 'key_strict_fifo');

-- What a claim and its end write, for all queues. No index warning: not for the table with all queues, nor
-- for the partition that has the queue, which is where pg-boss itself fetches.
create function attach(queue text, source regclass, name text, condition text default '') returns void
language sql as $$
	select queue_attach(
		queue, source,
		pending => format($f$name = %L and state < 'active' and not blocked and start_after <= call_time %s$f$,
			name, condition),
		order_by => 'priority desc, created_on',
		on_claim => $f$state = 'active', started_on = call_time, heartbeat_on = call_time,
			retry_count = case when started_on is null then retry_count else retry_count + 1 end$f$,
		on_complete => $f$state = 'completed', completed_on = call_time$f$,
		on_release => $f$state = 'retry', started_on = null, heartbeat_on = null,
			start_after = coalesce(retry_at, start_after)$f$,
		on_fail => $f$state = case when retry_count < retry_limit then 'retry' else 'failed' end::job_state,
			completed_on = case when retry_count < retry_limit then null else call_time end,
			start_after = case when retry_count < retry_limit then call_time + interval '1 second' * case
				when retry_backoff then least(retry_delay_max,
					greatest(retry_delay, 1) * 2 ^ least(16, retry_count + 1) * (1 + random()) / 2)
				else retry_delay end else start_after end,
			heartbeat_on = null, output = jsonb_build_object('message', error)$f$,
		on_extend => 'heartbeat_on = call_time'
	);
$$;
select attach('mail', 'job', 'mail'), attach('fast', 'job', 'fast');
select attach(name || '_leaf', table_name::regclass, name) from queue where name in ('mail', 'fast') order by name;

insert into job (name, data, priority, retry_limit, retry_delay, start_after, blocked, created_on)
select name, to_jsonb(data), priority, retry_limit, 100000000, now() + start * interval '1 year', blocked, now() + data * interval '1 ms'
from (values
	('mail', 1, 0, 2, 0, false), ('mail', 2, 5, 2, 0, false), ('mail', 3, 0, 0, 0, false), ('mail', 4, 9, 2, 1, false),
	('mail', 5, 9, 2, 0, true), ('fast', 6, 0, 2, 0, false), ('fast', 7, 1, 2, 0, false)
) as v (name, data, priority, retry_limit, start, blocked);

create temp table taken (n serial, job job);
insert into taken (job) select j from queue_pop_rows(null::job, 'mail', 9) as j;
insert into taken (job) select j from queue_pop_rows(null::job, 'fast', 9) as j;
select
	(job).name, (job).data, (job).state, (job).retry_count, (job).started_on is not null as started,
	(job).heartbeat_on = (job).started_on as beats
from taken order by n;
select queue_complete_row('mail', job) from taken where (job).data = '2';
select queue_fail_row('mail', job, 'no answer') from taken where (job).data in ('1', '3') order by n;
select queue_release_row('fast', job) from taken where (job).data = '7';
update taken set job = queue_extend_row('fast', job) where (job).data = '6';
select queue_complete_row('fast', job) from taken where (job).data = '6';
select
	name, data, state, retry_count, started_on is null as as_new, completed_on is not null as ended, output,
	start_after > now() + interval '1 year' as later
from job order by data;
-- The released one is as it was: no retry is counted, while a second fetch of the failed one counts one.
update job set start_after = now() where data = '1';
select name, data, retry_count from queue_pop_rows(null::job, 'mail') as j
union all select name, data, retry_count from queue_pop_rows(null::job, 'fast') as j;
-- The end of a claim through the partition is the same.
update job set state = 'retry' where state = 'active';
select name, data, queue_complete_row('mail_leaf', j) from queue_pop_rows(null::job_common, 'mail_leaf') as j;
select format('select name, data, queue_complete_row(''fast_leaf'', j) from queue_pop_rows(null::%I, ''fast_leaf'') as j', table_name)
from queue where name = 'fast' \gexec
select count(*) from queue_pop_rows(null::job, 'mail', 9) union all select count(*) from queue_pop_rows(null::job, 'fast', 9);
-- A job of no queue is refused at the commit.
\set VERBOSITY sqlstate
begin;
insert into job (name) values ('nowhere');
commit;
\set VERBOSITY default

-- Policy singleton: one of each key is active; jobs without a key are of one key. One job a pop.
select attach('one', 'job', 'one', $$and not exists (select from job as other where other.name = job.name
	and other.state = 'active' and coalesce(other.singleton_key, '') = coalesce(job.singleton_key, ''))$$);
insert into job (name, policy, data, singleton_key, created_on)
select 'one', 'singleton', to_jsonb(n), case when n < 4 then 'ann' when n < 6 then 'bob' end, now() + n * interval '1 ms'
from generate_series(1, 7) as n;
truncate taken;
do $$
begin
	for n in 1..7 loop
		insert into taken (job) select j from queue_pop_rows(null::job, 'one') as j;
	end loop;
end $$;
select (job).data, (job).singleton_key, queue_complete_row('one', job) from taken order by n;
select data, singleton_key from queue_pop_rows(null::job, 'one') as j;
-- With more, two of a key would be claimed together: the index of the policy refuses that. (23505)
insert into job (name, policy, singleton_key) values ('one', 'singleton', 'cyd'), ('one', 'singleton', 'cyd');
\set VERBOSITY sqlstate
select count(*) from queue_pop_rows(null::job, 'one', 9) as j;
\set VERBOSITY default

-- Policy stately: one of each key in each state.
select attach('turns', 'job', 'turns', $$and not exists (select from job as other where other.name = job.name
	and other.state = 'active' and coalesce(other.singleton_key, '') = coalesce(job.singleton_key, ''))$$);
insert into job (name, policy, data, singleton_key) values ('turns', 'stately', '1', 'ann');
select data from queue_pop_rows(null::job, 'turns') as j;
insert into job (name, policy, data, singleton_key) values ('turns', 'stately', '2', 'ann');
select count(*) from queue_pop_rows(null::job, 'turns') as j;
select queue_complete_row('turns', j) from job as j where name = 'turns' and state = 'active';
select data from queue_pop_rows(null::job, 'turns') as j;

-- Policy key_strict_fifo: none of a key before the one ahead of it is completed, or has failed and been
-- removed; a job that is to be retried comes first.
select attach('fifo', 'job', 'fifo', $$and not exists (select from job as other where other.name = job.name
	and other.policy = 'key_strict_fifo' and other.singleton_key = job.singleton_key and other.id <> job.id
	and (other.state in ('active', 'retry', 'failed')
		or (other.state = 'created' and job.state = 'created' and not other.blocked and other.start_after <= call_time
			and (other.created_on, other.id) < (job.created_on, job.id))))$$);
insert into job (name, policy, data, singleton_key, created_on, retry_limit)
select 'fifo', 'key_strict_fifo', to_jsonb(n), 'key ' || n % 2, now() + n * interval '1 ms', 1 from generate_series(1, 6) as n;
truncate taken;
insert into taken (job) select j from queue_pop_rows(null::job, 'fifo', 9) as j;
select (job).data, (job).singleton_key from taken order by n;
select queue_complete_row('fifo', job) from taken where (job).data = '1';
select queue_fail_row('fifo', job, 'no answer') from taken where (job).data = '2';
select data, state, retry_count from queue_pop_rows(null::job, 'fifo', 9) as j order by data;
select queue_fail_row('fifo', j, 'no answer') from job as j where name = 'fifo' and data = '2';
select count(*) from queue_pop_rows(null::job, 'fifo', 9) as j;
delete from job where name = 'fifo' and state = 'failed';
select data, state from queue_pop_rows(null::job, 'fifo', 9) as j order by data;

set client_min_messages = warning;
drop schema test_adopt_pg_boss cascade;
