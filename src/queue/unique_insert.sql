create function @extschema@.queue_unique_insert(
	queue text,
	payload jsonb,
	unique_by text[] default null,
	period interval default null,
	states text[] default null,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	time_zone text default null,
	on_conflict text default 'keep',
	max_delay interval default null,
	expires_at timestamptz default null,
	expires_in interval default null,
	out id bigint,
	out inserted boolean,
	out outcome text
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert';

comment on function @extschema@.queue_unique_insert(text, jsonb, text[], interval, text[], integer, timestamptz, integer, text, text, text, interval, timestamptz, interval) is
	'adds a job to a queue unless it is there already, or replaces or postpones the one that waits; returns its id and what happened';

create function @extschema@.queue_unique_insert_many(
	queue text,
	payloads jsonb[],
	unique_by text[] default null,
	period interval default null,
	states text[] default null,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	time_zone text default null,
	on_conflict text default 'keep',
	max_delay interval default null,
	expires_at timestamptz default null,
	expires_in interval default null,
	out id bigint,
	out inserted boolean,
	out outcome text
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_many';

comment on function @extschema@.queue_unique_insert_many(text, jsonb[], text[], interval, text[], integer, timestamptz, integer, text, text, text, interval, timestamptz, interval) is
	'adds a job for each payload that is not there already, or replaces or postpones the one that waits; returns ids in the same order';

create function @extschema@.queue_unique_key(
	queue text,
	payload jsonb,
	unique_by text[] default null,
	period interval default null,
	run_at timestamptz default null,
	time_zone text default null
) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_key';

comment on function @extschema@.queue_unique_key(text, jsonb, text[], interval, timestamptz, text) is
	'the name of the lock that queue_unique_insert takes with the same arguments';
