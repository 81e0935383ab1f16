create type @extschema@.queue_any_job as (
	queue text,
	id bigint,
	attempt integer,
	payload jsonb,
	priority smallint,
	run_at timestamptz,
	max_attempts integer,
	leased_until timestamptz,
	leased_by text,
	last_error text,
	created_at timestamptz,
	kind text
);

comment on type @extschema@.queue_any_job is
	'a job of one of several queues: the queue''s name, and the attributes of queue_job';

create function @extschema@.queue_pop_any(
	queues text[],
	max_jobs integer default 1,
	lease interval default null,
	worker text default null,
	kinds text[] default null,
	weights integer[] default null
) returns setof @extschema@.queue_any_job
language c volatile parallel unsafe rows 1
as 'MODULE_PATHNAME', 'queue_ext_queue_pop_any';

comment on function @extschema@.queue_pop_any(text[], integer, interval, text, text[], integer[]) is
	'claims up to max_jobs jobs of the first of the queues that has any, then of the next; weights: in an order by chance';
