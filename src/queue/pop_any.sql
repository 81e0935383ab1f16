create function @extschema@.queue_pop_any(
	queues text[],
	max_jobs integer default 1,
	lease interval default null,
	worker text default null,
	kinds text[] default null,
	weights integer[] default null,
	out queue text,
	out id bigint,
	out attempt integer,
	out payload jsonb,
	out priority smallint,
	out run_at timestamptz,
	out max_attempts integer,
	out leased_until timestamptz,
	out leased_by text,
	out last_error text,
	out created_at timestamptz,
	out kind text
) returns setof record
language c volatile parallel unsafe rows 1
as 'MODULE_PATHNAME', 'queue_ext_queue_pop_any';

comment on function @extschema@.queue_pop_any(text[], integer, interval, text, text[], integer[]) is
	'claims up to max_jobs jobs of the first of the queues that has any, then of the next; weights: in an order by chance';
