create type @extschema@.queue_finding as (
	finding text,
	severity text,
	queue text,
	detail text,
	hint text
);

comment on type @extschema@.queue_finding is
	'what queue_health() has found: a name that stays; critical, warning or info; the queue, or null: the server; what is the matter, and what to do';

create function @extschema@.queue_health(queue text default null)
returns setof @extschema@.queue_finding
language c volatile parallel unsafe rows 10
as 'MODULE_PATHNAME', 'queue_ext_queue_health';

comment on function @extschema@.queue_health(text) is
	'what should be seen to, of a queue, or of all queues and the server; reads at most a hundred index entries of a queue';
