-- The table of a managed queue as 0.1 made it, and with it its archive: queue_adopt takes them as they
-- are. The variable "queue" is the table's name.
\set archive :queue _archive
create table :"queue" (
	id bigint generated always as identity primary key,
	run_at timestamptz not null default now(),
	created_at timestamptz not null default now(),
	leased_until timestamptz,
	dead_at timestamptz,
	attempt integer not null default 0,
	max_attempts integer not null default 25 check (max_attempts >= 1),
	priority smallint not null default 0,
	leased_by text,
	last_error text,
	payload jsonb not null,
	unique_key text collate "C"
) with (fillfactor = 45,
	autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
	autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1,
	autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off,
	toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 1000,
	toast.autovacuum_vacuum_cost_delay = 0, toast.vacuum_truncate = off);
create index on :"queue" (priority, run_at, id) where dead_at is null;
create index on :"queue" (unique_key) where unique_key is not null;
create table :"archive" (
	id bigint primary key,
	run_at timestamptz not null,
	created_at timestamptz not null,
	finished_at timestamptz not null,
	attempt integer not null,
	max_attempts integer not null,
	priority smallint not null,
	state text not null,
	leased_by text,
	last_error text,
	payload jsonb not null
);
