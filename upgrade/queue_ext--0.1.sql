\echo Use "CREATE EXTENSION queue_ext" to load this file. \quit

-- Keys: FNV hashes of text and bytea, and the key of an advisory lock. The unsigned
-- hash is read as signed. Text is hashed as its UTF-8 bytes in every database
-- encoding but SQL_ASCII, whose bytes are hashed as they are.

create function @extschema@.fnv1_32(key text) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1_32_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1_32(key bytea) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1_32_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1_32(text) is
	'32-bit FNV-1 hash of the UTF-8 bytes of the text, read as a signed integer';
comment on function @extschema@.fnv1_32(bytea) is
	'32-bit FNV-1 hash of the bytes, read as a signed integer';

create function @extschema@.fnv1_64(key text) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1_64_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1_64(key bytea) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1_64_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1_64(text) is
	'64-bit FNV-1 hash of the UTF-8 bytes of the text, read as a signed bigint';
comment on function @extschema@.fnv1_64(bytea) is
	'64-bit FNV-1 hash of the bytes, read as a signed bigint';

create function @extschema@.fnv1a_32(key text) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_32_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1a_32(key bytea) returns integer
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_32_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1a_32(text) is
	'32-bit FNV-1a hash of the UTF-8 bytes of the text, read as a signed integer';
comment on function @extschema@.fnv1a_32(bytea) is
	'32-bit FNV-1a hash of the bytes, read as a signed integer';

create function @extschema@.fnv1a_64(key text) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_64_text'
language c immutable strict parallel safe;

create function @extschema@.fnv1a_64(key bytea) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv1a_64_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv1a_64(text) is
	'64-bit FNV-1a hash of the UTF-8 bytes of the text, read as a signed bigint';
comment on function @extschema@.fnv1a_64(bytea) is
	'64-bit FNV-1a hash of the bytes, read as a signed bigint';

create function @extschema@.fnv_lock_key(key text, prefix integer default 0) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv_lock_key'
language c immutable strict parallel safe;

