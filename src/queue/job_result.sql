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

create procedure @extschema@.queue_wait_done(
	queue text,
	id bigint,
	wait interval default '1 minute',
	inout state text default null,
	inout result jsonb default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_wait_done';

comment on procedure @extschema@.queue_wait_done(text, bigint, interval, text, jsonb) is
	'waits until a job has ended, or the time is over, and returns its state and result';
