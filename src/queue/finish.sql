create function @extschema@.queue_complete(
	queue text,
	id bigint,
	attempt integer default null,
	result jsonb default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete';

comment on function @extschema@.queue_complete(text, bigint, integer, jsonb) is
	'completes a job: removes it from its queue; false if the receipt is stale; the result is kept with the archived job';

create function @extschema@.queue_complete_many(
	queue text,
	ids bigint[],
	attempts integer[] default null,
	results jsonb[] default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_many';

comment on function @extschema@.queue_complete_many(text, bigint[], integer[], jsonb[]) is
	'completes jobs: removes them from their queue; returns the ids of those whose receipt was valid; the results are kept with the archived jobs';

create function @extschema@.queue_fail(
	queue text,
	id bigint,
	attempt integer default null,
	error text default null,
	retry_in interval default null,
	retry boolean default true
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail';

comment on function @extschema@.queue_fail(text, bigint, integer, text, interval, boolean) is
	'records a failure: the job runs again after its backoff, or is dead: after its last attempt, or without retry; false if the receipt is stale';

create function @extschema@.queue_fail_many(
	queue text,
	ids bigint[],
	attempts integer[] default null,
	errors text[] default null,
	retry_in interval default null,
	retry boolean default true
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_many';

comment on function @extschema@.queue_fail_many(text, bigint[], integer[], text[], interval, boolean) is
	'records failures: each job runs again after its backoff, or is dead: after its last attempt, or without retry; returns the ids of those whose receipt was valid';

create function @extschema@.queue_release(
	queue text,
	id bigint,
	attempt integer default null,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release';

comment on function @extschema@.queue_release(text, bigint, integer, timestamptz) is
	'returns a job to its queue without charging the attempt; false if the receipt is stale';

create function @extschema@.queue_release_many(
	queue text,
	ids bigint[],
	attempts integer[] default null,
	run_at timestamptz default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_release_many';

comment on function @extschema@.queue_release_many(text, bigint[], integer[], timestamptz) is
	'returns jobs to their queue without charging the attempt; returns the ids of those whose receipt was valid';

create function @extschema@.queue_extend(
	queue text,
	id bigint,
	attempt integer default null,
	lease interval default null,
	progress jsonb default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend';

comment on function @extschema@.queue_extend(text, bigint, integer, interval, jsonb) is
	'renews the lease of a claimed job, from now, and keeps its progress with it; false if the receipt is stale';

create function @extschema@.queue_extend_many(
	queue text,
	ids bigint[],
	attempts integer[] default null,
	lease interval default null,
	progress jsonb[] default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_many';

comment on function @extschema@.queue_extend_many(text, bigint[], integer[], interval, jsonb[]) is
	'renews the leases of claimed jobs, from now, and keeps the progress of each with it; returns the ids of those whose receipt was valid';

create function @extschema@.queue_cancel(queue text, id bigint, attempt integer default null) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_cancel';

comment on function @extschema@.queue_cancel(text, bigint, integer) is
	'removes a job from its queue in any state; false if there is no such job';

create function @extschema@.queue_cancel_many(queue text, ids bigint[], attempts integer[] default null) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_cancel_many';

comment on function @extschema@.queue_cancel_many(text, bigint[], integer[]) is
	'removes jobs from their queue in any state; returns the ids of those that were removed';

create function @extschema@.queue_requeue(queue text, id bigint, attempt integer default null) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_requeue';

comment on function @extschema@.queue_requeue(text, bigint, integer) is
	'makes a dead job run again, with the full number of attempts; false if there is no such job';

create function @extschema@.queue_requeue_many(queue text, ids bigint[], attempts integer[] default null) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_requeue_many';

comment on function @extschema@.queue_requeue_many(text, bigint[], integer[]) is
	'makes dead jobs run again, with the full number of attempts; returns the ids of those that were changed';
