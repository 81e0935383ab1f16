-- The functions of the extension, as their callers see them: changing one of these
-- breaks somebody's program.
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
\set ON_ERROR_STOP 1
begin;

create temporary table wanted (signature text, result text);
insert into wanted values
	('fnv1_32(key text)', 'integer'),
	('fnv1_32(key bytea)', 'integer'),
	('fnv1_64(key text)', 'bigint'),
	('fnv1_64(key bytea)', 'bigint'),
	('fnv1a_32(key text)', 'integer'),
	('fnv1a_32(key bytea)', 'integer'),
	('fnv1a_64(key text)', 'bigint'),
	('fnv1a_64(key bytea)', 'bigint'),
	('fnv_lock_key(key text, prefix integer DEFAULT 0)', 'bigint'),
	('fnv_lock_key(key bytea, prefix integer DEFAULT 0)', 'bigint'),
	('queue_create(queue text, lease interval DEFAULT ''00:00:30''::interval, max_attempts integer DEFAULT 25, '
		'backoff_base interval DEFAULT ''00:00:01''::interval, '
		'backoff_cap interval DEFAULT ''01:00:00''::interval, archive boolean DEFAULT false, '
		'kinds boolean DEFAULT false, '
		'archive_keep interval DEFAULT NULL::interval, dead_keep interval DEFAULT NULL::interval, dead_queue text DEFAULT NULL::text, '
		'on_expire text DEFAULT NULL::text)', 'regclass'),
	('queue_adopt(queue text)', 'regclass'),
	('queue_upgrade(queue text DEFAULT NULL::text)', 'SETOF text'),
	('queue_schedule(queue text, name text, every interval DEFAULT NULL::interval, cron text DEFAULT NULL::text, '
		'payload jsonb DEFAULT ''{}''::jsonb, time_zone text DEFAULT ''UTC''::text, missed text DEFAULT ''once''::text, '
		'starts_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, '
		'max_attempts integer DEFAULT NULL::integer, kind text DEFAULT NULL::text)', 'timestamp with time zone'),
	('queue_unschedule(queue text, name text)', 'boolean'),
	('queue_alter(queue text, lease interval DEFAULT NULL::interval, max_attempts integer DEFAULT NULL::integer, '
		'backoff_base interval DEFAULT NULL::interval, backoff_cap interval DEFAULT NULL::interval, '
		'archive boolean DEFAULT NULL::boolean, ready_at text DEFAULT NULL::text, claimed_at text DEFAULT NULL::text, '
		'kinds boolean DEFAULT NULL::boolean, '
		'archive_keep interval DEFAULT NULL::interval, dead_keep interval DEFAULT NULL::interval, '
		'wake boolean DEFAULT NULL::boolean, dead_queue text DEFAULT NULL::text, on_expire text DEFAULT NULL::text)', 'void'),
	('queue_attach(queue text, source regclass, pending text, order_by text DEFAULT NULL::text, '
		'on_claim text DEFAULT NULL::text, on_complete text DEFAULT NULL::text, on_release text DEFAULT NULL::text, '
		'on_fail text DEFAULT NULL::text, claim_mode text DEFAULT ''update''::text, '
		'on_extend text DEFAULT NULL::text, lease interval DEFAULT ''00:00:30''::interval, '
		'wake boolean DEFAULT false, ready_at text DEFAULT NULL::text, claimed_at text DEFAULT NULL::text)', 'void'),
	('queue_wake()', 'trigger'),
	('queue_detach(queue text, if_exists boolean DEFAULT false)', 'boolean'),
	('queue_pop_rows(source anyelement, queue text DEFAULT NULL::text, max_jobs integer DEFAULT 1, '
		'lease interval DEFAULT NULL::interval, worker text DEFAULT NULL::text)', 'SETOF anyelement'),
	('queue_complete_row(queue text, job anyelement)', 'boolean'),
	('queue_release_row(queue text, job anyelement, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone)', 'boolean'),
	('queue_fail_row(queue text, job anyelement, error text DEFAULT NULL::text, '
		'retry_in interval DEFAULT NULL::interval, retry boolean DEFAULT true)', 'boolean'),
	('queue_extend_row(queue text, job anyelement, lease interval DEFAULT NULL::interval, progress jsonb DEFAULT NULL::jsonb)', 'anyelement'),
	('queue_receipt(queue text, job anyelement)', 'text'),
	('queue_complete_receipt(queue text, receipt text)', 'boolean'),
	('queue_complete_receipts(queue text, receipts text[])', 'SETOF text'),
	('queue_release_receipt(queue text, receipt text, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone)', 'boolean'),
	('queue_release_receipts(queue text, receipts text[], '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone)', 'SETOF text'),
	('queue_fail_receipt(queue text, receipt text, error text DEFAULT NULL::text, '
		'retry_in interval DEFAULT NULL::interval, retry boolean DEFAULT true)', 'boolean'),
	('queue_fail_receipts(queue text, receipts text[], errors text[] DEFAULT NULL::text[], '
		'retry_in interval DEFAULT NULL::interval, retry boolean DEFAULT true)', 'SETOF text'),
	('queue_extend_receipt(queue text, receipt text, lease interval DEFAULT NULL::interval, progress jsonb DEFAULT NULL::jsonb)', 'text'),
	('queue_extend_receipts(queue text, receipts text[], lease interval DEFAULT NULL::interval, '
		'progress jsonb[] DEFAULT NULL::jsonb[])', 'SETOF text'),
	('queue_is_held(source oid, identity text)', 'boolean'),
	('queue_claim_counters(OUT queue text, OUT source regclass, OUT claims bigint, OUT empty_pops bigint, OUT fills bigint, '
		'OUT sweeps bigint, OUT locked bigint, OUT gone bigint, OUT not_pending bigint, '
		'OUT candidates integer, OUT fill_time double precision, OUT path text, OUT waiting integer, OUT wakes bigint)', 'SETOF record'),
	('queue_claim_stats_reset()', 'void'),
	('queue_stats_counters(OUT source oid, OUT name text, OUT since timestamp with time zone, OUT sent bigint, '
		'OUT claimed bigint, OUT completed bigint, OUT failed bigint, OUT retried bigint, OUT dead bigint, OUT moved bigint, OUT unstarted bigint, '
		'OUT released bigint, OUT cancelled bigint, OUT expired bigint, OUT duplicates bigint, OUT waits bigint, '
		'OUT waiting integer, OUT ready bigint, OUT ready_exact boolean, OUT scheduled bigint, OUT leased bigint, '
		'OUT oldest_ready_at timestamp with time zone, OUT oldest_exact boolean)', 'SETOF record'),
	('queue_stats_buckets(of_runs boolean, OUT source oid, OUT name text, OUT le double precision, OUT jobs bigint, '
		'OUT total_seconds double precision)', 'SETOF record'),
	('queue_stats_reset(queue text DEFAULT NULL::text)', 'void'),
	('throttle_create(resource text, throttle_interval interval, grants integer DEFAULT 1)', 'void'),
	('throttle_alter(resource text, throttle_interval interval DEFAULT NULL::interval, '
		'grants integer DEFAULT NULL::integer)', 'void'),
	('throttle_drop(resource text, if_exists boolean DEFAULT false)', 'boolean'),
	('lock_throttled_resource(resource text, details text)', 'boolean'),
	('throttle_acquire(resource text, details text, OUT acquired boolean, OUT retry_at timestamp with time zone)', 'record'),
	('throttle_acquire(resource anyenum, details text, OUT acquired boolean, OUT retry_at timestamp with time zone)', 'record'),
	('throttle_create(resource anyenum, throttle_interval interval, grants integer DEFAULT 1)', 'void'),
	('throttle_alter(resource anyenum, throttle_interval interval DEFAULT NULL::interval, '
		'grants integer DEFAULT NULL::integer)', 'void'),
	('throttle_drop(resource anyenum, if_exists boolean DEFAULT false)', 'boolean'),
	('lock_throttled_resource(resource anyenum, details text)', 'boolean'),
	('mutex_acquire(task_id text)', 'boolean'),
	('mutex_acquire_fenced(task_id text, OUT acquired boolean, OUT token bigint)', 'record'),
	('timeout_acquire(task_id text, timeout interval)', 'boolean'),
	('timeout_acquire_fenced(task_id text, timeout interval, OUT acquired boolean, OUT token bigint)', 'record'),
	('mutex_release(task_id text)', 'boolean'),
	('mutex_release(task_id text, token bigint)', 'boolean'),
	('lock_set_retries(task_id text, retries integer)', 'void'),
	('queue_drop(queue text, if_exists boolean DEFAULT false)', 'boolean'),
	('queue_pause(queue text)', 'boolean'),
	('queue_resume(queue text)', 'boolean'),
	('queue_purge(queue text, state text DEFAULT NULL::text)', 'bigint'),
	('queue_health(queue text DEFAULT NULL::text)', 'SETOF queue_finding'),
	('queue_claim_path(queue text, OUT path text, OUT reason text, OUT hint text)', 'record'),
	('queue_result(queue text, id bigint, OUT state text, OUT finished_at timestamp with time zone, OUT result jsonb)', 'record'),
	('queue_counts(queue text, OUT ready bigint, OUT scheduled bigint, OUT leased bigint, OUT dead bigint)', 'record'),
	('queue_send(queue text, payload jsonb, priority integer DEFAULT 0, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'max_attempts integer DEFAULT NULL::integer, kind text DEFAULT NULL::text, '
		'expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, expires_in interval DEFAULT NULL::interval)', 'bigint'),
	('queue_send_many(queue text, payloads jsonb[], priority integer DEFAULT 0, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'max_attempts integer DEFAULT NULL::integer, kind text DEFAULT NULL::text, '
		'expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, expires_in interval DEFAULT NULL::interval)', 'SETOF bigint'),
	('queue_lock(key text)', 'void'),
	('queue_try_lock(key text)', 'boolean'),
	('queue_unique_insert(queue text, payload jsonb, unique_by text[] DEFAULT NULL::text[], '
		'period interval DEFAULT NULL::interval, states text[] DEFAULT NULL::text[], priority integer DEFAULT 0, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'max_attempts integer DEFAULT NULL::integer, kind text DEFAULT NULL::text, time_zone text DEFAULT NULL::text, '
		'on_conflict text DEFAULT ''keep''::text, max_delay interval DEFAULT NULL::interval, '
		'expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, expires_in interval DEFAULT NULL::interval, OUT id bigint, OUT inserted boolean, OUT outcome text)', 'record'),
	('queue_unique_insert_many(queue text, payloads jsonb[], unique_by text[] DEFAULT NULL::text[], '
		'period interval DEFAULT NULL::interval, states text[] DEFAULT NULL::text[], priority integer DEFAULT 0, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'max_attempts integer DEFAULT NULL::integer, kind text DEFAULT NULL::text, time_zone text DEFAULT NULL::text, '
		'on_conflict text DEFAULT ''keep''::text, max_delay interval DEFAULT NULL::interval, '
		'expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, expires_in interval DEFAULT NULL::interval, OUT id bigint, OUT inserted boolean, OUT outcome text)', 'SETOF record'),
	('queue_unique_insert_row(job anyelement, unique_by text[], among text DEFAULT NULL::text, '
		'OUT inserted boolean, OUT job anyelement)', 'record'),
	('queue_unique_insert_rows(jobs anyarray, unique_by text[], among text DEFAULT NULL::text, '
		'OUT inserted boolean, OUT job anyelement)', 'SETOF record'),
	('queue_unique_key(queue text, payload jsonb, unique_by text[] DEFAULT NULL::text[], '
		'period interval DEFAULT NULL::interval, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, time_zone text DEFAULT NULL::text)', 'text'),
	('queue_pop(queue text, max_jobs integer DEFAULT 1, lease interval DEFAULT NULL::interval, '
		'worker text DEFAULT NULL::text, kinds text[] DEFAULT NULL::text[])', 'SETOF queue_job'),
	('queue_complete(queue text, id bigint, attempt integer DEFAULT NULL::integer, result jsonb DEFAULT NULL::jsonb)', 'boolean'),
	('queue_fail(queue text, id bigint, attempt integer DEFAULT NULL::integer, error text DEFAULT NULL::text, '
		'retry_in interval DEFAULT NULL::interval, retry boolean DEFAULT true)', 'boolean'),
	('queue_release(queue text, id bigint, attempt integer DEFAULT NULL::integer, '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone)', 'boolean'),
	('queue_extend(queue text, id bigint, attempt integer DEFAULT NULL::integer, lease interval DEFAULT NULL::interval, '
		'progress jsonb DEFAULT NULL::jsonb)', 'boolean'),
	('queue_cancel(queue text, id bigint, attempt integer DEFAULT NULL::integer)', 'boolean'),
	('queue_requeue(queue text, id bigint, attempt integer DEFAULT NULL::integer)', 'boolean'),
	('queue_complete_many(queue text, ids bigint[], attempts integer[] DEFAULT NULL::integer[], results jsonb[] DEFAULT NULL::jsonb[])', 'SETOF bigint'),
	('queue_fail_many(queue text, ids bigint[], attempts integer[] DEFAULT NULL::integer[], errors text[] DEFAULT NULL::text[], '
		'retry_in interval DEFAULT NULL::interval, retry boolean DEFAULT true)', 'SETOF bigint'),
	('queue_release_many(queue text, ids bigint[], attempts integer[] DEFAULT NULL::integer[], '
		'run_at timestamp with time zone DEFAULT NULL::timestamp with time zone)', 'SETOF bigint'),
	('queue_extend_many(queue text, ids bigint[], attempts integer[] DEFAULT NULL::integer[], '
		'lease interval DEFAULT NULL::interval, progress jsonb[] DEFAULT NULL::jsonb[])', 'SETOF bigint'),
	('queue_cancel_many(queue text, ids bigint[], attempts integer[] DEFAULT NULL::integer[])', 'SETOF bigint'),
	('queue_requeue_many(queue text, ids bigint[], attempts integer[] DEFAULT NULL::integer[])', 'SETOF bigint'),
	('queue_pop_any(queues text[], max_jobs integer DEFAULT 1, lease interval DEFAULT NULL::interval, '
		'worker text DEFAULT NULL::text, kinds text[] DEFAULT NULL::text[], weights integer[] DEFAULT NULL::integer[])', 'SETOF queue_any_job'),
	('queue_complete_pop(queue text, done_id bigint, done_attempt integer, lease interval DEFAULT NULL::interval, '
		'worker text DEFAULT NULL::text, kinds text[] DEFAULT NULL::text[], '
		'result jsonb DEFAULT NULL::jsonb, OUT completed boolean, OUT id bigint, OUT attempt integer, OUT payload jsonb, '
		'OUT priority smallint, OUT run_at timestamp with time zone, OUT max_attempts integer, '
		'OUT leased_until timestamp with time zone, OUT leased_by text, OUT last_error text, '
		'OUT created_at timestamp with time zone, OUT kind text)', 'record'),
	('queue_wait(IN queue text, IN wait interval DEFAULT ''00:01:00''::interval, '
		'IN kinds text[] DEFAULT NULL::text[], IN worker text DEFAULT NULL::text)', null),
	('queue_maintain(IN queue text DEFAULT NULL::text)', null),
	('queue_wait_done(IN queue text, IN id bigint, IN wait interval DEFAULT ''00:01:00''::interval, INOUT state text DEFAULT NULL::text, '
		'INOUT result jsonb DEFAULT NULL::jsonb)', null),
	('queue_pop_wait(IN queue text, IN wait interval DEFAULT ''00:01:00''::interval, '
		'IN lease interval DEFAULT NULL::interval, IN worker text DEFAULT NULL::text, '
		'INOUT id bigint DEFAULT NULL::bigint, INOUT attempt integer DEFAULT NULL::integer, '
		'INOUT payload jsonb DEFAULT NULL::jsonb, INOUT priority smallint DEFAULT NULL::smallint, '
		'INOUT run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'INOUT max_attempts integer DEFAULT NULL::integer, '
		'INOUT leased_until timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'INOUT leased_by text DEFAULT NULL::text, INOUT last_error text DEFAULT NULL::text, '
		'INOUT created_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'INOUT kind text DEFAULT NULL::text, IN kinds text[] DEFAULT NULL::text[])', null),
	('queue_pop_wait_any(IN queues text[], IN wait interval DEFAULT ''00:01:00''::interval, '
		'IN lease interval DEFAULT NULL::interval, IN worker text DEFAULT NULL::text, '
		'INOUT queue text DEFAULT NULL::text, INOUT id bigint DEFAULT NULL::bigint, INOUT attempt integer DEFAULT NULL::integer, '
		'INOUT payload jsonb DEFAULT NULL::jsonb, INOUT priority smallint DEFAULT NULL::smallint, '
		'INOUT run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'INOUT max_attempts integer DEFAULT NULL::integer, '
		'INOUT leased_until timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'INOUT leased_by text DEFAULT NULL::text, INOUT last_error text DEFAULT NULL::text, '
		'INOUT created_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'INOUT kind text DEFAULT NULL::text, IN kinds text[] DEFAULT NULL::text[], '
		'IN weights integer[] DEFAULT NULL::integer[])', null),
	('queue_requeue_where(IN queue text, IN condition text, IN arguments jsonb DEFAULT ''{}''::jsonb, '
		'IN batch_size integer DEFAULT 1000, INOUT jobs bigint DEFAULT NULL::bigint)', null),
	('queue_cancel_where(IN queue text, IN condition text, IN arguments jsonb DEFAULT ''{}''::jsonb, '
		'IN batch_size integer DEFAULT 1000, INOUT jobs bigint DEFAULT NULL::bigint)', null),
	('queue_delete_where(IN queue text, IN condition text, IN arguments jsonb DEFAULT ''{}''::jsonb, '
		'IN batch_size integer DEFAULT 1000, INOUT jobs bigint DEFAULT NULL::bigint)', null),
	('queue_change_where(IN queue text, IN condition text, IN arguments jsonb DEFAULT ''{}''::jsonb, '
		'IN priority integer DEFAULT NULL::integer, IN run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'IN batch_size integer DEFAULT 1000, INOUT jobs bigint DEFAULT NULL::bigint)', null);

