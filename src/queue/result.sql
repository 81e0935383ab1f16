create function @extschema@.queue_result(
	queue text,
	id bigint,
	out state text,
	out finished_at timestamptz,
	out result jsonb
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_result';

comment on function @extschema@.queue_result(text, bigint) is
	'what became of a job, in its queue or its archive, and the result that it was completed with; nulls: there is no such job';
