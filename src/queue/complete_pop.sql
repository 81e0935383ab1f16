create function @extschema@.queue_complete_pop(
	queue text,
	done_id bigint,
	done_attempt integer,
	lease interval default null,
	worker text default null,
	kinds text[] default null,
	result jsonb default null,
	out completed boolean,
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
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_pop';

comment on function @extschema@.queue_complete_pop(text, bigint, integer, interval, text, text[], jsonb) is
	'completes a job and claims the next one; a stale receipt claims nothing; nulls: only claims';
