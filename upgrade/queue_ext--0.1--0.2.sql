\echo Use "ALTER EXTENSION queue_ext UPDATE TO '0.2'" to load this file. \quit

-- Functions that get further arguments or columns are made anew. They keep their owners and privileges (see the end of
-- this script). One that a view or a function of somebody's needs stays, as theirs, under a name that ends in _0_1.

create function @extschema@.update_former() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
	kept jsonb := '[]';
	old record;
begin
	for old in
		select p.oid, p.oid::regprocedure as name, p.proname, p.prosrc, p.proowner, p.proacl
		from pg_proc as p
		where p.oid in (
			'@extschema@.queue_claim_counters()'::regprocedure,
			'@extschema@.queue_complete(text, bigint, integer)'::regprocedure,
			'@extschema@.queue_complete_many(text, bigint[], integer[])'::regprocedure,
			'@extschema@.queue_extend(text, bigint, integer, interval)'::regprocedure,
			'@extschema@.queue_extend_many(text, bigint[], integer[], interval)'::regprocedure,
			'@extschema@.queue_extend_row(text, anyelement, interval)'::regprocedure,
			'@extschema@.queue_fail(text, bigint, integer, text, interval)'::regprocedure,
			'@extschema@.queue_fail_many(text, bigint[], integer[], text[], interval)'::regprocedure,
			'@extschema@.queue_fail_row(text, anyelement, text, interval)'::regprocedure,
			'@extschema@.queue_attach(text, regclass, text, text, text, text, text, text, text, text, interval, boolean)'::regprocedure,
			'@extschema@.queue_alter(text, interval, integer, interval, interval, boolean)'::regprocedure,
			'@extschema@.queue_create(text, interval, integer, interval, interval, boolean)'::regprocedure,
			'@extschema@.queue_pop(text, integer, interval, text)'::regprocedure,
			'@extschema@.queue_send(text, jsonb, integer, timestamptz, integer)'::regprocedure,
			'@extschema@.queue_send_many(text, jsonb[], integer, timestamptz, integer)'::regprocedure,
			'@extschema@.queue_unique_insert(text, jsonb, text[], interval, text[], integer, timestamptz, integer)'::regprocedure,
			'@extschema@.queue_unique_insert_many(text, jsonb[], text[], interval, text[], integer, timestamptz, integer)'::regprocedure,
			'@extschema@.queue_unique_key(text, jsonb, text[], interval, timestamptz)'::regprocedure)
	loop
		kept := kept || jsonb_build_object('oid', old.oid, 'symbol', old.prosrc, 'owner', old.proowner::bigint, 'acl', old.proacl::text);
		execute format('alter function %s rename to %I', old.name, old.proname || '_0_1');
	end loop;
	perform set_config('update_of_queue_ext.kept', kept::text, true);
end $$;

select @extschema@.update_former();

drop function @extschema@.update_former();

create index queue_definition_source_idx on @extschema@.queue_definition (source);

create function @extschema@.queue_adopt(queue text) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_adopt';

comment on function @extschema@.queue_adopt(text) is
	'registers the table of a managed queue again, after a dump of the table alone or DROP EXTENSION';

create function @extschema@.queue_upgrade(queue text default null) returns setof text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_upgrade';

comment on function @extschema@.queue_upgrade(text) is
	'brings the table of a queue, or of all queues of the caller, to the layout that queue_create makes, and returns the queues changed';

-- The path of claims.

create function @extschema@.queue_claim_path(
	queue text,
	out path text,
	out reason text,
	out hint text
) returns record
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_path';

comment on function @extschema@.queue_claim_path(text) is
	'by which path claims of the queue by the caller are made, why by no better one, and what would change that';

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
	out fill_time double precision,
	out path text,
	out waiting integer,
	out wakes bigint
) returns setof record
language c volatile parallel unsafe rows 10
as 'MODULE_PATHNAME', 'queue_ext_queue_claim_counters';

comment on function @extschema@.queue_claim_counters() is
	'counters of claims from rings of candidates, for each ring of this database';

create or replace view @extschema@.queue_claim_stats as
select * from @extschema@.queue_claim_counters();

