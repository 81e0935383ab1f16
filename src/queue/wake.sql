create function @extschema@.queue_wake() returns trigger
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_wake';

comment on function @extschema@.queue_wake() is
	'trigger function that notifies claims at once of rows written by INSERT, COPY and UPDATE';
