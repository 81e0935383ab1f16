create procedure @extschema@.queue_wait(
	queue text,
	wait interval default '1 minute',
	kinds text[] default null,
	worker text default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_wait';

comment on procedure @extschema@.queue_wait(text, interval, text[], text) is
	'waits until a job of the queue is claimable, or the time is over; worker: as "pending" may ask for it';

create procedure @extschema@.queue_pop_wait(
	queue text,
	wait interval default '1 minute',
	lease interval default null,
	worker text default null,
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
	kinds text[] default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_pop_wait';

comment on procedure @extschema@.queue_pop_wait(text, interval, interval, text, bigint, integer, jsonb, smallint, timestamptz, integer, timestamptz, text, text, timestamptz, text, text[]) is
	'waits for a job of the queue, claims it for a lease and returns it; nulls when the time is over';
