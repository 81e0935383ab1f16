create function @extschema@.queue_wake() returns trigger
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_wake';

comment on function @extschema@.queue_wake() is
	'trigger that makes rows written by plain INSERT, COPY and UPDATE known to claims at once';
