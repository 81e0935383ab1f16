-- graphile-worker's tables (release 0.18), with their keys, indexes and generated columns. They have row
-- security without a policy: only their owner and superusers see a row. Not here: the crontabs.
create table _private_tasks (
	id integer primary key generated always as identity,
	identifier text not null unique check (length(identifier) <= 128)
);

create table _private_job_queues (
	id integer primary key generated always as identity,
	queue_name text not null unique check (length(queue_name) <= 128),
	locked_at timestamptz,
	locked_by text,
	is_available boolean generated always as (locked_at is null) stored not null
);

create table _private_jobs (
	id bigint primary key generated always as identity,
	job_queue_id integer,
	task_id integer not null,
	payload json not null default '{}',
	priority smallint not null default 0,
	run_at timestamptz not null default now(),
	attempts smallint not null default 0,
	max_attempts smallint not null default 25 check (max_attempts >= 1),
	last_error text,
	created_at timestamptz not null default now(),
	updated_at timestamptz not null default now(),
	key text unique check (length(key) > 0 and length(key) <= 512),
	locked_at timestamptz,
	locked_by text,
	revision integer not null default 0,
	flags jsonb,
	is_available boolean generated always as (locked_at is null and attempts < max_attempts) stored not null
);
create index on _private_jobs (priority, run_at) include (id, task_id, job_queue_id) where is_available = true;
create index on _private_jobs (priority, run_at) include (id, task_id)
where is_available = true and job_queue_id is null;

alter table _private_tasks enable row level security;
alter table _private_job_queues enable row level security;
alter table _private_jobs enable row level security;
