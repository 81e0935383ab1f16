-- The tables of other job systems, as their users have them: each is attached, and
-- its jobs are claimed, completed, failed and given back by the system's own rules.
-- With their columns and checks, and the indexes that a claim would use.
create schema test_adopt_peers;
set search_path = test_adopt_peers, public;
-- Systems that keep times without a zone mean UTC.
create function utc(moment timestamptz) returns timestamp
language sql immutable return moment at time zone 'UTC';

-- River: a state for everything. A job that fails is retried or, when its attempts
-- are used up, discarded; a check ties the state to the time of its end.
create type river_job_state as enum
	('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
create table river_job (
	id bigserial primary key,
	state river_job_state not null default 'available',
	attempt smallint not null default 0,
	max_attempts smallint not null default 25 check (max_attempts > 0),
	attempted_at timestamptz,
	created_at timestamptz not null default now(),
	finalized_at timestamptz,
	scheduled_at timestamptz not null default now(),
	priority smallint not null default 1 check (priority between 1 and 4),
	args jsonb not null,
	attempted_by text[],
	errors jsonb[],
	kind text not null check (length(kind) between 1 and 127),
	metadata jsonb not null default '{}',
	queue text not null default 'default' check (length(queue) between 1 and 127),
	tags varchar(255)[] not null default '{}',
	unique_key bytea,
	unique_states bit(8),
	constraint finalized_or_finalized_at_null check (
		(finalized_at is not null) = (state in ('cancelled', 'completed', 'discarded'))
	)
);
create function river_job_state_in_bitmask(mask bit(8), state river_job_state) returns boolean
language sql immutable return get_bit(mask, case state
	when 'available' then 7 when 'cancelled' then 6 when 'completed' then 5 when 'discarded' then 4
	when 'pending' then 3 when 'retryable' then 2 when 'running' then 1 else 0 end) = 1;
create index on river_job (kind);
create index on river_job (state, queue, priority, scheduled_at, id);
create index on river_job (state, finalized_at) where finalized_at is not null;
create index on river_job using gin (args);
create index on river_job using gin (metadata);
create unique index on river_job (unique_key)
where unique_key is not null and unique_states is not null and river_job_state_in_bitmask(unique_states, state);
insert into river_job (kind, args, priority, queue, max_attempts, scheduled_at) values
	('mail', '{}', 2, 'default', 25, now()),
	('mail', '{}', 1, 'default', 25, now()),
	('mail', '{}', 1, 'other', 25, now()),
	('mail', '{}', 1, 'default', 1, now() - interval '1 hour'),
	('mail', '{}', 1, 'default', 25, now() + interval '1 hour');
select queue_attach(
	'river', 'river_job',
	pending => $$state = 'available' and queue = 'default' and scheduled_at <= call_time$$,
	order_by => 'priority, scheduled_at, id',
	on_claim => $$state = 'running', attempt = attempt + 1, attempted_at = call_time,
		attempted_by = array_append(attempted_by, coalesce(worker, 'queue_ext'))$$,
	on_complete => $$state = 'completed', finalized_at = call_time$$,
	on_release => $$state = 'available', attempt = attempt - 1$$,
	on_fail => $$state = case when attempt >= max_attempts then 'discarded' else 'retryable' end::river_job_state,
		finalized_at = case when attempt >= max_attempts then call_time end, scheduled_at = retry_at,
		errors = array_append(errors, jsonb_build_object('attempt', attempt, 'error', error))$$
);
create temp table river (job river_job);
insert into river select j from queue_pop_rows(null::river_job, max_jobs => 2, worker => 'me') as j;
select (job).id, (job).state, (job).attempt, (job).attempted_by, (job).attempted_at is not null as at from river;
select queue_complete_row('river', job) from river where (job).id = 2;
select queue_fail_row('river', job, 'no answer', '1 minute') from river where (job).id = 4;
truncate river;
insert into river select j from queue_pop_rows(null::river_job, max_jobs => 2) as j;
-- River's client reads a name for each attempt: none of them may be null.
select (job).id, (job).attempted_by, array_position((job).attempted_by, null) as null_at from river;
select queue_release_row('river', job) from river;
update river set job = j from queue_pop_rows(null::river_job, worker => 'you') as j;
select queue_fail_row('river', job, 'no answer', '1 minute') from river;
select queue_complete_row('river', job) as has_failed from river;
select
	id, state, attempt, attempted_by, finalized_at is not null as ended, errors,
	scheduled_at - created_at between interval '50 seconds' and interval '59 minutes' as later
from river_job order by id;
-- What is retryable is not available: that is for River's scheduler to say.
select count(*) from queue_pop_rows(null::river_job);

-- graphile-worker: no state. Whether a job is available is a generated column; done
-- is deleted. A job of a named queue waits until that queue is not locked.
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/graphile_worker.sql
\set ECHO none
\i :layout
\set ECHO all
insert into _private_job_queues (queue_name, locked_at) values ('busy', now()), ('free', null);
insert into _private_jobs (task_id, job_queue_id, max_attempts, priority) values (1, 1, 2, 0), (1, 2, 2, 1), (2, null, 1, 2), (9, null, 1, 0);
create function is_free(job_queue_id integer) returns boolean language sql stable
begin atomic
	select job_queue_id is null or (select q.is_available from _private_job_queues as q where q.id = job_queue_id);
end;
select queue_attach(
	'graphile', '_private_jobs',
	pending => 'is_available and run_at <= call_time and task_id = any (''{1,2}''::integer[]) and is_free(job_queue_id)',
	order_by => 'priority, run_at',
	on_claim => 'attempts = attempts + 1, locked_by = worker, locked_at = call_time',
	on_release => 'attempts = attempts - 1, locked_at = null, locked_by = null',
	on_fail => 'locked_at = null, locked_by = null, last_error = error,
		run_at = greatest(call_time, run_at) + exp(least(attempts, 10)) * interval ''1 second'''
);
create temp table graphile (job _private_jobs);
insert into graphile select j from queue_pop_rows(null::_private_jobs, max_jobs => 9, worker => 'me') as j;
select (job).id, (job).attempts, (job).is_available, (job).locked_by from graphile;
select queue_complete_row('graphile', job) from graphile where (job).id = 2;
select queue_fail_row('graphile', job, 'boom') from graphile where (job).id = 3;
select id, attempts, is_available, locked_at is null as unlocked, last_error, run_at - created_at > interval '2 seconds' as later from _private_jobs order by id;
update _private_job_queues set locked_at = null;
truncate graphile;
insert into graphile select j from queue_pop_rows(null::_private_jobs) as j;
select (job).id, queue_fail_row('graphile', job, 'once') from graphile;
select id, attempts, is_available, run_at - created_at > interval '2 seconds' as later from _private_jobs order by id;
update _private_jobs set run_at = now();
select id, queue_release_row('graphile', j) from queue_pop_rows(null::_private_jobs) as j;
select id, attempts, is_available from _private_jobs order by id;

-- pgmq: a message that is read is invisible for a while. Done is deleted, or moved.
create table q_mail (
	msg_id bigint generated always as identity primary key,
	read_ct integer not null default 0,
	enqueued_at timestamptz not null default now(),
	last_read_at timestamptz,
	vt timestamptz not null,
	message jsonb,
	headers jsonb
);
create index on q_mail (vt);
insert into q_mail (vt, message) select now() + n * interval '1 hour', to_jsonb(n) from unnest('{0,0,1,0}'::integer[]) as n;
select queue_attach(
	'pgmq', 'q_mail',
	pending => 'vt <= call_time', order_by => 'msg_id',
	on_claim => 'vt = call_time + lease, read_ct = read_ct + 1, last_read_at = call_time',
	on_release => 'vt = call_time', on_fail => 'vt = retry_at', on_extend => 'vt = call_time + lease',
	lease => '1 hour'
);
create temp table pgmq (job q_mail);
insert into pgmq select j from queue_pop_rows(null::q_mail, max_jobs => 9) as j;
select (job).msg_id, (job).read_ct, (job).vt - (job).last_read_at as invisible from pgmq;
select queue_complete_row('pgmq', job) from pgmq where (job).msg_id = 1;
select queue_fail_row('pgmq', job, 'boom', '0') from pgmq where (job).msg_id = 2;
create temp table extended as select queue_extend_row('pgmq', job, '2 hours') as job from pgmq where (job).msg_id = 4;
select queue_release_row('pgmq', job) as old from pgmq where (job).msg_id = 4;
select (job).vt - (job).last_read_at >= '2 hours' as longer, queue_release_row('pgmq', job) as new from extended;
truncate pgmq;
insert into pgmq select j from queue_pop_rows(null::q_mail, max_jobs => 9, lease => '1 microsecond') as j;
select (job).msg_id, (job).read_ct from pgmq;
-- Visible again, so another reads it; the first one's receipt is worth nothing then.
insert into pgmq select j from queue_pop_rows(null::q_mail) as j;
select (job).msg_id, (job).read_ct, queue_complete_row('pgmq', job) from pgmq;

-- Oban: the state says whether a job may run, its own stager looks at the time. The
-- column "worker" is the job's kind; so in a fragment the name means that.
create type oban_job_state as enum
	('available', 'suspended', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled');
create table oban_jobs (
	id bigserial primary key,
	state oban_job_state not null default 'available',
	queue text not null default 'default' check (length(queue) between 1 and 127),
	worker text not null check (length(worker) between 1 and 127),
	args jsonb not null default '{}',
	errors jsonb[] not null default '{}',
	attempt integer not null default 0,
	max_attempts integer not null default 20 check (max_attempts > 0),
	inserted_at timestamp not null default (now() at time zone 'UTC'),
	scheduled_at timestamp not null default (now() at time zone 'UTC'),
	attempted_at timestamp,
	completed_at timestamp,
	attempted_by text[],
	discarded_at timestamp,
	priority integer not null default 0 check (priority >= 0),
	tags text[] default '{}',
	meta jsonb default '{}',
	cancelled_at timestamp,
	constraint attempt_range check (attempt between 0 and max_attempts)
);
create index on oban_jobs using gin (args);
create index on oban_jobs using gin (meta);
create index on oban_jobs (state, cancelled_at);
create index on oban_jobs (state, discarded_at);
create index on oban_jobs (state, queue, priority, scheduled_at, id);
insert into oban_jobs (worker, priority, max_attempts, scheduled_at) values
	('App.Mail', 1, 20, '2000-01-02'), ('App.Mail', 1, 1, '2000-01-01'), ('App.Mail', 0, 20, '2100-01-01'), ('App.Mail', 2, 20, '2000-01-01');
select queue_attach(
	'oban', 'oban_jobs',
	pending => $$state = 'available' and queue = 'default' and attempt < max_attempts$$,
	order_by => 'priority, scheduled_at, id',
	on_claim => $$state = 'executing', attempt = attempt + 1, attempted_at = utc(call_time),
		attempted_by = array[worker, current_setting('application_name')]$$,
	on_complete => $$state = 'completed', completed_at = utc(call_time)$$,
	on_release => $$state = 'available', attempt = attempt - 1$$,
	on_fail => $$state = case when attempt < max_attempts then 'retryable' else 'discarded' end::oban_job_state,
		scheduled_at = case when attempt < max_attempts then utc(retry_at) else scheduled_at end,
		discarded_at = case when attempt >= max_attempts then utc(call_time) end,
		errors = errors || jsonb_build_object('attempt', attempt, 'error', error)$$
);
set application_name = 'node-1';
create temp table oban (job oban_jobs);
insert into oban select j from queue_pop_rows(null::oban_jobs, max_jobs => 3, worker => 'nobody') as j;
select (job).id, (job).state, (job).attempt, (job).attempted_by from oban;
select queue_fail_row('oban', job, 'no answer', '1 hour') from oban where (job).id in (1, 2);
select queue_complete_row('oban', job) from oban where (job).id = 3;
select id, queue_release_row('oban', j) from queue_pop_rows(null::oban_jobs) as j;
select
	id, state, attempt, errors, scheduled_at > utc(now()) as later, completed_at is not null as completed,
	discarded_at is not null as discarded
from oban_jobs order by id;
reset application_name;

-- Que: nothing is written while a job runs, an advisory lock is held instead. State
-- follows from three times.
create function que_validate_tags(tags jsonb) returns boolean language sql as $$
	select bool_and(jsonb_typeof(value) = 'string' and length(value::text) <= 100) from jsonb_array_elements(tags)
$$;
create table que_jobs (
	priority smallint not null default 100,
	run_at timestamptz not null default now(),
	id bigserial primary key,
	job_class text not null check (length(case job_class
		when 'ActiveJob::QueueAdapters::QueAdapter::JobWrapper' then args -> 0 ->> 'job_class' else job_class end) <= 200),
	error_count integer not null default 0,
	last_error_message text check (length(last_error_message) <= 500),
	queue text not null default 'default' check (length(queue) <= 100),
	last_error_backtrace text check (length(last_error_backtrace) <= 10000),
	finished_at timestamptz,
	expired_at timestamptz,
	args jsonb not null default '[]' check (jsonb_typeof(args) = 'array'),
	data jsonb not null default '{}' check (jsonb_typeof(data) = 'object' and (not data ? 'tags' or (
		jsonb_typeof(data -> 'tags') = 'array' and jsonb_array_length(data -> 'tags') <= 5 and que_validate_tags(data -> 'tags')))),
	job_schema_version integer not null,
	kwargs jsonb not null default '{}'
) with (fillfactor = 90);
create index que_poll_idx on que_jobs (job_schema_version, queue, priority, run_at, id)
where finished_at is null and expired_at is null;
create index on que_jobs using gin (args jsonb_path_ops);
create index on que_jobs using gin (data jsonb_path_ops);
create index on que_jobs using gin (kwargs jsonb_path_ops);
-- Who listens is told of new jobs, and of all that changes.
create function que_notify() returns trigger language plpgsql as $$
begin
	perform pg_notify(tg_argv[0], json_build_object('id', coalesce(new.id, old.id), 'event', tg_op)::text);
	return null;
end $$;
create trigger que_job_notify after insert on que_jobs for each row
when (coalesce(current_setting('que.skip_notify', true), '') <> 'true') execute function que_notify('que_listener');
create trigger que_state_notify after insert or update or delete on que_jobs for each row
when (coalesce(current_setting('que.skip_notify', true), '') <> 'true') execute function que_notify('que_state');
insert into que_jobs (job_class, job_schema_version, priority, run_at) values
	('Mail', 2, 100, now()), ('Mail', 2, 50, now()), ('Mail', 1, 1, now()), ('Mail', 2, 100, now() - interval '1 hour'),
	('Mail', 2, 1, now() + interval '1 hour'), ('Mail', 2, 200, now());
select queue_attach(
	'que', 'que_jobs',
	pending => $$queue = 'default' and job_schema_version = 2 and run_at <= call_time
		and finished_at is null and expired_at is null$$,
	order_by => 'priority, run_at, id',
	claim_mode => 'session',
	on_complete => 'finished_at = call_time',
	on_fail => 'error_count = error_count + 1, run_at = retry_at, last_error_message = left(error, 500),
		expired_at = case when error_count >= 15 then call_time end'
);
create temp table que (job que_jobs);
insert into que select j from queue_pop_rows(null::que_jobs, max_jobs => 3) as j;
select (job).id, (job).error_count from que;
select count(*) as held from pg_locks where locktype = 'advisory' and classid = 'que_jobs'::regclass;
select queue_complete_row('que', job) from que where (job).id = 2;
select queue_fail_row('que', job, repeat('long ', 200), '1 hour') from que where (job).id = 4;
select queue_release_row('que', job) from que where (job).id = 1;
update que_jobs set error_count = 15 where id = 6;
truncate que;
insert into que select j from queue_pop_rows(null::que_jobs, max_jobs => 9) as j;
select (job).id, (job).error_count from que;
select queue_fail_row('que', job, 'the last', '0') from que where (job).id = 6;
select queue_complete_row('que', job) from que where (job).id = 1;
select
	id, error_count, length(last_error_message) as message, run_at > now() as later, finished_at is not null as finished,
	expired_at is not null as expired
from que_jobs order by id;
select count(*) from queue_pop_rows(null::que_jobs, max_jobs => 9);
select count(*) as held from pg_locks where locktype = 'advisory' and classid = 'que_jobs'::regclass;

-- GoodJob: an uuid as the key, an uuid for who has it, priorities that may be null,
-- times without a zone. Its column "error" hides the variable: a worker writes that
-- column itself, with the receipt still good.
create table good_jobs (
	id uuid primary key default gen_random_uuid(),
	queue_name text,
	priority integer,
	serialized_params jsonb,
	scheduled_at timestamp(6),
	performed_at timestamp(6),
	finished_at timestamp(6),
	error text,
	created_at timestamp(6) not null default (now() at time zone 'UTC'),
	updated_at timestamp(6) not null default (now() at time zone 'UTC'),
	active_job_id uuid,
	concurrency_key text,
	cron_key text,
	retried_good_job_id uuid,
	cron_at timestamp(6),
	batch_id uuid,
	batch_callback_id uuid,
	is_discrete boolean,
	executions_count integer,
	job_class text,
	error_event smallint,
	labels text[],
	locked_by_id uuid,
	locked_at timestamp(6),
	lock_type smallint
);
-- Of its two dozen indexes, those over what a claim writes or reads in order, and the unique one.
create index on good_jobs (priority nulls last, scheduled_at, id) where finished_at is null and locked_by_id is null;
create index on good_jobs (priority nulls last, scheduled_at) where finished_at is null and locked_by_id is null;
create index on good_jobs (priority, scheduled_at, id) where finished_at is null;
create index on good_jobs (priority nulls last, created_at) where finished_at is null;
create index on good_jobs (queue_name, scheduled_at, id) where finished_at is null;
create index on good_jobs (locked_by_id) where locked_by_id is not null;
create index on good_jobs (finished_at desc) where finished_at is not null and error is not null;
create index on good_jobs (id) where finished_at is null or error is not null;
create unique index on good_jobs (cron_key, cron_at) where cron_key is not null;
insert into good_jobs (id, queue_name, priority, scheduled_at) values
	('00000000-0000-0000-0000-000000000001', 'default', null, '2000-01-01'),
	('00000000-0000-0000-0000-000000000002', 'default', 10, '2000-01-02'),
	('00000000-0000-0000-0000-000000000003', 'default', 10, '2000-01-01'),
	('00000000-0000-0000-0000-000000000004', 'default', -1, '2100-01-01'),
	('00000000-0000-0000-0000-000000000005', 'default', 11, null);
select queue_attach(
	'good', 'good_jobs',
	pending => 'finished_at is null and locked_by_id is null and (scheduled_at is null or scheduled_at <= utc(call_time))',
	order_by => 'priority asc nulls last, scheduled_at, id',
	on_claim => 'locked_by_id = worker::uuid, locked_at = utc(call_time), lock_type = 1, performed_at = utc(call_time),
		executions_count = coalesce(executions_count, 0) + 1',
	on_complete => 'finished_at = utc(call_time), locked_by_id = null, locked_at = null, lock_type = null',
	on_release => 'locked_by_id = null, locked_at = null, lock_type = null, executions_count = executions_count - 1',
	on_fail => 'scheduled_at = utc(retry_at), locked_by_id = null, locked_at = null, lock_type = null, error_event = 4'
);
create temp table good (n serial, job good_jobs);
insert into good (job)
select j from queue_pop_rows(null::good_jobs, max_jobs => 9, worker => 'ffffffff-0000-0000-0000-000000000000') as j;
select right((job).id::text, 1) as id, (job).priority, left((job).locked_by_id::text, 8) as locked_by, (job).executions_count
from good order by n;
select queue_complete_row('good', job) from good where n = 1;
begin;
update good_jobs set error = 'Timeout' where id = (select (job).id from good where n = 2);
select queue_fail_row('good', job, 'unheard', '1 hour') from good where n = 2;
commit;
select queue_release_row('good', job) from good where n = 3;
select
	right(id::text, 1) as id, finished_at is not null as finished, error, executions_count, locked_by_id is not null as locked,
	scheduled_at > utc(now()) and scheduled_at < '2100-01-01' as later
from good_jobs order by id;
-- A worker that has no uuid to give leaves the job unlocked, and so pending.
\set VERBOSITY sqlstate
select count(*) from queue_pop_rows(null::good_jobs);
\set VERBOSITY default
select right(id::text, 1) as id
from queue_pop_rows(null::good_jobs, worker => 'ffffffff-0000-0000-0000-000000000001') as j;

select queue::text, source::text, claim_mode from queues where queue like 'test_adopt_peers.%' order by 1;
set client_min_messages = warning;
drop schema test_adopt_peers cascade;
