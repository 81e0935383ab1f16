create function @extschema@.queue_send(
	queue text,
	payload jsonb,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	expires_at timestamptz default null,
	expires_in interval default null
) returns bigint
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_send';

comment on function @extschema@.queue_send(text, jsonb, integer, timestamptz, integer, text, timestamptz, interval) is
	'adds a job to a queue and returns its id';

create function @extschema@.queue_send_many(
	queue text,
	payloads jsonb[],
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	expires_at timestamptz default null,
	expires_in interval default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_send_many';

comment on function @extschema@.queue_send_many(text, jsonb[], integer, timestamptz, integer, text, timestamptz, interval) is
	'adds a job for each payload and returns their ids in the same order';
