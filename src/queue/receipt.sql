create function @extschema@.queue_receipt(queue text, job anyelement) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_receipt';

comment on function @extschema@.queue_receipt(text, anyelement) is
	'the receipt of a claimed row as a short text, which any client can keep';

create function @extschema@.queue_complete_receipt(queue text, receipt text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_receipt';

comment on function @extschema@.queue_complete_receipt(text, text) is
	'completes a claimed row, as queue_complete_row does; false if its claim is lost';

create function @extschema@.queue_complete_receipts(queue text, receipts text[]) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_receipts';

comment on function @extschema@.queue_complete_receipts(text, text[]) is
	'completes claimed rows; returns the receipts that were valid';

create function @extschema@.queue_release_receipt(
	queue text,
	receipt text,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release_receipt';

comment on function @extschema@.queue_release_receipt(text, text, timestamptz) is
	'returns a claimed row to its queue, as queue_release_row does; false if its claim is lost';

create function @extschema@.queue_release_receipts(
	queue text,
	receipts text[],
	run_at timestamptz default null
) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_release_receipts';

comment on function @extschema@.queue_release_receipts(text, text[], timestamptz) is
	'returns claimed rows to their queue; returns the receipts that were valid';

create function @extschema@.queue_fail_receipt(
	queue text,
	receipt text,
	error text default null,
	retry_in interval default null,
	retry boolean default true
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_receipt';

comment on function @extschema@.queue_fail_receipt(text, text, text, interval, boolean) is
	'records a failure of a claimed row, as queue_fail_row does; false if its claim is lost';

create function @extschema@.queue_fail_receipts(
	queue text,
	receipts text[],
	errors text[] default null,
	retry_in interval default null,
	retry boolean default true
) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_receipts';

comment on function @extschema@.queue_fail_receipts(text, text[], text[], interval, boolean) is
	'records failures of claimed rows; returns the receipts that were valid';

create function @extschema@.queue_extend_receipt(
	queue text,
	receipt text,
	lease interval default null,
	progress jsonb default null
) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_receipt';

comment on function @extschema@.queue_extend_receipt(text, text, interval, jsonb) is
	'renews the lease of a claimed row, as queue_extend_row does; returns the new receipt, or null if its claim is lost';

create function @extschema@.queue_extend_receipts(
	queue text,
	receipts text[],
	lease interval default null,
	progress jsonb[] default null
) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_receipts';

comment on function @extschema@.queue_extend_receipts(text, text[], interval, jsonb[]) is
	'renews the leases of claimed rows; returns for each receipt the new one, or null if its claim is lost';