comment on function @extschema@.fnv_lock_key(text, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the text, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';

-- Locks by name: advisory locks on the key that fnv_lock_key() makes of the name and of
-- queue_ext.advisory_lock_prefix.

create function @extschema@.queue_lock(key text) returns void
language c volatile strict parallel restricted
as 'MODULE_PATHNAME', 'queue_ext_queue_lock';

comment on function @extschema@.queue_lock(text) is
	'takes the lock of that name until the transaction ends, waiting for it';

create function @extschema@.queue_try_lock(key text) returns boolean
language c volatile strict parallel restricted
as 'MODULE_PATHNAME', 'queue_ext_queue_try_lock';

comment on function @extschema@.queue_try_lock(text) is
	'takes the lock of that name until the transaction ends, if it is free; false if it is not';

-- The registry. It is written by the functions below alone, which run the write
-- as the extension's owner after checking the caller's; nobody else has rights.

create table @extschema@.queue_definition (
	name text collate "C" not null,
	source regclass not null,
	managed boolean not null,
	claim_mode text collate "C" not null,
	paused boolean not null default false,
	lease interval,
	max_attempts integer,
	backoff_base interval,
	backoff_cap interval,
	archived boolean not null default false,
	archive regclass,
	pending text not null,
	order_by text,
	on_claim text,
	on_complete text,
	on_release text,
	on_fail text,
	on_extend text,
	search_path text not null,
	created_at timestamptz not null default pg_catalog.now(),
	constraint queue_definition_pkey primary key (name, source),
	constraint queue_definition_name_check
		check (pg_catalog.octet_length(name) operator(pg_catalog.>=) 1
			   and pg_catalog.octet_length(name) operator(pg_catalog.<=) 63),
	constraint queue_definition_claim_mode_check
		check (claim_mode operator(pg_catalog.=) 'update'
			   or claim_mode operator(pg_catalog.=) 'transaction'
			   or claim_mode operator(pg_catalog.=) 'session')
);

revoke all on @extschema@.queue_definition from public;

comment on table @extschema@.queue_definition is
	'registry of queue_ext: one row a queue, written by its functions only';

-- A row whose table was dropped behind our back is not worth a dump.
select pg_catalog.pg_extension_config_dump('@extschema@.queue_definition',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source)');

create view @extschema@.queues as
select
	pg_catalog.format('%I.%I', n.nspname, d.name) as queue,
	d.source,
	d.managed,
	d.claim_mode,
	d.paused,
	d.lease,
	d.max_attempts,
	d.backoff_base,
	d.backoff_cap,
	case when d.archived then d.archive end as archive,
	d.pending,
	d.order_by,
	d.on_claim,
	d.on_complete,
	d.on_release,
	d.on_fail,
	d.on_extend,
	d.search_path,
	d.created_at
from @extschema@.queue_definition d
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace;

revoke all on @extschema@.queues from public;
grant select on @extschema@.queues to public;

comment on view @extschema@.queues is
	'the queues of this database, each with the SQL that describes its pending rows';

create function @extschema@.queue_create(
	queue text,
	lease interval default '30 seconds',
	max_attempts integer default 25,
	backoff_base interval default '1 second',
	backoff_cap interval default '1 hour',
	archive boolean default false
) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_create';

comment on function @extschema@.queue_create(text, interval, integer, interval, interval, boolean) is
	'creates a queue and its table, and returns the table';

create function @extschema@.queue_alter(
	queue text,
	lease interval default null,
	max_attempts integer default null,
	backoff_base interval default null,
	backoff_cap interval default null,
	archive boolean default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_alter';

comment on function @extschema@.queue_alter(text, interval, integer, interval, interval, boolean) is
	'changes the settings of a queue; what is null stays as it is';

create function @extschema@.queue_drop(queue text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_drop';

comment on function @extschema@.queue_drop(text, boolean) is
	'drops a queue with its table, its jobs and its archive';

create function @extschema@.queue_pause(queue text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_pause';

comment on function @extschema@.queue_pause(text) is
	'stops handing out jobs of a queue; true if it was not paused';

create function @extschema@.queue_resume(queue text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_resume';

comment on function @extschema@.queue_resume(text) is
	'hands out jobs of a paused queue again; true if it was paused';

create function @extschema@.queue_purge(queue text, state text default null) returns bigint
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_purge';

comment on function @extschema@.queue_purge(text, text) is
	'deletes all jobs of a queue, or those in one state, and returns how many; done: what unique inserts remember of its jobs';

create function @extschema@.queue_counts(
	queue text,
	out ready bigint,
	out scheduled bigint,
	out leased bigint,
	out dead bigint
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_counts';

comment on function @extschema@.queue_counts(text) is
	'counts the jobs of a queue by state; reads the whole table';

create function @extschema@.queue_attach(
	queue text,
	source regclass,
	pending text,
	order_by text default null,
	on_claim text default null,
	on_complete text default null,
	on_release text default null,
	on_fail text default null,
	claim_mode text default 'update',
	on_extend text default null,
	lease interval default '30 seconds',
	wake boolean default false
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_attach';

comment on function @extschema@.queue_attach(
	text, regclass, text, text, text, text, text, text, text, text, interval, boolean
) is 'makes a queue of a table that is there, by describing its pending rows';

create function @extschema@.queue_detach(queue text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_detach';

comment on function @extschema@.queue_detach(text, boolean) is
	'forgets a queue and leaves its table alone';

create function @extschema@.queue_send(
	queue text,
	payload jsonb,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null
) returns bigint
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_send';

comment on function @extschema@.queue_send(text, jsonb, integer, timestamptz, integer) is
	'adds a job to a queue and returns its id';

create function @extschema@.queue_send_many(
	queue text,
	payloads jsonb[],
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_send_many';

comment on function @extschema@.queue_send_many(text, jsonb[], integer, timestamptz, integer) is
	'adds a job for each payload and returns their ids in the same order';

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
	created_at timestamptz
);

comment on type @extschema@.queue_job is
	'a job as it is handed to a worker; (id, attempt) is the receipt';

create function @extschema@.queue_pop(
	queue text,
	max_jobs integer default 1,
	lease interval default null,
	worker text default null
) returns setof @extschema@.queue_job
language c volatile parallel unsafe rows 1
as 'MODULE_PATHNAME', 'queue_ext_queue_pop';

comment on function @extschema@.queue_pop(text, integer, interval, text) is
	'claims up to max_jobs jobs of the queue for the length of a lease, and returns them';

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
	'claims up to max_jobs rows of the table whose row type source has, and returns them';

create function @extschema@.queue_is_held(source oid, identity text) returns boolean
language c volatile strict parallel restricted
as 'MODULE_PATHNAME', 'queue_ext_queue_is_held';

comment on function @extschema@.queue_is_held(oid, text) is
	'whether this session has claimed that row without writing; claims use it to pass their own rows by';

create function @extschema@.queue_complete(queue text, id bigint, attempt integer) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete';

comment on function @extschema@.queue_complete(text, bigint, integer) is
	'takes a finished job out of its queue; false if the receipt is stale';

create function @extschema@.queue_complete_many(queue text, ids bigint[], attempts integer[]) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_many';

comment on function @extschema@.queue_complete_many(text, bigint[], integer[]) is
	'takes finished jobs out of their queue; returns the ids of those whose receipt was good';

create function @extschema@.queue_fail(
	queue text,
	id bigint,
	attempt integer,
	error text default null,
	retry_in interval default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail';

comment on function @extschema@.queue_fail(text, bigint, integer, text, interval) is
	'records a failure: the job runs again after its backoff, or is dead after its last attempt; false if the receipt is stale';

create function @extschema@.queue_fail_many(
	queue text,
	ids bigint[],
	attempts integer[],
	errors text[] default null,
	retry_in interval default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_many';

comment on function @extschema@.queue_fail_many(text, bigint[], integer[], text[], interval) is
	'records failures: each job runs again after its backoff, or is dead after its last attempt; returns the ids of those whose receipt was good';

create function @extschema@.queue_release(
	queue text,
	id bigint,
	attempt integer,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release';

comment on function @extschema@.queue_release(text, bigint, integer, timestamptz) is
	'gives a job back without charging the attempt; false if the receipt is stale';

create function @extschema@.queue_release_many(
	queue text,
	ids bigint[],
	attempts integer[],
	run_at timestamptz default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_release_many';

comment on function @extschema@.queue_release_many(text, bigint[], integer[], timestamptz) is
	'gives jobs back without charging the attempt; returns the ids of those whose receipt was good';

create function @extschema@.queue_extend(
	queue text,
	id bigint,
	attempt integer,
	lease interval default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend';

comment on function @extschema@.queue_extend(text, bigint, integer, interval) is
	'gives a claimed job a new lease from now on; false if the receipt is stale';

create function @extschema@.queue_extend_many(
	queue text,
	ids bigint[],
	attempts integer[],
	lease interval default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_many';

comment on function @extschema@.queue_extend_many(text, bigint[], integer[], interval) is
	'gives claimed jobs a new lease from now on; returns the ids of those whose receipt was good';

create function @extschema@.queue_cancel(queue text, id bigint, attempt integer default null) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_cancel';

comment on function @extschema@.queue_cancel(text, bigint, integer) is
	'takes a job out of its queue, whatever its state; false if there is none such';

create function @extschema@.queue_cancel_many(queue text, ids bigint[], attempts integer[] default null) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_cancel_many';

comment on function @extschema@.queue_cancel_many(text, bigint[], integer[]) is
	'takes jobs out of their queue, whatever their state; returns the ids of those that were changed';

create function @extschema@.queue_requeue(queue text, id bigint, attempt integer default null) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_requeue';

comment on function @extschema@.queue_requeue(text, bigint, integer) is
	'lets a dead job run again, with the full number of attempts; false if there is none such';

create function @extschema@.queue_requeue_many(queue text, ids bigint[], attempts integer[] default null) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_requeue_many';

comment on function @extschema@.queue_requeue_many(text, bigint[], integer[]) is
	'lets dead jobs run again, with the full number of attempts; returns the ids of those that were changed';

create function @extschema@.queue_complete_row(queue text, job anyelement) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_row';

comment on function @extschema@.queue_complete_row(text, anyelement) is
	'finishes a claimed row: deletes it or writes on_complete; false if its claim has gone';

create function @extschema@.queue_release_row(
	queue text,
	job anyelement,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release_row';

comment on function @extschema@.queue_release_row(text, anyelement, timestamptz) is
	'gives a claimed row back, writing on_release; false if its claim has gone';

create function @extschema@.queue_fail_row(
	queue text,
	job anyelement,
	error text default null,
	retry_in interval default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_row';

comment on function @extschema@.queue_fail_row(text, anyelement, text, interval) is
	'records that the work on a claimed row failed, writing on_fail; false if its claim has gone';

create function @extschema@.queue_extend_row(
	queue text,
	job anyelement,
	lease interval default null
) returns anyelement
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_row';

comment on function @extschema@.queue_extend_row(text, anyelement, interval) is
	'gives a claimed row a new lease, writing on_extend, and returns the row, which is the receipt from then on; null if its claim has gone';

create function @extschema@.queue_claim_counters(
	out queue text,
	out source regclass,
	out claims bigint,
	out empty_pops bigint,
	out fills bigint,
	out sweeps bigint,
	out locked bigint,
	out gone bigint,
	out not_pending bigint,
	out candidates integer,
	out fill_time double precision
) returns setof record
language c volatile parallel unsafe rows 10
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_counters';

comment on function @extschema@.queue_claim_counters() is
	'what claims on the direct path have met, for each ring of this database';

create view @extschema@.queue_claim_stats as
select * from @extschema@.queue_claim_counters();

revoke all on @extschema@.queue_claim_stats from public;
grant select on @extschema@.queue_claim_stats to public;

comment on view @extschema@.queue_claim_stats is
	'per ring of candidates: claims, empty pops, reads, and what became of candidates; fill_time in milliseconds';

create function @extschema@.queue_claim_stats_reset() returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_stats_reset';

revoke all on function @extschema@.queue_claim_stats_reset() from public;

comment on function @extschema@.queue_claim_stats_reset() is
	'sets the counters of queue_claim_stats in this database to zero';

create function @extschema@.queue_wake() returns trigger
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_wake';

comment on function @extschema@.queue_wake() is
	'trigger that makes rows written by plain INSERT, COPY and UPDATE known to claims at once';

-- What unique inserts remember of jobs, so that a job counts when it is done and its row
-- gone. Written by them alone, after the caller's INSERT into the queue's table; nobody
-- else has rights.

create table @extschema@.queue_unique_job (
	source regclass not null,
	digest bytea not null,
	job bigint not null,
	expires_at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index queue_unique_job_digest_idx on @extschema@.queue_unique_job (source, digest);
create index queue_unique_job_expires_at_idx on @extschema@.queue_unique_job (expires_at);

revoke all on @extschema@.queue_unique_job from public;

comment on table @extschema@.queue_unique_job is
	'jobs that queue_unique_insert added where a finished one counts; written by its functions only';

select pg_catalog.pg_extension_config_dump('@extschema@.queue_unique_job',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source)');

create function @extschema@.queue_unique_insert(
	queue text,
	payload jsonb,
	unique_by text[] default null,
	period interval default null,
	states text[] default null,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	out id bigint,
	out inserted boolean
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert';

comment on function @extschema@.queue_unique_insert(text, jsonb, text[], interval, text[], integer, timestamptz, integer) is
	'adds a job to a queue unless it is there already, and returns its id and whether it was added';

create function @extschema@.queue_unique_insert_many(
	queue text,
	payloads jsonb[],
	unique_by text[] default null,
	period interval default null,
	states text[] default null,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	out id bigint,
	out inserted boolean
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_many';

comment on function @extschema@.queue_unique_insert_many(text, jsonb[], text[], interval, text[], integer, timestamptz, integer) is
	'adds a job for each payload that is not there already, and returns ids in the same order';

create function @extschema@.queue_unique_key(
	queue text,
	payload jsonb,
	unique_by text[] default null,
	period interval default null,
	run_at timestamptz default null
) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_key';

comment on function @extschema@.queue_unique_key(text, jsonb, text[], interval, timestamptz) is
	'the name of the lock that queue_unique_insert takes with the same arguments';

create function @extschema@.queue_unique_insert_row(
	job anyelement,
	unique_by text[],
	among text default null,
	out inserted boolean,
	out job anyelement
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_row';

comment on function @extschema@.queue_unique_insert_row(anyelement, text[], text) is
	'adds a row to its table unless one with equal columns is there, and returns whether, and the row';

create function @extschema@.queue_unique_insert_rows(
	jobs anyarray,
	unique_by text[],
	among text default null,
	out inserted boolean,
	out job anyelement
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_rows';

comment on function @extschema@.queue_unique_insert_rows(anyarray, text[], text) is
	'adds each row that is not there to its table, and returns for each whether, and the row';

-- Throttles: what may be done once in an interval, or a few times. Rights on the
-- table are rights on the throttles; nobody but the extension's owner has any at
-- first.

create table @extschema@.throttled_resource (
	resource text collate "C" not null,
	throttle_interval interval not null,
	grants integer not null default 1,
	last_locked timestamptz not null default '-infinity',
	last_locker_details text not null default '',
	earlier_grants timestamptz[] not null default '{}',
	constraint throttled_resource_pkey primary key (resource),
	constraint throttled_resource_throttle_interval_check
		check (throttle_interval operator(pg_catalog.>) '0'),
	constraint throttled_resource_grants_check
		check (grants operator(pg_catalog.>=) 1 and grants operator(pg_catalog.<=) 1000),
	constraint throttled_resource_last_locker_details_check
		check ((last_locked operator(pg_catalog.=) '-infinity'
				and last_locker_details operator(pg_catalog.=) '')
			   or (last_locked operator(pg_catalog.>) '-infinity'
				   and pg_catalog.btrim(last_locker_details) operator(pg_catalog.<>) '')),
	constraint throttled_resource_earlier_grants_check
		check (earlier_grants operator(pg_catalog.=) '{}'
			   or (last_locked operator(pg_catalog.>) '-infinity'
				   and pg_catalog.array_ndims(earlier_grants) operator(pg_catalog.=) 1
				   and pg_catalog.array_lower(earlier_grants, 1) operator(pg_catalog.=) 1
				   and pg_catalog.array_position(earlier_grants, null) is null))
) with (fillfactor = 50);

revoke all on @extschema@.throttled_resource from public;

comment on table @extschema@.throttled_resource is
	'what is throttled: how often it may be locked, when it last was, and by whom';
comment on column @extschema@.throttled_resource.grants is
	'how many times it may be locked in any interval of that length';
comment on column @extschema@.throttled_resource.last_locked is
	'when it was last locked; -infinity: never';
comment on column @extschema@.throttled_resource.last_locker_details is
	'what the last who locked it said of itself';
comment on column @extschema@.throttled_resource.earlier_grants is
	'when it was locked before that, as far as it matters: at most grants - 1 times, in order';

select pg_catalog.pg_extension_config_dump('@extschema@.throttled_resource', '');

create function @extschema@.throttle_create(
	resource text,
	throttle_interval interval,
	grants integer default 1
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_create';

comment on function @extschema@.throttle_create(text, interval, integer) is
	'throttles a resource: it may be locked once in an interval, or that many times';

create function @extschema@.throttle_alter(
	resource text,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter';

comment on function @extschema@.throttle_alter(text, interval, integer) is
	'changes how often a throttled resource may be locked; what is null stays as it is';

create function @extschema@.throttle_drop(resource text, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop';

comment on function @extschema@.throttle_drop(text, boolean) is
	'drops a throttled resource; false if there is none and that is no error';

create function @extschema@.lock_throttled_resource(resource text, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource';

comment on function @extschema@.lock_throttled_resource(text, text) is
	'true for whoever may use the resource now, if its transaction commits; false at once for others';

-- Named locks, kept in a table: they outlive sessions and servers. Rights on the
-- table are rights on the locks; nobody but the extension's owner has any at first.

create table @extschema@.named_lock (
	task_id text collate "C" not null,
	held boolean not null default false,
	holder text,
	held_since timestamptz,
	held_until timestamptz,
	token bigint not null default 0,
	retries_left integer,
	constraint named_lock_pkey primary key (task_id),
	constraint named_lock_task_id_check
		check (pg_catalog.btrim(task_id) operator(pg_catalog.<>) ''),
	constraint named_lock_held_check
		check (case when held then holder is not null and held_since is not null
			   else holder is null and held_since is null and held_until is null end),
	constraint named_lock_token_check check (token operator(pg_catalog.>=) 0),
	constraint named_lock_retries_left_check check (retries_left operator(pg_catalog.>=) 0)
) with (fillfactor = 50);

revoke all on @extschema@.named_lock from public;

comment on table @extschema@.named_lock is
	'locks by name: one row for each that was ever acquired';
comment on column @extschema@.named_lock.held_until is
	'when a lock with a timeout runs out; null: it is held until it is released';
comment on column @extschema@.named_lock.token is
	'how many times it was acquired: the fencing token of the last who did';
comment on column @extschema@.named_lock.retries_left is
	'how many times it may still be acquired; null: no limit';

select pg_catalog.pg_extension_config_dump('@extschema@.named_lock', '');

create view @extschema@.held_locks with (security_invoker = true) as
select task_id, holder, held_since as since, held_until as until, token
from @extschema@.named_lock
where held
	and (held_until is null or held_until operator(pg_catalog.>=) pg_catalog.clock_timestamp());

revoke all on @extschema@.held_locks from public;
grant select on @extschema@.held_locks to public;

comment on view @extschema@.held_locks is
	'who holds which lock, since when and until when; asks for rights on named_lock';

create function @extschema@.mutex_acquire(task_id text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_acquire';

comment on function @extschema@.mutex_acquire(text) is
	'acquires a lock that is held until mutex_release(); false if it is held';

create function @extschema@.mutex_acquire_fenced(task_id text, out acquired boolean, out token bigint)
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_acquire_fenced';

comment on function @extschema@.mutex_acquire_fenced(text) is
	'as mutex_acquire(), with a token that grows with each who acquires the lock';

create function @extschema@.timeout_acquire(task_id text, timeout interval) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_timeout_acquire';

comment on function @extschema@.timeout_acquire(text, interval) is
	'acquires a lock for some time; false if it is held';

create function @extschema@.timeout_acquire_fenced(
	task_id text,
	timeout interval,
	out acquired boolean,
	out token bigint
)
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_timeout_acquire_fenced';

comment on function @extschema@.timeout_acquire_fenced(text, interval) is
	'as timeout_acquire(), with a token that grows with each who acquires the lock';

create function @extschema@.mutex_release(task_id text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_release';

comment on function @extschema@.mutex_release(text) is
	'releases a lock, whoever holds it; false if nobody does';

create function @extschema@.mutex_release(task_id text, token bigint) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_mutex_release';

comment on function @extschema@.mutex_release(text, bigint) is
	'releases a lock if it is held with that token; false otherwise';

create function @extschema@.lock_set_retries(task_id text, retries integer) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_set_retries';

comment on function @extschema@.lock_set_retries(text, integer) is
	'sets how many times a lock may still be acquired; null: no limit';
