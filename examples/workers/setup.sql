-- What the workers of this directory need: a queue, and a table for what their jobs have printed.
--
--   psql -v queue=chores -f setup.sql

create extension if not exists queue_ext;
select queue_create(:'queue', lease => '30 seconds', max_attempts => 10);
create table if not exists job_results (
	queue text not null,
	job bigint not null,
	attempt integer not null,
	worker text not null,
	output text not null,
	at timestamptz not null default clock_timestamp()
);
