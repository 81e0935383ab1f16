create type @extschema@.queue_job as (
	id bigint,
	attempt integer,
	payload jsonb,
	priority smallint,
	run_at timestamptz,
	max_attempts integer,
	leased_until timestamptz,
	leased_by text,
	last_error text,
	created_at timestamptz,
	kind text
);

comment on type @extschema@.queue_job is
	'a job as it is handed to a worker; (id, attempt) is the receipt';

create function @extschema@.queue_pop(
	queue text,
	max_jobs integer default 1,
	lease interval default null,
	worker text default null,
	kinds text[] default null
) returns setof @extschema@.queue_job
language c volatile parallel unsafe rows 1
as 'MODULE_PATHNAME', 'queue_ext_queue_pop';

comment on function @extschema@.queue_pop(text, integer, interval, text, text[]) is
	'claims up to max_jobs jobs of the queue for a lease and returns them';

create function @extschema@.queue_pop_rows(
	source anyelement,
	queue text default null,
	max_jobs integer default 1,
	lease interval default null,
	worker text default null
) returns setof anyelement
language c volatile parallel unsafe rows 1
as 'MODULE_PATHNAME', 'queue_ext_queue_pop_rows';

comment on function @extschema@.queue_pop_rows(anyelement, text, integer, interval, text) is
	'claims up to max_jobs rows of the table whose row type is that of source, and returns them';

create function @extschema@.queue_is_held(source oid, identity text) returns boolean
language c volatile strict parallel restricted
as 'MODULE_PATHNAME', 'queue_ext_queue_is_held';

comment on function @extschema@.queue_is_held(oid, text) is
	'whether this session holds the row by a claim in mode session; claims use it to skip their own rows';