comment on view @extschema@.queue_claim_stats is
	'counters of each ring of candidates: claims, empty pops, fills and sweeps, and the candidates passed over; fill_time in milliseconds; path: how claims are made, and why by no better path; waiting and wakes: workers that wait for a job, and how often one was woken';

-- The statistics of queues.

create function @extschema@.queue_stats_counters(
	out source oid,
	out name text,
	out since timestamptz,
	out sent bigint,
	out claimed bigint,
	out completed bigint,
	out failed bigint,
	out retried bigint,
	out dead bigint,
	out moved bigint,
	out unstarted bigint,
	out released bigint,
	out cancelled bigint,
	out expired bigint,
	out duplicates bigint,
	out waits bigint,
	out waiting integer,
	out ready bigint,
	out ready_exact boolean,
	out scheduled bigint,
	out leased bigint,
	out oldest_ready_at timestamptz,
	out oldest_exact boolean
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_stats_counters';

comment on function @extschema@.queue_stats_counters() is
	'what was counted of each queue of this database; name is null for the managed queue of the table';

create function @extschema@.queue_stats_buckets(
	of_runs boolean,
	out source oid,
	out name text,
	out le double precision,
	out jobs bigint,
	out total_seconds double precision
) returns setof record
language c volatile parallel unsafe rows 1000
as 'MODULE_PATHNAME', 'queue_ext_queue_stats_buckets';

comment on function @extschema@.queue_stats_buckets(boolean) is
	'how long jobs ran, or how long they were ready, of each queue of this database, by buckets';

create view @extschema@.queue_stats as
select
	pg_catalog.format('%I.%I', n.nspname, d.name) as queue,
	d.source,
	s.since,
	s.sent,
	s.claimed,
	s.completed,
	s.failed,
	s.retried,
	s.dead,
	s.moved,
	s.unstarted,
	s.released,
	s.cancelled,
	s.expired,
	s.duplicates,
	s.waits,
	s.waiting,
	s.ready,
	s.ready_exact,
	s.scheduled,
	s.leased,
	s.oldest_ready_at,
	s.oldest_exact
from @extschema@.queue_definition d
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
left join @extschema@.queue_stats_counters() s
	on s.source operator(pg_catalog.=) d.source
	and case when d.managed then s.name is null else s.name operator(pg_catalog.=) d.name end;

revoke all on @extschema@.queue_stats from public;
grant select on @extschema@.queue_stats to public;

comment on view @extschema@.queue_stats is
	'what became of the jobs of each queue since then, and since when the oldest ready job waits; counted when transactions commit, so that no table is read';

-- The names are made once for each queue, not for each bucket.
create view @extschema@.queue_wait_histogram as
select
	q.queue,
	q.source,
	s.le,
	s.jobs,
	s.total_seconds
from (
	select pg_catalog.format('%I.%I', n.nspname, d.name) as queue, d.source, d.managed, d.name
	from @extschema@.queue_definition d
	join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
	join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
	offset 0
) q
join @extschema@.queue_stats_buckets(false) s
	on s.source operator(pg_catalog.=) q.source
	and case when q.managed then s.name is null else s.name operator(pg_catalog.=) q.name end;

revoke all on @extschema@.queue_wait_histogram from public;
grant select on @extschema@.queue_wait_histogram to public;

comment on view @extschema@.queue_wait_histogram is
	'how long jobs were ready before they were claimed: jobs counts those that took le seconds at most';

create view @extschema@.queue_run_histogram as
select
	q.queue,
	q.source,
	s.le,
	s.jobs,
	s.total_seconds
from (
	select pg_catalog.format('%I.%I', n.nspname, d.name) as queue, d.source, d.managed, d.name
	from @extschema@.queue_definition d
	join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
	join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
	offset 0
) q
join @extschema@.queue_stats_buckets(true) s
	on s.source operator(pg_catalog.=) q.source
	and case when q.managed then s.name is null else s.name operator(pg_catalog.=) q.name end;

revoke all on @extschema@.queue_run_histogram from public;
grant select on @extschema@.queue_run_histogram to public;

comment on view @extschema@.queue_run_histogram is
	'how long claimed jobs took until they were completed or failed: jobs counts those that took le seconds at most';

create function @extschema@.queue_stats_reset(queue text default null) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_stats_reset';

revoke all on function @extschema@.queue_stats_reset(text) from public;

comment on function @extschema@.queue_stats_reset(text) is
	'has the statistics of the queue, or of all queues of this database, begin anew';

-- Keys of bytes.

create function @extschema@.fnv_lock_key(key bytea, prefix integer default 0) returns bigint
as 'MODULE_PATHNAME', 'queue_ext_fnv_lock_key_bytea'
language c immutable strict parallel safe;

comment on function @extschema@.fnv_lock_key(bytea, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the bytes, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';

-- Throttles named by enums.

create function @extschema@.throttle_create(
	resource anyenum,
	throttle_interval interval,
	grants integer default 1
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_create_enum';

comment on function @extschema@.throttle_create(anyenum, interval, integer) is
	'creates the throttled resource that is named by the label of an enum value';

create function @extschema@.throttle_alter(
	resource anyenum,
	throttle_interval interval default null,
	grants integer default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_alter_enum';

comment on function @extschema@.throttle_alter(anyenum, interval, integer) is
	'changes how often the throttled resource named by an enum value may be locked; null leaves a setting unchanged';

create function @extschema@.throttle_drop(resource anyenum, if_exists boolean default false) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_drop_enum';

comment on function @extschema@.throttle_drop(anyenum, boolean) is
	'drops the throttled resource named by an enum value; false if it does not exist and if_exists is true';

create function @extschema@.lock_throttled_resource(resource anyenum, details text) returns boolean
language c volatile strict parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_lock_throttled_resource_enum';

comment on function @extschema@.lock_throttled_resource(anyenum, text) is
	'locks the throttled resource named by an enum value if its limit allows it now; true takes effect if the transaction commits, false returns at once';

create function @extschema@.throttle_acquire(
	resource text,
	details text,
	out acquired boolean,
	out retry_at timestamptz
) returns record
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_acquire';

comment on function @extschema@.throttle_acquire(text, text) is
	'locks a throttled resource as lock_throttled_resource() does, and says when to try again if that was denied';

create function @extschema@.throttle_acquire(
	resource anyenum,
	details text,
	out acquired boolean,
	out retry_at timestamptz
) returns record
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_throttle_acquire_enum';

comment on function @extschema@.throttle_acquire(anyenum, text) is
	'locks the throttled resource named by an enum value, and says when to try again if that was denied';

-- Receipts without an attempt: an error that says so, instead of "no such function".

create or replace function @extschema@.queue_release(
	queue text,
	id bigint,
	attempt integer default null,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release';

create or replace function @extschema@.queue_release_many(
	queue text,
	ids bigint[],
	attempts integer[] default null,
	run_at timestamptz default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_release_many';

-- Failures for good.

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

create function @extschema@.queue_fail_row(
	queue text,
	job anyelement,
	error text default null,
	retry_in interval default null,
	retry boolean default true
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_row';

comment on function @extschema@.queue_fail_row(text, anyelement, text, interval, boolean) is
	'records a failure of a claimed row, writing on_fail; false if its claim is lost';

-- Progress of jobs.

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

create function @extschema@.queue_extend_row(
	queue text,
	job anyelement,
	lease interval default null,
	progress jsonb default null
) returns anyelement
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_row';

comment on function @extschema@.queue_extend_row(text, anyelement, interval, jsonb) is
	'renews the lease of a claimed row, writing on_extend; returns the row, which is the new receipt, or null if its claim is lost';

-- Results of jobs.

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

create type @extschema@.queue_any_job as (
	queue text,
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

comment on type @extschema@.queue_any_job is
	'a job of one of several queues: the queue''s name, and the attributes of queue_job';

create function @extschema@.queue_pop_any(
	queues text[],
	max_jobs integer default 1,
	lease interval default null,
	worker text default null,
	kinds text[] default null,
	weights integer[] default null
) returns setof @extschema@.queue_any_job
language c volatile parallel unsafe rows 1
as 'MODULE_PATHNAME', 'queue_ext_queue_pop_any';

comment on function @extschema@.queue_pop_any(text[], integer, interval, text, text[], integer[]) is
	'claims up to max_jobs jobs of the first of the queues that has any, then of the next; weights: in an order by chance';

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

-- The columns that say how old the jobs of attached queues are, how long jobs are kept, where dead ones go, and what
-- becomes of those that expire.

alter table @extschema@.queue_definition
	add column ready_at text,
	add column claimed_at text,
	add column archive_keep interval,
	add column dead_keep interval,
	add column dead_queue regclass,
	add column on_expire text;

create or replace view @extschema@.queues as
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
	d.created_at,
	d.ready_at,
	d.claimed_at,
	d.archive_keep,
	d.dead_keep,
	d.dead_queue,
	d.on_expire
from @extschema@.queue_definition d
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace;

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
	wake boolean default false,
	ready_at text default null,
	claimed_at text default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_attach';

comment on function @extschema@.queue_attach(
	text, regclass, text, text, text, text, text, text, text, text, interval, boolean, text,
	text
) is 'attaches an existing table as a queue';

create function @extschema@.queue_alter(
	queue text,
	lease interval default null,
	max_attempts integer default null,
	backoff_base interval default null,
	backoff_cap interval default null,
	archive boolean default null,
	ready_at text default null,
	claimed_at text default null,
	kinds boolean default null,
	archive_keep interval default null,
	dead_keep interval default null,
	wake boolean default null,
	dead_queue text default null,
	on_expire text default null
) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_alter';

comment on function @extschema@.queue_alter(
	text, interval, integer, interval, interval, boolean, text, text, boolean, interval, interval,
	boolean, text, text
) is
	'changes the settings of a queue; null leaves a setting unchanged';

-- The kinds of jobs. Whoever has a column of the type queue_job drops it before.

alter type @extschema@.queue_job add attribute kind text;

create function @extschema@.queue_create(
	queue text,
	lease interval default '30 seconds',
	max_attempts integer default 25,
	backoff_base interval default '1 second',
	backoff_cap interval default '1 hour',
	archive boolean default false,
	kinds boolean default false,
	archive_keep interval default null,
	dead_keep interval default null,
	dead_queue text default null,
	on_expire text default null
) returns regclass
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_create';

comment on function @extschema@.queue_create(
	text, interval, integer, interval, interval, boolean, boolean, interval, interval, text,
	text
) is
	'creates a queue and its table, and returns the table';

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

create function @extschema@.queue_send(
	queue text,
	payload jsonb,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	expires_at timestamptz default null,
	expires_in interval default null
) returns bigint
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_send';

comment on function @extschema@.queue_send(text, jsonb, integer, timestamptz, integer, text, timestamptz, interval) is
	'adds a job to a queue and returns its id';

create function @extschema@.queue_send_many(
	queue text,
	payloads jsonb[],
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	expires_at timestamptz default null,
	expires_in interval default null
) returns setof bigint
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_send_many';

comment on function @extschema@.queue_send_many(text, jsonb[], integer, timestamptz, integer, text, timestamptz, interval) is
	'adds a job for each payload and returns their ids in the same order';

create function @extschema@.queue_unique_insert(
	queue text,
	payload jsonb,
	unique_by text[] default null,
	period interval default null,
	states text[] default null,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	time_zone text default null,
	on_conflict text default 'keep',
	max_delay interval default null,
	expires_at timestamptz default null,
	expires_in interval default null,
	out id bigint,
	out inserted boolean,
	out outcome text
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert';

comment on function @extschema@.queue_unique_insert(text, jsonb, text[], interval, text[], integer, timestamptz, integer, text, text, text, interval, timestamptz, interval) is
	'adds a job to a queue unless it is there already, or replaces or postpones the one that waits; returns its id and what happened';

create function @extschema@.queue_unique_insert_many(
	queue text,
	payloads jsonb[],
	unique_by text[] default null,
	period interval default null,
	states text[] default null,
	priority integer default 0,
	run_at timestamptz default null,
	max_attempts integer default null,
	kind text default null,
	time_zone text default null,
	on_conflict text default 'keep',
	max_delay interval default null,
	expires_at timestamptz default null,
	expires_in interval default null,
	out id bigint,
	out inserted boolean,
	out outcome text
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_many';

comment on function @extschema@.queue_unique_insert_many(text, jsonb[], text[], interval, text[], integer, timestamptz, integer, text, text, text, interval, timestamptz, interval) is
	'adds a job for each payload that is not there already, or replaces or postpones the one that waits; returns ids in the same order';

create function @extschema@.queue_unique_key(
	queue text,
	payload jsonb,
	unique_by text[] default null,
	period interval default null,
	run_at timestamptz default null,
	time_zone text default null
) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_key';

comment on function @extschema@.queue_unique_key(text, jsonb, text[], interval, timestamptz, text) is
	'the name of the lock that queue_unique_insert takes with the same arguments';

create procedure @extschema@.queue_maintain(queue text default null)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_maintain';

comment on procedure @extschema@.queue_maintain(text) is
	'removes what a queue, or each queue whose jobs the caller may delete, need not keep any longer: archived and dead jobs';

-- Comments, worded anew.
comment on table @extschema@.queue_definition is
	'registry of queue_ext: one row for each queue, written by its functions only';
comment on view @extschema@.queues is
	'queues of this database, with the SQL that describes their pending rows';
comment on table @extschema@.named_lock is
	'named locks: one row for each lock that was ever acquired';
comment on column @extschema@.named_lock.held_until is
	'when the timeout of the lock expires; null: held until released';
comment on column @extschema@.named_lock.token is
	'number of acquisitions, which is the fencing token of the last holder';
comment on column @extschema@.named_lock.retries_left is
	'number of acquisitions still allowed; null: no limit';
comment on view @extschema@.held_locks is
	'locks that are held, with their holders and times; requires privileges on named_lock';
comment on function @extschema@.mutex_acquire(text) is
	'acquires a lock until mutex_release(); false if it is already held';
comment on function @extschema@.mutex_acquire_fenced(text) is
	'like mutex_acquire(), with a fencing token that grows with each acquisition';
comment on function @extschema@.timeout_acquire(text, interval) is
	'acquires a lock for a time; false if it is already held';
comment on function @extschema@.timeout_acquire_fenced(text, interval) is
	'like timeout_acquire(), with a fencing token that grows with each acquisition';
comment on function @extschema@.mutex_release(text) is
	'releases a lock, no matter which session holds it; false if it is not held';
comment on function @extschema@.mutex_release(text, bigint) is
	'releases a lock if it is held with this token; false otherwise';
comment on function @extschema@.lock_set_retries(text, integer) is
	'sets the number of acquisitions still allowed; null: no limit';
comment on function @extschema@.queue_lock(text) is
	'waits for the lock of this name and takes it until the transaction ends';
comment on function @extschema@.queue_try_lock(text) is
	'takes the lock of this name until the transaction ends if it is free; false otherwise';
comment on function @extschema@.queue_detach(text, boolean) is
	'detaches a queue; its table stays as it is';
comment on function @extschema@.queue_claim_stats_reset() is
	'resets the counters of queue_claim_stats in this database';
comment on function @extschema@.queue_release(text, bigint, integer, timestamptz) is
	'returns a job to its queue without charging the attempt; false if the receipt is stale';
comment on function @extschema@.queue_release_many(text, bigint[], integer[], timestamptz) is
	'returns jobs to their queue without charging the attempt; returns the ids of those whose receipt was valid';
comment on function @extschema@.queue_cancel(text, bigint, integer) is
	'removes a job from its queue in any state; false if there is no such job';
comment on function @extschema@.queue_cancel_many(text, bigint[], integer[]) is
	'removes jobs from their queue in any state; returns the ids of those that were removed';
comment on function @extschema@.queue_requeue(text, bigint, integer) is
	'makes a dead job run again, with the full number of attempts; false if there is no such job';
comment on function @extschema@.queue_requeue_many(text, bigint[], integer[]) is
	'makes dead jobs run again, with the full number of attempts; returns the ids of those that were changed';
comment on function @extschema@.queue_complete_row(text, anyelement) is
	'completes a claimed row: deletes it or writes on_complete; false if its claim is lost';
comment on function @extschema@.queue_release_row(text, anyelement, timestamptz) is
	'returns a claimed row to its queue, writing on_release; false if its claim is lost';
comment on function @extschema@.queue_pop_rows(anyelement, text, integer, interval, text) is
	'claims up to max_jobs rows of the table whose row type is that of source, and returns them';
comment on function @extschema@.queue_is_held(oid, text) is
	'whether this session holds the row by a claim in mode session; claims use it to skip their own rows';
comment on function @extschema@.queue_pause(text) is
	'pauses a queue: its jobs are not claimed; true if it was not paused';
comment on function @extschema@.queue_resume(text) is
	'resumes a paused queue; true if it was paused';
comment on function @extschema@.queue_purge(text, text) is
	'deletes all jobs of a queue, or those in one state, and returns their number; done: the history that unique inserts keep';
comment on function @extschema@.queue_counts(text) is
	'counts the jobs of a queue by state; scans the whole table';
comment on function @extschema@.queue_wake() is
	'trigger function that notifies claims at once of rows written by INSERT, COPY and UPDATE';
comment on table @extschema@.throttled_resource is
	'throttled resources: how often each may be locked, and when and by whom it last was';
comment on column @extschema@.throttled_resource.grants is
	'number of locks allowed in any interval of this length';
comment on column @extschema@.throttled_resource.last_locked is
	'time of the last lock; -infinity: never';
comment on column @extschema@.throttled_resource.last_locker_details is
	'details given by the last locker';
comment on column @extschema@.throttled_resource.earlier_grants is
	'times of the locks before the last, in order, at most grants - 1';
comment on function @extschema@.throttle_create(text, interval, integer) is
	'creates a throttled resource, which may be locked once or grants times in any interval of this length';
comment on function @extschema@.throttle_alter(text, interval, integer) is
	'changes how often a throttled resource may be locked; null leaves a setting unchanged';
comment on function @extschema@.throttle_drop(text, boolean) is
	'drops a throttled resource; false if it does not exist and if_exists is true';
comment on function @extschema@.lock_throttled_resource(text, text) is
	'locks a throttled resource if its limit allows it now; true takes effect if the transaction commits, false returns at once';
alter table @extschema@.queue_unique_job add shard_bucket smallint;

comment on table @extschema@.queue_unique_job is
	'history of jobs that queue_unique_insert added where done jobs count; written by its functions only';

-- Rows of temporary tables are not dumped.

select pg_catalog.pg_extension_config_dump('@extschema@.queue_definition',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source'
	' and c.relpersistence operator(pg_catalog.<>) ''t'')');

select pg_catalog.pg_extension_config_dump('@extschema@.queue_unique_job',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source'
	' and c.relpersistence operator(pg_catalog.<>) ''t'')');

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

create procedure @extschema@.queue_requeue_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_requeue_where';

comment on procedure @extschema@.queue_requeue_where(text, text, jsonb, integer, bigint) is
	'makes the dead jobs run again for which a condition holds, in batches that are committed, and returns their number';

create procedure @extschema@.queue_cancel_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_cancel_where';

comment on procedure @extschema@.queue_cancel_where(text, text, jsonb, integer, bigint) is
	'removes the jobs from their queue for which a condition holds, in batches that are committed, and returns their number';

create procedure @extschema@.queue_delete_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_delete_where';

comment on procedure @extschema@.queue_delete_where(text, text, jsonb, integer, bigint) is
	'deletes the jobs for which a condition holds, without archiving them, in batches that are committed, and returns their number';

create procedure @extschema@.queue_change_where(
	queue text,
	condition text,
	arguments jsonb default '{}',
	priority integer default null,
	run_at timestamptz default null,
	batch_size integer default 1000,
	inout jobs bigint default null
)
language c
as 'MODULE_PATHNAME', 'queue_ext_queue_change_where';

comment on procedure @extschema@.queue_change_where(text, text, jsonb, integer, timestamptz, integer, bigint) is
	'changes the priority or the time of the jobs for which a condition holds, in batches that are committed, and returns their number';

create function @extschema@.queue_complete_pop(
	queue text,
	done_id bigint,
	done_attempt integer,
	lease interval default null,
	worker text default null,
	kinds text[] default null,
	result jsonb default null,
	out completed boolean,
	out id bigint,
	out attempt integer,
	out payload jsonb,
	out priority smallint,
	out run_at timestamptz,
	out max_attempts integer,
	out leased_until timestamptz,
	out leased_by text,
	out last_error text,
	out created_at timestamptz,
	out kind text
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_pop';

comment on function @extschema@.queue_complete_pop(text, bigint, integer, interval, text, text[], jsonb) is
	'completes a job and claims the next one; a stale receipt claims nothing; nulls: only claims';
-- Receipts as text.

create function @extschema@.queue_receipt(queue text, job anyelement) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_receipt';

comment on function @extschema@.queue_receipt(text, anyelement) is
	'the receipt of a claimed row as a short text, which any client can keep';

create function @extschema@.queue_complete_receipt(queue text, receipt text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_receipt';

comment on function @extschema@.queue_complete_receipt(text, text) is
	'completes a claimed row, as queue_complete_row does; false if its claim is lost';

create function @extschema@.queue_complete_receipts(queue text, receipts text[]) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_complete_receipts';

comment on function @extschema@.queue_complete_receipts(text, text[]) is
	'completes claimed rows; returns the receipts that were valid';

create function @extschema@.queue_release_receipt(
	queue text,
	receipt text,
	run_at timestamptz default null
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_release_receipt';

comment on function @extschema@.queue_release_receipt(text, text, timestamptz) is
	'returns a claimed row to its queue, as queue_release_row does; false if its claim is lost';

create function @extschema@.queue_release_receipts(
	queue text,
	receipts text[],
	run_at timestamptz default null
) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_release_receipts';

comment on function @extschema@.queue_release_receipts(text, text[], timestamptz) is
	'returns claimed rows to their queue; returns the receipts that were valid';

create function @extschema@.queue_fail_receipt(
	queue text,
	receipt text,
	error text default null,
	retry_in interval default null,
	retry boolean default true
) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_receipt';

comment on function @extschema@.queue_fail_receipt(text, text, text, interval, boolean) is
	'records a failure of a claimed row, as queue_fail_row does; false if its claim is lost';

create function @extschema@.queue_fail_receipts(
	queue text,
	receipts text[],
	errors text[] default null,
	retry_in interval default null,
	retry boolean default true
) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_fail_receipts';

comment on function @extschema@.queue_fail_receipts(text, text[], text[], interval, boolean) is
	'records failures of claimed rows; returns the receipts that were valid';

create function @extschema@.queue_extend_receipt(
	queue text,
	receipt text,
	lease interval default null,
	progress jsonb default null
) returns text
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_receipt';

comment on function @extschema@.queue_extend_receipt(text, text, interval, jsonb) is
	'renews the lease of a claimed row, as queue_extend_row does; returns the new receipt, or null if its claim is lost';

create function @extschema@.queue_extend_receipts(
	queue text,
	receipts text[],
	lease interval default null,
	progress jsonb[] default null
) returns setof text
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_extend_receipts';

comment on function @extschema@.queue_extend_receipts(text, text[], interval, jsonb[]) is
	'renews the leases of claimed rows; returns for each receipt the new one, or null if its claim is lost';

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

-- The schedules of recurring jobs. The library writes the table without the executor, after it has
-- checked the caller's privileges on the queue's table; only the extension's owner has rights on it.

create table @extschema@.queue_schedule_definition (
	source regclass not null,
	name text collate "C" not null,
	every interval,
	cron text collate "C",
	time_zone text collate "C" not null,
	missed text collate "C" not null,
	payload jsonb not null,
	priority smallint not null,
	max_attempts integer,
	kind text collate "C",
	starts_at timestamptz,
	next_run_at timestamptz not null,
	job bigint,
	last_claimed_at timestamptz,
	created_at timestamptz not null,
	constraint queue_schedule_definition_pkey primary key (source, name)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index queue_schedule_definition_next_idx
	on @extschema@.queue_schedule_definition (source, next_run_at);
create index queue_schedule_definition_job_idx on @extschema@.queue_schedule_definition (source, job);

revoke all on @extschema@.queue_schedule_definition from public;

comment on table @extschema@.queue_schedule_definition is
	'schedules of recurring jobs; written by the functions of queue_ext only';

select pg_catalog.pg_extension_config_dump('@extschema@.queue_schedule_definition',
	'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) source'
	' and c.relpersistence operator(pg_catalog.<>) ''t'')');

create view @extschema@.queue_schedules with (security_barrier) as
select
	pg_catalog.format('%I.%I', n.nspname, d.name) as queue,
	s.name,
	s.every,
	s.cron,
	s.time_zone,
	s.missed,
	case
		when pg_catalog.has_table_privilege(s.source, 'select')
			and not pg_catalog.row_security_active(s.source)
		then s.payload
	end as payload,
	s.next_run_at,
	s.last_claimed_at,
	s.job
from @extschema@.queue_schedule_definition s
join @extschema@.queue_definition d on d.source operator(pg_catalog.=) s.source and d.managed
join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) s.source
join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace;

revoke all on @extschema@.queue_schedules from public;
grant select on @extschema@.queue_schedules to public;

comment on view @extschema@.queue_schedules is
	'schedules of recurring jobs; payload is null for roles that may not read the jobs of the queue';

create function @extschema@.queue_schedule(
	queue text,
	name text,
	every interval default null,
	cron text default null,
	payload jsonb default '{}',
	time_zone text default 'UTC',
	missed text default 'once',
	starts_at timestamptz default null,
	priority integer default 0,
	max_attempts integer default null,
	kind text default null
) returns timestamptz
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_schedule';

comment on function @extschema@.queue_schedule(
	text, text, interval, text, jsonb, text, text, timestamptz, integer, integer, text
) is
	'makes a job recur in a queue, or changes how it does, and returns the time of its next occurrence';

create function @extschema@.queue_unschedule(queue text, name text) returns boolean
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unschedule';

comment on function @extschema@.queue_unschedule(text, text) is
	'ends a schedule and removes the occurrence that no worker has taken; false if there is none';

-- The owners and privileges of the functions that were made anew. What is granted here is not what the extension
-- itself grants, so that a dump has it.

create function @extschema@.update_new() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
	old record;
	new record;
	entry record;
begin
	for old in
		select * from jsonb_to_recordset(current_setting('update_of_queue_ext.kept')::jsonb) as (oid bigint, symbol text, owner bigint, acl text)
	loop
		select p.oid, p.oid::regprocedure as name, p.proowner, p.proacl, coalesce(p.proacl, acldefault('f', p.proowner)) as acl into strict new
		from pg_proc as p
		where p.prosrc = old.symbol and p.oid <> old.oid::oid and exists (
			select from pg_depend as d
			where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
				and d.refobjid = (select e.oid from pg_extension as e where e.extname = 'queue_ext'));
		-- Default privileges may have given the new one others.
		if old.acl is distinct from new.proacl::text then
			for entry in select distinct grantee from aclexplode(new.acl) loop
				execute format('revoke all on function %s from %s', new.name, case entry.grantee when 0 then 'public' else entry.grantee::regrole::text end);
			end loop;
			for entry in select grantee, is_grantable from aclexplode(coalesce(old.acl::aclitem[], acldefault('f', old.owner::oid))) loop
				execute format('grant all on function %s to %s%s', new.name,
					case entry.grantee when 0 then 'public' else entry.grantee::regrole::text end, case when entry.is_grantable then ' with grant option' else '' end);
			end loop;
		end if;
		if old.owner <> new.proowner::bigint then
			execute format('alter function %s owner to %s', new.name, old.owner::oid::regrole);
		end if;
		delete from pg_init_privs where classoid = 'pg_proc'::regclass and objoid = new.oid;
		delete from pg_shdepend
		where classid = 'pg_proc'::regclass and objid = new.oid and deptype = 'i'
			and dbid = (select d.oid from pg_database as d where d.datname = current_database());
		begin
			execute format('drop function %s', old.oid::oid::regprocedure);
		exception when dependent_objects_still_exist then
			-- A dump has it, as the user's.
			execute format('alter extension queue_ext drop function %s', old.oid::oid::regprocedure);
		end;
	end loop;
end $$;

select @extschema@.update_new();

drop function @extschema@.update_new();
