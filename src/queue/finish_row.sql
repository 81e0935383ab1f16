create function @extschema@.queue_complete_row(queue text, job anyelement) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_row';

comment on function @extschema@.queue_complete_row(text, anyelement) is
	'finishes a claimed row: deletes it or writes on_complete; false if its claim has gone';

create function @extschema@.queue_release_row(
	queue text,
	job anyelement,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release_row';

comment on function @extschema@.queue_release_row(text, anyelement, timestamptz) is
	'gives a claimed row back, writing on_release; false if its claim has gone';

create function @extschema@.queue_fail_row(
	queue text,
	job anyelement,
	error text default null,
	retry_in interval default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_row';

comment on function @extschema@.queue_fail_row(text, anyelement, text, interval) is
	'records that the work on a claimed row failed, writing on_fail; false if its claim has gone';

create function @extschema@.queue_extend_row(
	queue text,
	job anyelement,
	lease interval default null
) returns anyelement
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_row';

comment on function @extschema@.queue_extend_row(text, anyelement, interval) is
	'gives a claimed row a new lease, writing on_extend, and returns the row, which is the receipt from then on; null if its claim has gone';