create temporary view member as
select p.*
from pg_proc p
join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
join pg_extension e on d.refclassid = 'pg_extension'::regclass and e.oid = d.refobjid
where e.extname = 'queue_ext';

select plan(14);

select bag_eq(
	$$select format('%s(%s)', proname, pg_get_function_arguments(oid)), pg_get_function_result(oid) from member$$,
	'select signature, result from wanted',
	'the functions, their arguments, defaults and results'
);
select is_empty(
	$$select oid::regprocedure from member where prolang <> (select oid from pg_language where lanname = 'c')$$,
	'all are in C'
);
select is_empty(
	$$select oid::regprocedure from member
	  where prosrc <> 'queue_ext_' || proname || case proargtypes[0] when 'anyenum'::regtype then '_enum' else '' end
	  and proname not like 'fnv%'$$,
	'a C entry point has the name of its function'
);
select is_empty('select oid::regprocedure from member where prosecdef', 'none is SECURITY DEFINER');
select is_empty('select oid::regprocedure from member where proleakproof', 'none is LEAKPROOF');
select bag_eq(
	$$select oid::regprocedure::text from member where provolatile <> 'v' or proparallel <> 'u'$$,
	$$select oid::regprocedure::text from member where proname like 'fnv%' or proname in ('queue_is_held', 'queue_lock', 'queue_try_lock')$$,
	'all others are VOLATILE and PARALLEL UNSAFE'
);
select bag_eq(
	$$select proname::text from member where proisstrict and proname not like 'fnv%' and proname not in ('queue_is_held', 'queue_lock', 'queue_try_lock')$$,
	$$values ('lock_throttled_resource'), ('lock_throttled_resource'), ('mutex_acquire'), ('mutex_acquire_fenced'), ('timeout_acquire'),
	         ('timeout_acquire_fenced'), ('mutex_release'), ('mutex_release')$$,
	'those that ask for a lock are STRICT, the others not'
);
select bag_eq(
	$$select oid::regprocedure::text from member where provolatile = 'i' and proparallel = 's' and proisstrict$$,
	$$select oid::regprocedure::text from member where proname like 'fnv%'$$,
	'those for keys are IMMUTABLE, PARALLEL SAFE and STRICT'
);
select results_eq(
	$$select provolatile::text, proparallel::text, proisstrict from member where proname = 'queue_is_held'$$,
	$$values ('v', 'r', true)$$,
	'but queue_is_held, which claims use, is STRICT, and of the leader'
);
select bag_eq(
	$$select proname::text, provolatile::text, proparallel::text, proisstrict from member
	  where proname in ('queue_lock', 'queue_try_lock')$$,
	$$values ('queue_lock', 'v', 'r', true), ('queue_try_lock', 'v', 'r', true)$$,
	'and those that only lock, like pg_advisory_xact_lock'
);
select is_empty(
	$$select oid::regprocedure from member where not has_function_privilege('public', oid, 'execute')
	  and proname not in ('queue_claim_stats_reset', 'queue_stats_reset')$$,
	'anyone may call them: what they do is done as the caller'
);
select is_empty(
	$$select oid::regprocedure from member where obj_description(oid, 'pg_proc') is null$$,
	'each has a comment'
);
select is_empty(
	$$select oid::regprocedure from member where obj_description(oid, 'pg_proc') ~ '\.$'$$,
	'a comment ends without a full stop'
);
-- select f($1, $2) must find one function whatever the types.
select bag_eq(
	$$select a.proname::text, a.pronargs::integer
	  from member a
	  join member b on a.proname = b.proname and a.oid < b.oid
	  where a.pronargs >= b.pronargs - b.pronargdefaults and b.pronargs >= a.pronargs - a.pronargdefaults$$,
	$$values ('fnv1_32', 1), ('fnv1_64', 1), ('fnv1a_32', 1), ('fnv1a_64', 1), ('fnv_lock_key', 2),
	         ('throttle_create', 3), ('throttle_alter', 3), ('throttle_drop', 2), ('lock_throttled_resource', 2),
	         ('throttle_acquire', 2)$$,
	'no two differ in their types alone, but those that prefer text to bytes or to an enum'
);

select * from finish();
rollback;
