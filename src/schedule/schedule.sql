-- The schedules of recurring jobs. The library writes the table without the executor, after it has
-- checked the caller's privileges on the queue's table; only the extension's owner has rights on it.

create table @extschema@.queue_schedule_definition (
	source regclass not null,
	name text collate "C" not null,
	every interval,
	cron text collate "C",
	time_zone text collate "C" not null,
	missed text collate "C" not null,
	payload jsonb not null,
	priority smallint not null,
	max_attempts integer,
	kind text collate "C",
	starts_at timestamptz,
	next_run_at timestamptz not null,
	job bigint,
	last_claimed_at timestamptz,
	created_at timestamptz not null,
	constraint queue_schedule_definition_pkey primary key (source, name)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index queue_schedule_definition_next_idx
	on @extschema@.queue_schedule_definition (source, next_run_at);
create index queue_schedule_definition_job_idx on @extschema@.queue_schedule_definition (source, job);

revoke all on @extschema@.queue_schedule_definition from public;

comment on table @extschema@.queue_schedule_definition is
	'schedules of recurring jobs; written by the functions of queue_ext only';

select pg_catalog.pg_extension_config_dump('@extschema@.queue_schedule_definition',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source'
	' and c.relpersistence operator(pg_catalog.<>) ''t'')');

create view @extschema@.queue_schedules with (security_barrier) as
select
	pg_catalog.format('%I.%I', n.nspname, d.name) as queue,
	s.name,
	s.every,
	s.cron,
	s.time_zone,
	s.missed,
	case
		when pg_catalog.has_table_privilege(s.source, 'select')
			and not pg_catalog.row_security_active(s.source)
		then s.payload
	end as payload,
	s.next_run_at,
	s.last_claimed_at,
	s.job
from @extschema@.queue_schedule_definition s
join @extschema@.queue_definition d on d.source operator(pg_catalog.=) s.source and d.managed
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) s.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace;

revoke all on @extschema@.queue_schedules from public;
grant select on @extschema@.queue_schedules to public;

comment on view @extschema@.queue_schedules is
	'schedules of recurring jobs; payload is null for roles that may not read the jobs of the queue';

create function @extschema@.queue_schedule(
	queue text,
	name text,
	every interval default null,
	cron text default null,
	payload jsonb default '{}',
	time_zone text default 'UTC',
	missed text default 'once',
	starts_at timestamptz default null,
	priority integer default 0,
	max_attempts integer default null,
	kind text default null
) returns timestamptz
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_schedule';

comment on function @extschema@.queue_schedule(
	text, text, interval, text, jsonb, text, text, timestamptz, integer, integer, text
) is
	'makes a job recur in a queue, or changes how it does, and returns the time of its next occurrence';

create function @extschema@.queue_unschedule(queue text, name text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unschedule';

comment on function @extschema@.queue_unschedule(text, text) is
	'ends a schedule and removes the occurrence that no worker has taken; false if there is none';
