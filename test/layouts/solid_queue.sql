-- Solid Queue's tables (release 1.5) that a job passes through: a row in one of the "executions" is its
-- state. Not here: recurring tasks, semaphores and pauses.
create table solid_queue_jobs (
	id bigserial primary key,
	queue_name varchar not null,
	class_name varchar not null,
	arguments text,
	priority integer not null default 0,
	active_job_id varchar,
	scheduled_at timestamp(6),
	finished_at timestamp(6),
	concurrency_key varchar,
	created_at timestamp(6) not null,
	updated_at timestamp(6) not null
);
create index on solid_queue_jobs (active_job_id);
create index on solid_queue_jobs (class_name);
create index on solid_queue_jobs (finished_at);
create index on solid_queue_jobs (queue_name, finished_at);
create index on solid_queue_jobs (scheduled_at, finished_at);

create table solid_queue_processes (
	id bigserial primary key,
	kind varchar not null,
	last_heartbeat_at timestamp(6) not null,
	supervisor_id bigint,
	pid integer not null,
	hostname varchar,
	metadata text,
	created_at timestamp(6) not null,
	name varchar not null
);
create index on solid_queue_processes (last_heartbeat_at);
create unique index on solid_queue_processes (name, supervisor_id);
create index on solid_queue_processes (supervisor_id);

create table solid_queue_ready_executions (
	id bigserial primary key,
	job_id bigint not null references solid_queue_jobs on delete cascade,
	queue_name varchar not null,
	priority integer not null default 0,
	created_at timestamp(6) not null
);
create unique index on solid_queue_ready_executions (job_id);
create index on solid_queue_ready_executions (priority, job_id);
create index on solid_queue_ready_executions (queue_name, priority, job_id);

create table solid_queue_claimed_executions (
	id bigserial primary key,
	job_id bigint not null references solid_queue_jobs on delete cascade,
	process_id bigint,
	created_at timestamp(6) not null
);
create unique index on solid_queue_claimed_executions (job_id);
create index on solid_queue_claimed_executions (process_id, job_id);

create table solid_queue_failed_executions (
	id bigserial primary key,
	job_id bigint not null references solid_queue_jobs on delete cascade,
	error text,
	created_at timestamp(6) not null
);
create unique index on solid_queue_failed_executions (job_id);

create table solid_queue_scheduled_executions (
	id bigserial primary key,
	job_id bigint not null references solid_queue_jobs on delete cascade,
	queue_name varchar not null,
	priority integer not null default 0,
	scheduled_at timestamp(6) not null,
	created_at timestamp(6) not null
);
create unique index on solid_queue_scheduled_executions (job_id);
create index on solid_queue_scheduled_executions (scheduled_at, priority, job_id);

create table solid_queue_blocked_executions (
	id bigserial primary key,
	job_id bigint not null references solid_queue_jobs on delete cascade,
	queue_name varchar not null,
	priority integer not null default 0,
	concurrency_key varchar not null,
	expires_at timestamp(6) not null,
	created_at timestamp(6) not null
);
create unique index on solid_queue_blocked_executions (job_id);
create index on solid_queue_blocked_executions (concurrency_key, priority, job_id);
create index on solid_queue_blocked_executions (expires_at, concurrency_key);
