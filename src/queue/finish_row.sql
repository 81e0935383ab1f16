create function @extschema@.queue_complete_row(queue text, job anyelement) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_row';

comment on function @extschema@.queue_complete_row(text, anyelement) is
	'completes a claimed row: deletes it or writes on_complete; false if its claim is lost';

create function @extschema@.queue_release_row(
	queue text,
	job anyelement,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release_row';

comment on function @extschema@.queue_release_row(text, anyelement, timestamptz) is
	'returns a claimed row to its queue, writing on_release; false if its claim is lost';

create function @extschema@.queue_fail_row(
	queue text,
	job anyelement,
	error text default null,
	retry_in interval default null,
	retry boolean default true
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_row';

comment on function @extschema@.queue_fail_row(text, anyelement, text, interval, boolean) is
	'records a failure of a claimed row, writing on_fail; false if its claim is lost';

create function @extschema@.queue_extend_row(
	queue text,
	job anyelement,
	lease interval default null,
	progress jsonb default null
) returns anyelement
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_row';

comment on function @extschema@.queue_extend_row(text, anyelement, interval, jsonb) is
	'renews the lease of a claimed row, writing on_extend; returns the row, which is the new receipt, or null if its claim is lost';
