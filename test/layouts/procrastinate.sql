-- Procrastinate's tables, as the migrations up to 3.4 (release 3.9) leave them: columns, keys, indexes,
-- and what the triggers do at which event. The triggers' names and functions are ours.
create type procrastinate_job_status as enum
	('todo', 'doing', 'succeeded', 'failed', 'cancelled', 'aborting', 'aborted');
create type procrastinate_job_event_type as enum
	('deferred', 'started', 'deferred_for_retry', 'failed', 'succeeded', 'cancelled', 'abort_requested',
	 'aborted', 'scheduled', 'retried');

create table procrastinate_workers (
	id bigint primary key generated always as identity,
	last_heartbeat timestamptz not null default now()
);
create index on procrastinate_workers (last_heartbeat);

create table procrastinate_jobs (
	id bigserial primary key,
	queue_name varchar(128) not null,
	task_name varchar(128) not null,
	priority integer not null default 0,
	lock text,
	queueing_lock text,
	args jsonb not null default '{}',
	status procrastinate_job_status not null default 'todo',
	scheduled_at timestamptz,
	attempts integer not null default 0,
	abort_requested boolean not null default false,
	worker_id bigint references procrastinate_workers (id) on delete set null,
	check (not (status = 'todo' and abort_requested))
);
create unique index on procrastinate_jobs (queueing_lock) where status = 'todo';
create unique index on procrastinate_jobs (lock) where status = 'doing';
create index on procrastinate_jobs (worker_id) where worker_id is not null and status = 'doing';
create index on procrastinate_jobs (queue_name);
create index on procrastinate_jobs (id, lock) where status in ('todo', 'doing');
create index on procrastinate_jobs (priority desc, id) where status = 'todo';

create table procrastinate_periodic_defers (
	id bigserial primary key,
	task_name varchar(128) not null,
	defer_timestamp bigint,
	job_id bigint references procrastinate_jobs (id),
	periodic_id varchar(128) not null default '',
	unique (task_name, periodic_id, defer_timestamp)
);
create index on procrastinate_periodic_defers (job_id);

create table procrastinate_events (
	id bigserial primary key,
	job_id bigint not null references procrastinate_jobs on delete cascade,
	type procrastinate_job_event_type,
	at timestamptz default now()
);
create index on procrastinate_events (job_id);

-- Tells the listeners of the job's queue, and those of all queues.
create function tell_listeners() returns trigger language plpgsql as $$
declare
	message text := json_build_object('type', tg_argv[0], 'job_id', new.id);
begin
	perform pg_notify('procrastinate_queue_v1#' || new.queue_name, message);
	perform pg_notify('procrastinate_any_queue_v1', message);
	return new;
end $$;

create function log_event() returns trigger language plpgsql as $$
begin
	insert into procrastinate_events (job_id, type) values (new.id, tg_argv[0]::procrastinate_job_event_type);
	return new;
end $$;

create function log_schedule() returns trigger language plpgsql as $$
begin
	insert into procrastinate_events (job_id, type, at) values (new.id, 'scheduled', new.scheduled_at);
	return new;
end $$;

create function log_status() returns trigger language plpgsql as $$
declare
	event procrastinate_job_event_type := case
		when old.status = 'todo' and new.status = 'doing' then 'started'
		when old.status = 'todo' and new.status in ('cancelled', 'failed', 'succeeded') then 'cancelled'
		when old.status = 'doing' and new.status = 'todo' then 'deferred_for_retry'
		when old.status = 'doing' and new.status = 'failed' then 'failed'
		when old.status = 'doing' and new.status = 'succeeded' then 'succeeded'
		when old.status = 'doing' and new.status = 'aborted' then 'aborted'
		when old.status = 'failed' and new.status = 'todo' then 'retried'
	end;
begin
	if event is not null then
		insert into procrastinate_events (job_id, type) values (new.id, event);
	end if;
	return new;
end $$;

create function unlink_periodic() returns trigger language plpgsql as $$
begin
	update procrastinate_periodic_defers set job_id = null where job_id = old.id;
	return old;
end $$;

create trigger tell_inserted after insert on procrastinate_jobs
for each row when (new.status = 'todo') execute function tell_listeners('job_inserted');
create trigger tell_abort after update of abort_requested on procrastinate_jobs
for each row when (not old.abort_requested and new.abort_requested and new.status = 'doing')
execute function tell_listeners('abort_job_requested');
create trigger log_status after update of status on procrastinate_jobs
for each row execute function log_status();
create trigger log_deferred after insert on procrastinate_jobs
for each row when (new.status = 'todo') execute function log_event('deferred');
create trigger log_schedule after insert or update on procrastinate_jobs
for each row when (new.scheduled_at is not null and new.status = 'todo') execute function log_schedule();
create trigger log_abort after update of abort_requested on procrastinate_jobs
for each row when (new.abort_requested) execute function log_event('abort_requested');
create trigger unlink_periodic before delete on procrastinate_jobs
for each row execute function unlink_periodic();

-- Which job its own worker takes next, and what it writes: procrastinate_fetch_job_v2.
create function fetch_job(queues text[], worker bigint) returns procrastinate_jobs language plpgsql as $$
declare
	fetched procrastinate_jobs;
begin
	with candidate as (
		select job.id from procrastinate_jobs as job
		where not exists (
				select from procrastinate_jobs as other
				where job.lock is not null and other.lock = job.lock and (
					other.status = 'doing'
					or (other.status = 'todo' and (
						other.priority > job.priority
						or (other.priority = job.priority and other.id < job.id)
					))
				)
			)
			and job.status = 'todo' and (queues is null or job.queue_name = any (queues))
			and (job.scheduled_at is null or job.scheduled_at <= now())
		order by job.priority desc, job.id limit 1
		for update of job skip locked
	)
	update procrastinate_jobs as job set status = 'doing', worker_id = worker
	from candidate where job.id = candidate.id
	returning job.* into fetched;
	return fetched;
end $$;
