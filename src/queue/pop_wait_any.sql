create procedure @extschema@.queue_pop_wait_any(
	queues text[],
	wait interval default '1 minute',
	lease interval default null,
	worker text default null,
	inout queue text default null,
	inout id bigint default null,
	inout attempt integer default null,
	inout payload jsonb default null,
	inout priority smallint default null,
	inout run_at timestamptz default null,
	inout max_attempts integer default null,
	inout leased_until timestamptz default null,
	inout leased_by text default null,
	inout last_error text default null,
	inout created_at timestamptz default null,
	inout kind text default null,
	kinds text[] default null,
	weights integer[] default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_pop_wait_any';

comment on procedure @extschema@.queue_pop_wait_any(text[], interval, interval, text, text, bigint, integer, jsonb, smallint, timestamptz, integer, timestamptz, text, text, timestamptz, text, text[], integer[]) is
	'waits for a job of the queues, claims it for a lease and returns it; nulls when the time is over; weights: in an order by chance';
