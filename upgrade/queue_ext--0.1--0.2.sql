\echo Use "ALTER EXTENSION queue_ext UPDATE TO '0.2'" to load this file. \quit

create function @extschema@.queue_adopt(queue text) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_adopt';

comment on function @extschema@.queue_adopt(text) is
	'makes a table that was a queue one again, after a dump of the table alone or DROP EXTENSION';
