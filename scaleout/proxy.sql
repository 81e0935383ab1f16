-- Made by scaleout/generate from the extension's functions and scaleout/routes; do not edit.

select queue_proxy.make_type('@schema@.queue_job', array['id bigint', 'attempt integer', 'payload jsonb', 'priority smallint', 'run_at timestamp with time zone', 'max_attempts integer', 'leased_until timestamp with time zone', 'leased_by text', 'last_error text', 'created_at timestamp with time zone', 'kind text']);
select queue_proxy.make_type('@schema@.queue_any_job', array['queue text', 'id bigint', 'attempt integer', 'payload jsonb', 'priority smallint', 'run_at timestamp with time zone', 'max_attempts integer', 'leased_until timestamp with time zone', 'leased_by text', 'last_error text', 'created_at timestamp with time zone', 'kind text']);
select queue_proxy.make_type('@schema@.queue_finding', array['finding text', 'severity text', 'queue text', 'detail text', 'hint text']);
select queue_proxy.make_type('queue_proxy.queue_row', array['id bigint', 'run_at timestamp with time zone', 'created_at timestamp with time zone', 'leased_until timestamp with time zone', 'dead_at timestamp with time zone', 'claimed_at timestamp with time zone', 'expires_at timestamp with time zone', 'attempt integer', 'max_attempts integer', 'priority smallint', 'leased_by text', 'last_error text', 'payload jsonb', 'unique_key text', 'kind text', 'released integer', 'errors jsonb', 'progress jsonb', 'origin jsonb']);
select queue_proxy.make_type('queue_proxy.queues_row', array['queue text', 'source text', 'managed boolean', 'claim_mode text', 'paused boolean', 'lease interval', 'max_attempts integer', 'backoff_base interval', 'backoff_cap interval', 'archive text', 'pending text', 'order_by text', 'on_claim text', 'on_complete text', 'on_release text', 'on_fail text', 'on_extend text', 'search_path text', 'created_at timestamp with time zone', 'ready_at text', 'claimed_at text', 'archive_keep interval', 'dead_keep interval', 'dead_queue text', 'on_expire text']);
select queue_proxy.make_type('queue_proxy.queue_stats_row', array['queue text', 'source text', 'since timestamp with time zone', 'sent bigint', 'claimed bigint', 'completed bigint', 'failed bigint', 'retried bigint', 'dead bigint', 'moved bigint', 'unstarted bigint', 'released bigint', 'cancelled bigint', 'expired bigint', 'duplicates bigint', 'waits bigint', 'waiting integer', 'ready bigint', 'ready_exact boolean', 'scheduled bigint', 'leased bigint', 'oldest_ready_at timestamp with time zone', 'oldest_exact boolean']);
select queue_proxy.make_type('queue_proxy.queue_wait_histogram_row', array['queue text', 'source text', 'le double precision', 'jobs bigint', 'total_seconds double precision']);
select queue_proxy.make_type('queue_proxy.queue_run_histogram_row', array['queue text', 'source text', 'le double precision', 'jobs bigint', 'total_seconds double precision']);
select queue_proxy.make_type('queue_proxy.queue_schedules_row', array['queue text', 'name text', 'every interval', 'cron text', 'time_zone text', 'missed text', 'payload jsonb', 'next_run_at timestamp with time zone', 'last_claimed_at timestamp with time zone', 'job bigint']);
select queue_proxy.make_type('queue_proxy.held_locks_row', array['task_id text', 'holder text', 'since timestamp with time zone', 'until timestamp with time zone', 'token bigint']);
select queue_proxy.make_type('queue_proxy.throttled_resource_row', array['resource text', 'throttle_interval interval', 'grants integer', 'last_locked timestamp with time zone', 'last_locker_details text', 'earlier_grants timestamp with time zone[]']);

create or replace function queue_remote.lock_set_retries(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	retries integer
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.lock_set_retries; $$;

create or replace function queue_remote.lock_throttled_resource(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	details text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.lock_throttled_resource; $$;

create or replace function queue_remote.mutex_acquire(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.mutex_acquire; $$;

create or replace function queue_remote.mutex_acquire_fenced(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	out acquired boolean,
	out token bigint
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.mutex_acquire_fenced; $$;

create or replace function queue_remote.mutex_release(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.mutex_release; $$;

create or replace function queue_remote.mutex_release(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	token bigint
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.mutex_release; $$;

create or replace function queue_remote.queue_alter(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	lease interval,
	max_attempts integer,
	backoff_base interval,
	backoff_cap interval,
	archive boolean,
	ready_at text,
	claimed_at text,
	kinds boolean,
	archive_keep interval,
	dead_keep interval,
	wake boolean,
	dead_queue text,
	on_expire text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_alter; $$;

create or replace function queue_remote.queue_cancel(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_cancel; $$;

create or replace function queue_remote.queue_cancel_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[]
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_cancel_many; $$;

create or replace function queue_remote.queue_complete(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	result jsonb
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_complete; $$;

create or replace function queue_remote.queue_complete_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	results jsonb[]
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_complete_many; $$;

create or replace function queue_remote.queue_complete_pop(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	done_id bigint,
	done_attempt integer,
	lease interval,
	worker text,
	kinds text[],
	result jsonb,
	out completed boolean,
	out id bigint,
	out attempt integer,
	out payload jsonb,
	out priority smallint,
	out run_at timestamp with time zone,
	out max_attempts integer,
	out leased_until timestamp with time zone,
	out leased_by text,
	out last_error text,
	out created_at timestamp with time zone,
	out kind text
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_complete_pop; $$;

create or replace function queue_remote.queue_counts(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	out ready bigint,
	out scheduled bigint,
	out leased bigint,
	out dead bigint
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_counts; $$;

create or replace function queue_remote.queue_create(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	lease interval,
	max_attempts integer,
	backoff_base interval,
	backoff_cap interval,
	archive boolean,
	kinds boolean,
	archive_keep interval,
	dead_keep interval,
	dead_queue text,
	on_expire text,
	out existed boolean,
	out schema_name text,
	out table_name text,
	out settings text
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_create; $$;

create or replace function queue_remote.queue_drop(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	if_exists boolean
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_drop; $$;

create or replace function queue_remote.queue_extend(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	lease interval,
	progress jsonb
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_extend; $$;

create or replace function queue_remote.queue_extend_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	lease interval,
	progress jsonb[]
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_extend_many; $$;

create or replace function queue_remote.queue_fail(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	error text,
	retry_in interval,
	retry boolean
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_fail; $$;

create or replace function queue_remote.queue_fail_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	errors text[],
	retry_in interval,
	retry boolean
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_fail_many; $$;

create or replace function queue_remote.queue_health(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns setof @schema@.queue_finding
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_health; $$;

create or replace function queue_remote.queue_pause(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_pause; $$;

create or replace function queue_remote.queue_pop(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	max_jobs integer,
	lease interval,
	worker text,
	kinds text[]
) returns setof @schema@.queue_job
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_pop; $$;

create or replace function queue_remote.queue_pop_any(
	_shard integer,
	_version bigint,
	_bucket integer,
	queues text[],
	max_jobs integer,
	lease interval,
	worker text,
	kinds text[],
	weights integer[]
) returns setof @schema@.queue_any_job
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_pop_any; $$;

create or replace function queue_remote.queue_purge(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	state text
) returns bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_purge; $$;

create or replace function queue_remote.queue_release(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	run_at timestamp with time zone
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_release; $$;

create or replace function queue_remote.queue_release_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	run_at timestamp with time zone
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_release_many; $$;

create or replace function queue_remote.queue_requeue(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_requeue; $$;

create or replace function queue_remote.queue_requeue_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[]
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_requeue_many; $$;

create or replace function queue_remote.queue_result(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	out state text,
	out finished_at timestamp with time zone,
	out result jsonb
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_result; $$;

create or replace function queue_remote.queue_resume(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_resume; $$;

create or replace function queue_remote.queue_schedule(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	name text,
	every interval,
	cron text,
	payload jsonb,
	time_zone text,
	missed text,
	starts_at timestamp with time zone,
	priority integer,
	max_attempts integer,
	kind text
) returns timestamp with time zone
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_schedule; $$;

create or replace function queue_remote.queue_send(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	payload jsonb,
	priority integer,
	run_at timestamp with time zone,
	max_attempts integer,
	kind text,
	expires_at timestamp with time zone,
	expires_in interval
) returns bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_send; $$;

create or replace function queue_remote.queue_send_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	payloads jsonb[],
	priority integer,
	run_at timestamp with time zone,
	max_attempts integer,
	kind text,
	expires_at timestamp with time zone,
	expires_in interval
) returns setof bigint
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_send_many; $$;

create or replace function queue_remote.queue_stats_reset(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_stats_reset; $$;

create or replace function queue_remote.queue_unique_insert(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	payload jsonb,
	unique_by text[],
	period interval,
	states text[],
	priority integer,
	run_at timestamp with time zone,
	max_attempts integer,
	kind text,
	time_zone text,
	on_conflict text,
	max_delay interval,
	expires_at timestamp with time zone,
	expires_in interval,
	out id bigint,
	out inserted boolean,
	out outcome text
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_unique_insert; $$;

create or replace function queue_remote.queue_unique_insert_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	payloads jsonb[],
	unique_by text[],
	period interval,
	states text[],
	priority integer,
	run_at timestamp with time zone,
	max_attempts integer,
	kind text,
	time_zone text,
	on_conflict text,
	max_delay interval,
	expires_at timestamp with time zone,
	expires_in interval,
	out id bigint,
	out inserted boolean,
	out outcome text
) returns setof record
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_unique_insert_many; $$;

create or replace function queue_remote.queue_unschedule(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	name text
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_unschedule; $$;

create or replace function queue_remote.throttle_acquire(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	details text,
	out acquired boolean,
	out retry_at timestamp with time zone
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.throttle_acquire; $$;

create or replace function queue_remote.throttle_alter(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	throttle_interval interval,
	grants integer
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.throttle_alter; $$;

create or replace function queue_remote.throttle_create(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	throttle_interval interval,
	grants integer
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.throttle_create; $$;

create or replace function queue_remote.throttle_drop(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	if_exists boolean
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.throttle_drop; $$;

create or replace function queue_remote.timeout_acquire(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	timeout interval
) returns boolean
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.timeout_acquire; $$;

create or replace function queue_remote.timeout_acquire_fenced(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	timeout interval,
	out acquired boolean,
	out token bigint
)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.timeout_acquire_fenced; $$;

create or replace function queue_remote.queue_rows(
	_shard integer,
	_version bigint,
	_bucket integer,
	_queue text
) returns setof queue_proxy.queue_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_rows; $$;

create or replace function queue_remote.queues(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.queues_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queues; $$;

create or replace function queue_remote.queue_stats(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.queue_stats_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_stats; $$;

create or replace function queue_remote.queue_wait_histogram(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.queue_wait_histogram_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_wait_histogram; $$;

create or replace function queue_remote.queue_run_histogram(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.queue_run_histogram_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_run_histogram; $$;

create or replace function queue_remote.queue_schedules(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.queue_schedules_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_schedules; $$;

create or replace function queue_remote.held_locks(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.held_locks_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.held_locks; $$;

create or replace function queue_remote.throttled_resource(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_proxy.throttled_resource_row
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.throttled_resource; $$;

create or replace function queue_proxy.queue_rows(_queue text) returns setof queue_proxy.queue_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queue_rows(_shard, _version, null, $1);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.queues() returns setof queue_proxy.queues_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queues(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.queue_stats() returns setof queue_proxy.queue_stats_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queue_stats(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.queue_wait_histogram() returns setof queue_proxy.queue_wait_histogram_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queue_wait_histogram(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.queue_run_histogram() returns setof queue_proxy.queue_run_histogram_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queue_run_histogram(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.queue_schedules() returns setof queue_proxy.queue_schedules_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queue_schedules(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.held_locks() returns setof queue_proxy.held_locks_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.held_locks(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function queue_proxy.throttled_resource() returns setof queue_proxy.throttled_resource_row
language plpgsql volatile parallel unsafe rows 1000
set search_path = pg_catalog, pg_temp
set client_min_messages = error
as $$
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.throttled_resource(_shard, _version, null);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
end
$$;

create or replace function @schema@.fnv1_32(
	key bytea
) returns integer
language sql immutable strict parallel safe
as $$
select queue_local.fnv1_32($1);
$$;
comment on function @schema@.fnv1_32(bytea) is
	'32-bit FNV-1 hash of the bytes, read as a signed integer';
insert into queue_proxy.member values ('function', '@schema@.fnv1_32(bytea)');

create or replace function @schema@.fnv1_32(
	key text
) returns integer
language sql immutable strict parallel safe
as $$
select queue_local.fnv1_32($1);
$$;
comment on function @schema@.fnv1_32(text) is
	'32-bit FNV-1 hash of the UTF-8 bytes of the text, read as a signed integer';
insert into queue_proxy.member values ('function', '@schema@.fnv1_32(text)');

create or replace function @schema@.fnv1_64(
	key bytea
) returns bigint
language sql immutable strict parallel safe
as $$
select queue_local.fnv1_64($1);
$$;
comment on function @schema@.fnv1_64(bytea) is
	'64-bit FNV-1 hash of the bytes, read as a signed bigint';
insert into queue_proxy.member values ('function', '@schema@.fnv1_64(bytea)');

create or replace function @schema@.fnv1_64(
	key text
) returns bigint
language sql immutable strict parallel safe
as $$
select queue_local.fnv1_64($1);
$$;
comment on function @schema@.fnv1_64(text) is
	'64-bit FNV-1 hash of the UTF-8 bytes of the text, read as a signed bigint';
insert into queue_proxy.member values ('function', '@schema@.fnv1_64(text)');

create or replace function @schema@.fnv1a_32(
	key bytea
) returns integer
language sql immutable strict parallel safe
as $$
select queue_local.fnv1a_32($1);
$$;
comment on function @schema@.fnv1a_32(bytea) is
	'32-bit FNV-1a hash of the bytes, read as a signed integer';
insert into queue_proxy.member values ('function', '@schema@.fnv1a_32(bytea)');

create or replace function @schema@.fnv1a_32(
	key text
) returns integer
language sql immutable strict parallel safe
as $$
select queue_local.fnv1a_32($1);
$$;
comment on function @schema@.fnv1a_32(text) is
	'32-bit FNV-1a hash of the UTF-8 bytes of the text, read as a signed integer';
insert into queue_proxy.member values ('function', '@schema@.fnv1a_32(text)');

create or replace function @schema@.fnv1a_64(
	key bytea
) returns bigint
language sql immutable strict parallel safe
as $$
select queue_local.fnv1a_64($1);
$$;
comment on function @schema@.fnv1a_64(bytea) is
	'64-bit FNV-1a hash of the bytes, read as a signed bigint';
insert into queue_proxy.member values ('function', '@schema@.fnv1a_64(bytea)');

create or replace function @schema@.fnv1a_64(
	key text
) returns bigint
language sql immutable strict parallel safe
as $$
select queue_local.fnv1a_64($1);
$$;
comment on function @schema@.fnv1a_64(text) is
	'64-bit FNV-1a hash of the UTF-8 bytes of the text, read as a signed bigint';
insert into queue_proxy.member values ('function', '@schema@.fnv1a_64(text)');

create or replace function @schema@.fnv_lock_key(
	key bytea,
	prefix integer default 0
) returns bigint
language sql immutable strict parallel safe
as $$
select queue_local.fnv_lock_key($1, $2);
$$;
comment on function @schema@.fnv_lock_key(bytea, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the bytes, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';
insert into queue_proxy.member values ('function', '@schema@.fnv_lock_key(bytea, integer)');

create or replace function @schema@.fnv_lock_key(
	key text,
	prefix integer default 0
) returns bigint
language sql immutable strict parallel safe
as $$
select queue_local.fnv_lock_key($1, $2);
$$;
comment on function @schema@.fnv_lock_key(text, integer) is
	'Key for an advisory lock: the 64-bit FNV-1 of the text, or with a prefix other than 0 the prefix in the upper 32 bits and the 32-bit FNV-1 in the lower';
insert into queue_proxy.member values ('function', '@schema@.fnv_lock_key(text, integer)');

create or replace function @schema@.lock_set_retries(
	task_id text,
	retries integer
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			perform queue_remote.lock_set_retries(_shard, _version, _bucket, $1, $2);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.lock_set_retries(text, integer) is
	'sets the number of acquisitions still allowed; null: no limit';
insert into queue_proxy.member values ('function', '@schema@.lock_set_retries(text, integer)');

create or replace function @schema@.lock_throttled_resource(
	resource anyenum,
	details text
) returns boolean
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	return @schema@.lock_throttled_resource($1::text, $2);
end
$$;
comment on function @schema@.lock_throttled_resource(anyenum, text) is
	'locks the throttled resource named by an enum value if its limit allows it now; true takes effect if the transaction commits, false returns at once';
insert into queue_proxy.member values ('function', '@schema@.lock_throttled_resource(anyenum, text)');

create or replace function @schema@.lock_throttled_resource(
	resource text,
	details text
) returns boolean
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.lock_throttled_resource(_shard, _version, _bucket, $1, $2);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.lock_throttled_resource(text, text) is
	'locks a throttled resource if its limit allows it now; true takes effect if the transaction commits, false returns at once';
insert into queue_proxy.member values ('function', '@schema@.lock_throttled_resource(text, text)');

create or replace function @schema@.mutex_acquire(
	task_id text
) returns boolean
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.mutex_acquire(_shard, _version, _bucket, $1);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.mutex_acquire(text) is
	'acquires a lock until mutex_release(); false if it is already held';
insert into queue_proxy.member values ('function', '@schema@.mutex_acquire(text)');

create or replace function @schema@.mutex_acquire_fenced(
	task_id text,
	out acquired boolean,
	out token bigint
)
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			select * into acquired, token from queue_remote.mutex_acquire_fenced(_shard, _version, _bucket, $1);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.mutex_acquire_fenced(text) is
	'like mutex_acquire(), with a fencing token that grows with each acquisition';
insert into queue_proxy.member values ('function', '@schema@.mutex_acquire_fenced(text)');

create or replace function @schema@.mutex_release(
	task_id text
) returns boolean
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.mutex_release(_shard, _version, _bucket, $1);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.mutex_release(text) is
	'releases a lock, no matter which session holds it; false if it is not held';
insert into queue_proxy.member values ('function', '@schema@.mutex_release(text)');

create or replace function @schema@.mutex_release(
	task_id text,
	token bigint
) returns boolean
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.mutex_release(_shard, _version, _bucket, $1, $2);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.mutex_release(text, bigint) is
	'releases a lock if it is held with this token; false otherwise';
insert into queue_proxy.member values ('function', '@schema@.mutex_release(text, bigint)');

create or replace function @schema@.queue_alter(
	queue text,
	lease interval default NULL::interval,
	max_attempts integer default NULL::integer,
	backoff_base interval default NULL::interval,
	backoff_cap interval default NULL::interval,
	archive boolean default NULL::boolean,
	ready_at text default NULL::text,
	claimed_at text default NULL::text,
	kinds boolean default NULL::boolean,
	archive_keep interval default NULL::interval,
	dead_keep interval default NULL::interval,
	wake boolean default NULL::boolean,
	dead_queue text default NULL::text,
	on_expire text default NULL::text
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				perform queue_remote.queue_alter(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	return;
end
$$;
comment on function @schema@.queue_alter(text, interval, integer, interval, interval, boolean, text, text, boolean, interval, interval, boolean, text, text) is
	'changes the settings of a queue; null leaves a setting unchanged';
insert into queue_proxy.member values ('function', '@schema@.queue_alter(text, interval, integer, interval, interval, boolean, text, text, boolean, interval, interval, boolean, text, text)');

create or replace function @schema@.queue_cancel(
	queue text,
	id bigint,
	attempt integer default NULL::integer
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			return queue_remote.queue_cancel(_shard, _version, null, $1, $2, $3);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_cancel(text, bigint, integer) is
	'removes a job from its queue in any state; false if there is no such job';
insert into queue_proxy.member values ('function', '@schema@.queue_cancel(text, bigint, integer)');

create or replace function @schema@.queue_cancel_many(
	queue text,
	ids bigint[],
	attempts integer[] default NULL::integer[]
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_results bigint[] := '{}';
	_failure queue_proxy.failure;
begin
	-- Of one shard, or wrong: then that shard says what is wrong.
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null
		or not ($3 is null or (array_ndims($3) = 1 and cardinality($3) = cardinality($2)))
		or (select count(distinct u >> 43) from unnest($2) as u) = 1
	then
		loop
			select * into _shard, _version from queue_proxy.place_of_id(($2)[array_lower($2, 1)]);
			begin
				return query select * from queue_remote.queue_cancel_many(_shard, _version, null, $1, $2, $3);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _part in
		select u.a2 >> 43 as shard, array_agg(u.a2 order by u.n) as a2, array_agg(u.a3 order by u.n) as a3
		from unnest($2, $3) with ordinality as u(a2, a3, n)
		group by 1 order by 1
	loop
		_try := 0;
		loop
			_version := queue_proxy.version();
			_shard := coalesce((select s.shard from queue_proxy.shard s where s.shard = _part.shard), queue_proxy.any_shard());
			begin
				perform queue_proxy.must_reach(_shard);
				_results := _results || array(select * from queue_remote.queue_cancel_many(_shard, _version, null, $1, _part.a2, case when $3 is not null then _part.a3 end));
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when others then
					_failure := queue_proxy.first_failure(_failure, sqlstate, sqlerrm);
					exit;
				end;
			end;
		end loop;
	end loop;
	if _failure is not null then
		perform queue_proxy.raise_partly(_failure, queue_proxy.in_order($2, _results));
	end if;
	return query select unnest(queue_proxy.in_order($2, _results));
end
$$;
comment on function @schema@.queue_cancel_many(text, bigint[], integer[]) is
	'removes jobs from their queue in any state; returns the ids of those that were removed';
insert into queue_proxy.member values ('function', '@schema@.queue_cancel_many(text, bigint[], integer[])');

create or replace function queue_proxy.call_queue_cancel_where(
	_ticket bigint,
	queue text,
	condition text,
	arguments jsonb,
	batch_size integer
) returns bigint
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
declare
	_user text := queue_proxy.redeem($1);
begin
	return queue_proxy.call_on_all(format('queue_cancel_where(%L::text, %L::text, %L::jsonb, %L::integer, null)', $2, $3, $4, $5), _user);
end
$$;

create or replace procedure @schema@.queue_cancel_where(
	queue text,
	condition text,
	arguments jsonb default '{}'::jsonb,
	batch_size integer default 1000,
	inout jobs bigint default NULL::bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	jobs := queue_proxy.call_queue_cancel_where(queue_proxy.ticket(), $1, $2, $3, $4);
end
$$;
comment on procedure @schema@.queue_cancel_where(text, text, jsonb, integer, bigint) is
	'removes the jobs from their queue for which a condition holds, in batches that are committed, and returns their number';
insert into queue_proxy.member values ('procedure', '@schema@.queue_cancel_where(text, text, jsonb, integer, bigint)');

create or replace function queue_proxy.call_queue_change_where(
	_ticket bigint,
	queue text,
	condition text,
	arguments jsonb,
	priority integer,
	run_at timestamp with time zone,
	batch_size integer
) returns bigint
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
declare
	_user text := queue_proxy.redeem($1);
begin
	return queue_proxy.call_on_all(format('queue_change_where(%L::text, %L::text, %L::jsonb, %L::integer, %L::timestamp with time zone, %L::integer, null)', $2, $3, $4, $5, $6, $7), _user);
end
$$;

create or replace procedure @schema@.queue_change_where(
	queue text,
	condition text,
	arguments jsonb default '{}'::jsonb,
	priority integer default NULL::integer,
	run_at timestamp with time zone default NULL::timestamp with time zone,
	batch_size integer default 1000,
	inout jobs bigint default NULL::bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	jobs := queue_proxy.call_queue_change_where(queue_proxy.ticket(), $1, $2, $3, $4, $5, $6);
end
$$;
comment on procedure @schema@.queue_change_where(text, text, jsonb, integer, timestamp with time zone, integer, bigint) is
	'changes the priority or the time of the jobs for which a condition holds, in batches that are committed, and returns their number';
insert into queue_proxy.member values ('procedure', '@schema@.queue_change_where(text, text, jsonb, integer, timestamp with time zone, integer, bigint)');

create or replace function @schema@.queue_complete(
	queue text,
	id bigint,
	attempt integer default NULL::integer,
	result jsonb default NULL::jsonb
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			return queue_remote.queue_complete(_shard, _version, null, $1, $2, $3, $4);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_complete(text, bigint, integer, jsonb) is
	'completes a job: removes it from its queue; false if the receipt is stale; the result is kept with the archived job';
insert into queue_proxy.member values ('function', '@schema@.queue_complete(text, bigint, integer, jsonb)');

create or replace function @schema@.queue_complete_many(
	queue text,
	ids bigint[],
	attempts integer[] default NULL::integer[],
	results jsonb[] default NULL::jsonb[]
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_results bigint[] := '{}';
	_failure queue_proxy.failure;
begin
	-- Of one shard, or wrong: then that shard says what is wrong.
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null
		or not ($3 is null or (array_ndims($3) = 1 and cardinality($3) = cardinality($2)))
		or not ($4 is null or (array_ndims($4) = 1 and cardinality($4) = cardinality($2)))
		or (select count(distinct u >> 43) from unnest($2) as u) = 1
	then
		loop
			select * into _shard, _version from queue_proxy.place_of_id(($2)[array_lower($2, 1)]);
			begin
				return query select * from queue_remote.queue_complete_many(_shard, _version, null, $1, $2, $3, $4);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _part in
		select u.a2 >> 43 as shard, array_agg(u.a2 order by u.n) as a2, array_agg(u.a3 order by u.n) as a3, array_agg(u.a4 order by u.n) as a4
		from unnest($2, $3, $4) with ordinality as u(a2, a3, a4, n)
		group by 1 order by 1
	loop
		_try := 0;
		loop
			_version := queue_proxy.version();
			_shard := coalesce((select s.shard from queue_proxy.shard s where s.shard = _part.shard), queue_proxy.any_shard());
			begin
				perform queue_proxy.must_reach(_shard);
				_results := _results || array(select * from queue_remote.queue_complete_many(_shard, _version, null, $1, _part.a2, case when $3 is not null then _part.a3 end, case when $4 is not null then _part.a4 end));
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when others then
					_failure := queue_proxy.first_failure(_failure, sqlstate, sqlerrm);
					exit;
				end;
			end;
		end loop;
	end loop;
	if _failure is not null then
		perform queue_proxy.raise_partly(_failure, queue_proxy.in_order($2, _results));
	end if;
	return query select unnest(queue_proxy.in_order($2, _results));
end
$$;
comment on function @schema@.queue_complete_many(text, bigint[], integer[], jsonb[]) is
	'completes jobs: removes them from their queue; returns the ids of those whose receipt was valid; the results are kept with the archived jobs';
insert into queue_proxy.member values ('function', '@schema@.queue_complete_many(text, bigint[], integer[], jsonb[])');

create or replace function @schema@.queue_complete_pop(
	queue text,
	done_id bigint,
	done_attempt integer,
	lease interval default NULL::interval,
	worker text default NULL::text,
	kinds text[] default NULL::text[],
	result jsonb default NULL::jsonb,
	out completed boolean,
	out id bigint,
	out attempt integer,
	out payload jsonb,
	out priority smallint,
	out run_at timestamp with time zone,
	out max_attempts integer,
	out leased_until timestamp with time zone,
	out leased_by text,
	out last_error text,
	out created_at timestamp with time zone,
	out kind text
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- The next job comes from the shard of the one that is done, by one call, most of the time; now and
-- then by rotation, so that no shard waits for another to be empty.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	if $2 is not null and $3 is not null and random() < 1 / 16.0 then
		completed := @schema@.queue_complete($1, $2, $3, $7);
	elsif $2 is not null or $3 is not null then
		loop
			select * into _shard, _version from queue_proxy.place_of_id($2);
			begin
				select * into completed, id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
					last_error, created_at, kind
				from queue_remote.queue_complete_pop(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	if id is null and completed is distinct from false then
		begin
			select * into id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
				last_error, created_at, kind
			from @schema@.queue_pop($1, 1, $4, $5, $6);
		exception when others then
			-- That the job is done must be told.
			if completed is null then raise; end if;
		end;
	end if;
end
$$;
comment on function @schema@.queue_complete_pop(text, bigint, integer, interval, text, text[], jsonb) is
	'completes a job and claims the next one; a stale receipt claims nothing; nulls: only claims';
insert into queue_proxy.member values ('function', '@schema@.queue_complete_pop(text, bigint, integer, interval, text, text[], jsonb)');

create or replace function @schema@.queue_counts(
	queue text,
	out ready bigint,
	out scheduled bigint,
	out leased bigint,
	out dead bigint
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
	_row record;
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				select * into _row from queue_remote.queue_counts(_shard, _version, null, $1);
				ready := coalesce(ready, 0) + _row.ready;
				scheduled := coalesce(scheduled, 0) + _row.scheduled;
				leased := coalesce(leased, 0) + _row.leased;
				dead := coalesce(dead, 0) + _row.dead;
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	return;
end
$$;
comment on function @schema@.queue_counts(text) is
	'counts the jobs of a queue by state; scans the whole table';
insert into queue_proxy.member values ('function', '@schema@.queue_counts(text)');

create or replace function @schema@.queue_create(
	queue text,
	lease interval default '00:00:30'::interval,
	max_attempts integer default 25,
	backoff_base interval default '00:00:01'::interval,
	backoff_cap interval default '01:00:00'::interval,
	archive boolean default false,
	kinds boolean default false,
	archive_keep interval default NULL::interval,
	dead_keep interval default NULL::interval,
	dead_queue text default NULL::text,
	on_expire text default NULL::text
) returns regclass
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
	_created record;
	_existed boolean := true;
	_settings text;
	_view text;
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				select * into _created
				from queue_remote.queue_create(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_existed := _existed and _created.existed;
		if _created.settings <> _settings then
			raise 'queue "%" has other settings on shard "%"', queue,
				(select s.name from queue_proxy.shard s where s.shard = _shard)
				using errcode = '55000',
					detail = format('There: %s. On shards before: %s.', _created.settings, _settings),
					hint = 'Drop it and create it again, or call with the settings that it has.';
		end if;
		_settings := _created.settings;
		_done := _done || _shard;
	end loop;
	_view := format('%I.%I', _created.schema_name, _created.table_name);
	if to_regclass(_view) is null then
		-- The table of the queue, as far as it can be looked at from here. Who may look is for the shards.
		execute format('create view %s as select * from queue_proxy.queue_rows(%L)', _view, _view);
		execute format('grant select on %s to public', _view);
	elsif _existed then
		raise 'queue "%" already exists', queue using errcode = '42710';
	elsif queue_proxy.view_of(_view) is null
		or (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = to_regclass(_view)) <> current_user
	then
		raise 'relation "%" already exists', _view
			using errcode = '42P07',
				detail = 'On the proxy it is not the view of this queue. The queue itself is created on all shards.',
				hint = 'Rename it, and call again.';
	end if;
	return _view::regclass;
end
$$;
comment on function @schema@.queue_create(text, interval, integer, interval, interval, boolean, boolean, interval, interval, text, text) is
	'creates a queue and its table, and returns the table';
insert into queue_proxy.member values ('function', '@schema@.queue_create(text, interval, integer, interval, interval, boolean, boolean, interval, interval, text, text)');

create or replace function queue_proxy.call_queue_delete_where(
	_ticket bigint,
	queue text,
	condition text,
	arguments jsonb,
	batch_size integer
) returns bigint
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
declare
	_user text := queue_proxy.redeem($1);
begin
	return queue_proxy.call_on_all(format('queue_delete_where(%L::text, %L::text, %L::jsonb, %L::integer, null)', $2, $3, $4, $5), _user);
end
$$;

create or replace procedure @schema@.queue_delete_where(
	queue text,
	condition text,
	arguments jsonb default '{}'::jsonb,
	batch_size integer default 1000,
	inout jobs bigint default NULL::bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	jobs := queue_proxy.call_queue_delete_where(queue_proxy.ticket(), $1, $2, $3, $4);
end
$$;
comment on procedure @schema@.queue_delete_where(text, text, jsonb, integer, bigint) is
	'deletes the jobs for which a condition holds, without archiving them, in batches that are committed, and returns their number';
insert into queue_proxy.member values ('procedure', '@schema@.queue_delete_where(text, text, jsonb, integer, bigint)');

create or replace function @schema@.queue_drop(
	queue text,
	if_exists boolean default false
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
	_dropped boolean := false;
	_table text;
	_view text;
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				-- A queue that some shards have dropped already is dropped on the others.
				_table := coalesce(_table, queue_remote.queue_table(_shard, _version, null, $1));
				_dropped := queue_remote.queue_drop(_shard, _version, null, $1, true) or _dropped;
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	_view := queue_proxy.view_of(coalesce(_table, $1));
	if _view is not null then
		execute format('drop view %s', _view);
		return true;
	end if;
	if not _dropped and not coalesce($2, false) then
		-- The error is the shard's.
		begin
			perform queue_remote.queue_drop(0, queue_proxy.version(), null, $1, $2);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			perform queue_proxy.failed(0, 1000, sqlstate, _message, _detail, _hint);
		end;
	end if;
	return _dropped;
end
$$;
comment on function @schema@.queue_drop(text, boolean) is
	'drops a queue with its table, its jobs and its archive';
insert into queue_proxy.member values ('function', '@schema@.queue_drop(text, boolean)');

create or replace function @schema@.queue_extend(
	queue text,
	id bigint,
	attempt integer default NULL::integer,
	lease interval default NULL::interval,
	progress jsonb default NULL::jsonb
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			return queue_remote.queue_extend(_shard, _version, null, $1, $2, $3, $4, $5);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_extend(text, bigint, integer, interval, jsonb) is
	'renews the lease of a claimed job, from now, and keeps its progress with it; false if the receipt is stale';
insert into queue_proxy.member values ('function', '@schema@.queue_extend(text, bigint, integer, interval, jsonb)');

create or replace function @schema@.queue_extend_many(
	queue text,
	ids bigint[],
	attempts integer[] default NULL::integer[],
	lease interval default NULL::interval,
	progress jsonb[] default NULL::jsonb[]
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_results bigint[] := '{}';
	_failure queue_proxy.failure;
begin
	-- Of one shard, or wrong: then that shard says what is wrong.
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null
		or not ($3 is null or (array_ndims($3) = 1 and cardinality($3) = cardinality($2)))
		or not ($5 is null or (array_ndims($5) = 1 and cardinality($5) = cardinality($2)))
		or (select count(distinct u >> 43) from unnest($2) as u) = 1
	then
		loop
			select * into _shard, _version from queue_proxy.place_of_id(($2)[array_lower($2, 1)]);
			begin
				return query select * from queue_remote.queue_extend_many(_shard, _version, null, $1, $2, $3, $4, $5);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _part in
		select u.a2 >> 43 as shard, array_agg(u.a2 order by u.n) as a2, array_agg(u.a3 order by u.n) as a3, array_agg(u.a5 order by u.n) as a5
		from unnest($2, $3, $5) with ordinality as u(a2, a3, a5, n)
		group by 1 order by 1
	loop
		_try := 0;
		loop
			_version := queue_proxy.version();
			_shard := coalesce((select s.shard from queue_proxy.shard s where s.shard = _part.shard), queue_proxy.any_shard());
			begin
				perform queue_proxy.must_reach(_shard);
				_results := _results || array(select * from queue_remote.queue_extend_many(_shard, _version, null, $1, _part.a2, case when $3 is not null then _part.a3 end, $4, case when $5 is not null then _part.a5 end));
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when others then
					_failure := queue_proxy.first_failure(_failure, sqlstate, sqlerrm);
					exit;
				end;
			end;
		end loop;
	end loop;
	if _failure is not null then
		perform queue_proxy.raise_partly(_failure, queue_proxy.in_order($2, _results));
	end if;
	return query select unnest(queue_proxy.in_order($2, _results));
end
$$;
comment on function @schema@.queue_extend_many(text, bigint[], integer[], interval, jsonb[]) is
	'renews the leases of claimed jobs, from now, and keeps the progress of each with it; returns the ids of those whose receipt was valid';
insert into queue_proxy.member values ('function', '@schema@.queue_extend_many(text, bigint[], integer[], interval, jsonb[])');

create or replace function @schema@.queue_fail(
	queue text,
	id bigint,
	attempt integer default NULL::integer,
	error text default NULL::text,
	retry_in interval default NULL::interval,
	retry boolean default true
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			return queue_remote.queue_fail(_shard, _version, null, $1, $2, $3, $4, $5, $6);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_fail(text, bigint, integer, text, interval, boolean) is
	'records a failure: the job runs again after its backoff, or is dead: after its last attempt, or without retry; false if the receipt is stale';
insert into queue_proxy.member values ('function', '@schema@.queue_fail(text, bigint, integer, text, interval, boolean)');

create or replace function @schema@.queue_fail_many(
	queue text,
	ids bigint[],
	attempts integer[] default NULL::integer[],
	errors text[] default NULL::text[],
	retry_in interval default NULL::interval,
	retry boolean default true
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_results bigint[] := '{}';
	_failure queue_proxy.failure;
begin
	-- Of one shard, or wrong: then that shard says what is wrong.
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null
		or not ($3 is null or (array_ndims($3) = 1 and cardinality($3) = cardinality($2)))
		or not ($4 is null or (array_ndims($4) = 1 and cardinality($4) = cardinality($2)))
		or (select count(distinct u >> 43) from unnest($2) as u) = 1
	then
		loop
			select * into _shard, _version from queue_proxy.place_of_id(($2)[array_lower($2, 1)]);
			begin
				return query select * from queue_remote.queue_fail_many(_shard, _version, null, $1, $2, $3, $4, $5, $6);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _part in
		select u.a2 >> 43 as shard, array_agg(u.a2 order by u.n) as a2, array_agg(u.a3 order by u.n) as a3, array_agg(u.a4 order by u.n) as a4
		from unnest($2, $3, $4) with ordinality as u(a2, a3, a4, n)
		group by 1 order by 1
	loop
		_try := 0;
		loop
			_version := queue_proxy.version();
			_shard := coalesce((select s.shard from queue_proxy.shard s where s.shard = _part.shard), queue_proxy.any_shard());
			begin
				perform queue_proxy.must_reach(_shard);
				_results := _results || array(select * from queue_remote.queue_fail_many(_shard, _version, null, $1, _part.a2, case when $3 is not null then _part.a3 end, case when $4 is not null then _part.a4 end, $5, $6));
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when others then
					_failure := queue_proxy.first_failure(_failure, sqlstate, sqlerrm);
					exit;
				end;
			end;
		end loop;
	end loop;
	if _failure is not null then
		perform queue_proxy.raise_partly(_failure, queue_proxy.in_order($2, _results));
	end if;
	return query select unnest(queue_proxy.in_order($2, _results));
end
$$;
comment on function @schema@.queue_fail_many(text, bigint[], integer[], text[], interval, boolean) is
	'records failures: each job runs again after its backoff, or is dead: after its last attempt, or without retry; returns the ids of those whose receipt was valid';
insert into queue_proxy.member values ('function', '@schema@.queue_fail_many(text, bigint[], integer[], text[], interval, boolean)');

create or replace function @schema@.queue_health(
	queue text default NULL::text
) returns setof @schema@.queue_finding
language plpgsql volatile parallel unsafe rows 10
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- What each shard has found, and which shards cannot be reached.
declare
	_shard integer;
	_name text;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_is_down boolean;
begin
	for _shard, _name in select s.shard, s.name from queue_proxy.shard s order by 1 loop
		_is_down := not queue_proxy.reach(_shard);
		_try := 0;
		while not _is_down loop
			_version := queue_proxy.version();
			begin
				return query
				select f.finding, f.severity, f.queue, format('On shard "%s": %s', _name, f.detail), f.hint
				from queue_remote.queue_health(_shard, _version, null, $1) as f;
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when sqlstate '08001' or sqlstate '08006' then
					-- It has gone down just now.
					_is_down := true;
					exit;
				end;
			end;
		end loop;
		if _is_down then
			return next row('shard_down', 'critical', null, format('Shard "%s" cannot be reached.', _name),
				'Sends without a key go to other shards, and its jobs and keys wait for it: start it again.')::@schema@.queue_finding;
		end if;
	end loop;
end
$$;
comment on function @schema@.queue_health(text) is
	'what should be seen to, of a queue, or of all queues and the server; reads at most a hundred index entries of a queue';
insert into queue_proxy.member values ('function', '@schema@.queue_health(text)');

create or replace function queue_proxy.call_queue_maintain(
	_ticket bigint,
	queue text
) returns bigint
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
declare
	_user text := queue_proxy.redeem($1);
begin
	return queue_proxy.call_on_all(format('queue_maintain(%L::text)', $2), _user);
end
$$;

create or replace procedure @schema@.queue_maintain(
	queue text default NULL::text
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	perform queue_proxy.call_queue_maintain(queue_proxy.ticket(), $1);
end
$$;
comment on procedure @schema@.queue_maintain(text) is
	'removes what a queue, or each queue whose jobs the caller may delete, need not keep any longer: archived and dead jobs';
insert into queue_proxy.member values ('procedure', '@schema@.queue_maintain(text)');

create or replace function @schema@.queue_pause(
	queue text
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
	_result boolean := false;
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				_result := queue_remote.queue_pause(_shard, _version, null, $1) or _result;
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	return _result;
end
$$;
comment on function @schema@.queue_pause(text) is
	'pauses a queue: its jobs are not claimed; true if it was not paused';
insert into queue_proxy.member values ('function', '@schema@.queue_pause(text)');

create or replace function @schema@.queue_pop(
	queue text,
	max_jobs integer default 1,
	lease interval default NULL::interval,
	worker text default NULL::text,
	kinds text[] default NULL::text[]
) returns setof @schema@.queue_job
language plpgsql volatile parallel unsafe rows 1
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- One shard after the other, by rotation, as long as there are too few jobs. A shard that had too
-- few a moment ago comes last, and only if no other has any: so that no row comes back only if each
-- shard that can be reached had none. A pop that has jobs does not raise.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_idle bigint[] := queue_proxy.idle_until($1);
	_now bigint := queue_proxy.milliseconds();
	_turns integer[] := array(select r from queue_proxy.rotation() as r);
	_late integer[] := array(select r from unnest(_turns) as r where _idle[r] > _now);
	_got integer := 0;
	_rows integer;
	_asked boolean := false;
	_state text;
	_lost text;
	_refused integer;
	_refusal text;
begin
	for _pass in 1 .. 2 loop
		foreach _shard in array case _pass when 1 then _turns else _late end loop
			exit when (_asked and _got >= $2) or (_pass = 2 and _got > 0);
			continue when _pass = 1 and _shard = any (_late);
			continue when not case when _got > 0 then queue_proxy.is_reached(_shard) else queue_proxy.reach(_shard) end;
			_try := 0;
			loop
				_version := queue_proxy.version();
				begin
					return query select * from queue_remote.queue_pop(_shard, _version, null, $1, $2 - _got, $3, $4, $5);
					get diagnostics _rows = row_count;
					_asked := true;
					_got := _got + _rows;
					_idle[_shard] := case when _got < $2 then _now + queue_proxy.setting_of('idle_for', 100) end;
					exit;
				exception when others then
					get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
					begin
						_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, true);
					exception when others then
						if _got = 0 and sqlstate not like '08%' then raise; end if;
						_state := sqlstate;
						_lost := sqlerrm;
						exit;
					end;
					if _try = -2 then
						_refused := _shard;
						_refusal := _message;
					end if;
					-- Jobs in hand do not wait for a new map.
					exit when _try < 0 or (_got > 0 and _try > 1);
				end;
			end loop;
		end loop;
	end loop;
	perform queue_proxy.set_idle_until($1, _idle);
	if _got = 0 and _refused is not null then
		-- Its jobs are not passed over without a word.
		perform queue_proxy.none_reached(_refused, _refusal);
	elsif not _asked and _lost is not null then
		perform queue_proxy.raise_as(_state, _lost, null, 'Jobs that it may have claimed come back when their leases run out.');
	elsif not _asked then
		perform queue_proxy.none_reached(null, null);
	end if;
end
$$;
comment on function @schema@.queue_pop(text, integer, interval, text, text[]) is
	'claims up to max_jobs jobs of the queue for a lease and returns them';
insert into queue_proxy.member values ('function', '@schema@.queue_pop(text, integer, interval, text, text[])');

create or replace function @schema@.queue_pop_any(
	queues text[],
	max_jobs integer default 1,
	lease interval default NULL::interval,
	worker text default NULL::text,
	kinds text[] default NULL::text[],
	weights integer[] default NULL::integer[]
) returns setof @schema@.queue_any_job
language plpgsql volatile parallel unsafe rows 1
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- The queues one after the other, as the library does. A pop that has jobs does not raise because of another queue.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_got integer := 0;
	_rows integer;
	_queue text;
begin
	if array_ndims($1) is distinct from 1 or cardinality($1) > 64 or array_position($1, null) is not null
		or $6 is not null and (array_ndims($6) is distinct from 1 or cardinality($6) <> cardinality($1)
			or array_position($6, null) is not null or 1 > any ($6) or 1000000 < any ($6))
	then
		-- That is wrong: any shard says so.
		loop
			select * into _shard, _version from queue_proxy.place_of_id(null);
			begin
				return query select * from queue_remote.queue_pop_any(_shard, _version, null, $1, $2, $3, $4, $5, $6);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _queue in select q.name from unnest($1, $6) with ordinality as q (name, weight, place)
		order by case when $6 is null then q.place else -ln(1 - random()) / q.weight end
	loop
		exit when _got > 0 and _got >= $2;
		begin
			return query select _queue, j.* from @schema@.queue_pop(_queue, $2 - _got, $3, $4, $5) as j;
			get diagnostics _rows = row_count;
			_got := _got + _rows;
		exception when others then
			if _got = 0 then raise; end if;
			exit;
		end;
	end loop;
end
$$;
comment on function @schema@.queue_pop_any(text[], integer, interval, text, text[], integer[]) is
	'claims up to max_jobs jobs of the first of the queues that has any, then of the next; weights: in an order by chance';
insert into queue_proxy.member values ('function', '@schema@.queue_pop_any(text[], integer, interval, text, text[], integer[])');

create or replace procedure @schema@.queue_pop_wait(
	queue text,
	wait interval default '00:01:00'::interval,
	lease interval default NULL::interval,
	worker text default NULL::text,
	inout id bigint default NULL::bigint,
	inout attempt integer default NULL::integer,
	inout payload jsonb default NULL::jsonb,
	inout priority smallint default NULL::smallint,
	inout run_at timestamp with time zone default NULL::timestamp with time zone,
	inout max_attempts integer default NULL::integer,
	inout leased_until timestamp with time zone default NULL::timestamp with time zone,
	inout leased_by text default NULL::text,
	inout last_error text default NULL::text,
	inout created_at timestamp with time zone default NULL::timestamp with time zone,
	inout kind text default NULL::text,
	kinds text[] default NULL::text[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- What a shard says while it is waited for is a hint: the job is claimed by a pop.
declare
	_until timestamptz;
begin
	if not coalesce($2 >= '0' and $1 is not null, false) then
		perform queue_proxy.wait_on_first(queue_proxy.ticket(), $1, $2, $16);
		return;
	end if;
	_until := clock_timestamp() + $2;
	id := null; attempt := null; payload := null; priority := null; run_at := null; max_attempts := null;
	leased_until := null; leased_by := null; last_error := null; created_at := null; kind := null;
	loop
		select * into id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
			last_error, created_at, kind
		from @schema@.queue_pop($1, 1, $3, $4, $16);
		exit when id is not null or clock_timestamp() >= _until;
		perform queue_proxy.wait_any(queue_proxy.ticket(), $1, _until, $16);
	end loop;
end
$$;
comment on procedure @schema@.queue_pop_wait(text, interval, interval, text, bigint, integer, jsonb, smallint, timestamp with time zone, integer, timestamp with time zone, text, text, timestamp with time zone, text, text[]) is
	'waits for a job of the queue, claims it for a lease and returns it; nulls when the time is over';
insert into queue_proxy.member values ('procedure', '@schema@.queue_pop_wait(text, interval, interval, text, bigint, integer, jsonb, smallint, timestamp with time zone, integer, timestamp with time zone, text, text, timestamp with time zone, text, text[])');

create or replace procedure @schema@.queue_pop_wait_any(
	queues text[],
	wait interval default '00:01:00'::interval,
	lease interval default NULL::interval,
	worker text default NULL::text,
	inout queue text default NULL::text,
	inout id bigint default NULL::bigint,
	inout attempt integer default NULL::integer,
	inout payload jsonb default NULL::jsonb,
	inout priority smallint default NULL::smallint,
	inout run_at timestamp with time zone default NULL::timestamp with time zone,
	inout max_attempts integer default NULL::integer,
	inout leased_until timestamp with time zone default NULL::timestamp with time zone,
	inout leased_by text default NULL::text,
	inout last_error text default NULL::text,
	inout created_at timestamp with time zone default NULL::timestamp with time zone,
	inout kind text default NULL::text,
	kinds text[] default NULL::text[],
	weights integer[] default NULL::integer[]
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- A connection waits for one queue, so several are asked by turns.
declare
	_until timestamptz;
begin
	if not coalesce($2 >= '0', false) then
		perform queue_proxy.wait_on_first(queue_proxy.ticket(), $1[1], $2, $17);
		return;
	end if;
	_until := clock_timestamp() + $2;
	queue := null; id := null; attempt := null; payload := null; priority := null; run_at := null; max_attempts := null;
	leased_until := null; leased_by := null; last_error := null; created_at := null; kind := null;
	loop
		select * into queue, id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
			last_error, created_at, kind
		from @schema@.queue_pop_any($1, 1, $3, $4, $17, $18);
		exit when id is not null or clock_timestamp() >= _until;
		if cardinality($1) = 1 then
			perform queue_proxy.wait_any(queue_proxy.ticket(), $1[1], _until, $17);
		else
			perform pg_sleep_until(least(_until, clock_timestamp() + interval '0.1 s'));
		end if;
	end loop;
end
$$;
comment on procedure @schema@.queue_pop_wait_any(text[], interval, interval, text, text, bigint, integer, jsonb, smallint, timestamp with time zone, integer, timestamp with time zone, text, text, timestamp with time zone, text, text[], integer[]) is
	'waits for a job of the queues, claims it for a lease and returns it; nulls when the time is over; weights: in an order by chance';
insert into queue_proxy.member values ('procedure', '@schema@.queue_pop_wait_any(text[], interval, interval, text, text, bigint, integer, jsonb, smallint, timestamp with time zone, integer, timestamp with time zone, text, text, timestamp with time zone, text, text[], integer[])');

create or replace function @schema@.queue_purge(
	queue text,
	state text default NULL::text
) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
	_result bigint := 0;
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				_result := queue_remote.queue_purge(_shard, _version, null, $1, $2) + _result;
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	return _result;
end
$$;
comment on function @schema@.queue_purge(text, text) is
	'deletes all jobs of a queue, or those in one state, and returns their number; done: the history that unique inserts keep';
insert into queue_proxy.member values ('function', '@schema@.queue_purge(text, text)');

create or replace function @schema@.queue_release(
	queue text,
	id bigint,
	attempt integer default NULL::integer,
	run_at timestamp with time zone default NULL::timestamp with time zone
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			return queue_remote.queue_release(_shard, _version, null, $1, $2, $3, $4);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_release(text, bigint, integer, timestamp with time zone) is
	'returns a job to its queue without charging the attempt; false if the receipt is stale';
insert into queue_proxy.member values ('function', '@schema@.queue_release(text, bigint, integer, timestamp with time zone)');

create or replace function @schema@.queue_release_many(
	queue text,
	ids bigint[],
	attempts integer[] default NULL::integer[],
	run_at timestamp with time zone default NULL::timestamp with time zone
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_results bigint[] := '{}';
	_failure queue_proxy.failure;
begin
	-- Of one shard, or wrong: then that shard says what is wrong.
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null
		or not ($3 is null or (array_ndims($3) = 1 and cardinality($3) = cardinality($2)))
		or (select count(distinct u >> 43) from unnest($2) as u) = 1
	then
		loop
			select * into _shard, _version from queue_proxy.place_of_id(($2)[array_lower($2, 1)]);
			begin
				return query select * from queue_remote.queue_release_many(_shard, _version, null, $1, $2, $3, $4);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _part in
		select u.a2 >> 43 as shard, array_agg(u.a2 order by u.n) as a2, array_agg(u.a3 order by u.n) as a3
		from unnest($2, $3) with ordinality as u(a2, a3, n)
		group by 1 order by 1
	loop
		_try := 0;
		loop
			_version := queue_proxy.version();
			_shard := coalesce((select s.shard from queue_proxy.shard s where s.shard = _part.shard), queue_proxy.any_shard());
			begin
				perform queue_proxy.must_reach(_shard);
				_results := _results || array(select * from queue_remote.queue_release_many(_shard, _version, null, $1, _part.a2, case when $3 is not null then _part.a3 end, $4));
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when others then
					_failure := queue_proxy.first_failure(_failure, sqlstate, sqlerrm);
					exit;
				end;
			end;
		end loop;
	end loop;
	if _failure is not null then
		perform queue_proxy.raise_partly(_failure, queue_proxy.in_order($2, _results));
	end if;
	return query select unnest(queue_proxy.in_order($2, _results));
end
$$;
comment on function @schema@.queue_release_many(text, bigint[], integer[], timestamp with time zone) is
	'returns jobs to their queue without charging the attempt; returns the ids of those whose receipt was valid';
insert into queue_proxy.member values ('function', '@schema@.queue_release_many(text, bigint[], integer[], timestamp with time zone)');

create or replace function @schema@.queue_requeue(
	queue text,
	id bigint,
	attempt integer default NULL::integer
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			return queue_remote.queue_requeue(_shard, _version, null, $1, $2, $3);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_requeue(text, bigint, integer) is
	'makes a dead job run again, with the full number of attempts; false if there is no such job';
insert into queue_proxy.member values ('function', '@schema@.queue_requeue(text, bigint, integer)');

create or replace function @schema@.queue_requeue_many(
	queue text,
	ids bigint[],
	attempts integer[] default NULL::integer[]
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_results bigint[] := '{}';
	_failure queue_proxy.failure;
begin
	-- Of one shard, or wrong: then that shard says what is wrong.
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null
		or not ($3 is null or (array_ndims($3) = 1 and cardinality($3) = cardinality($2)))
		or (select count(distinct u >> 43) from unnest($2) as u) = 1
	then
		loop
			select * into _shard, _version from queue_proxy.place_of_id(($2)[array_lower($2, 1)]);
			begin
				return query select * from queue_remote.queue_requeue_many(_shard, _version, null, $1, $2, $3);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _part in
		select u.a2 >> 43 as shard, array_agg(u.a2 order by u.n) as a2, array_agg(u.a3 order by u.n) as a3
		from unnest($2, $3) with ordinality as u(a2, a3, n)
		group by 1 order by 1
	loop
		_try := 0;
		loop
			_version := queue_proxy.version();
			_shard := coalesce((select s.shard from queue_proxy.shard s where s.shard = _part.shard), queue_proxy.any_shard());
			begin
				perform queue_proxy.must_reach(_shard);
				_results := _results || array(select * from queue_remote.queue_requeue_many(_shard, _version, null, $1, _part.a2, case when $3 is not null then _part.a3 end));
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				begin
					_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
				exception when others then
					_failure := queue_proxy.first_failure(_failure, sqlstate, sqlerrm);
					exit;
				end;
			end;
		end loop;
	end loop;
	if _failure is not null then
		perform queue_proxy.raise_partly(_failure, queue_proxy.in_order($2, _results));
	end if;
	return query select unnest(queue_proxy.in_order($2, _results));
end
$$;
comment on function @schema@.queue_requeue_many(text, bigint[], integer[]) is
	'makes dead jobs run again, with the full number of attempts; returns the ids of those that were changed';
insert into queue_proxy.member values ('function', '@schema@.queue_requeue_many(text, bigint[], integer[])');

create or replace function queue_proxy.call_queue_requeue_where(
	_ticket bigint,
	queue text,
	condition text,
	arguments jsonb,
	batch_size integer
) returns bigint
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
declare
	_user text := queue_proxy.redeem($1);
begin
	return queue_proxy.call_on_all(format('queue_requeue_where(%L::text, %L::text, %L::jsonb, %L::integer, null)', $2, $3, $4, $5), _user);
end
$$;

create or replace procedure @schema@.queue_requeue_where(
	queue text,
	condition text,
	arguments jsonb default '{}'::jsonb,
	batch_size integer default 1000,
	inout jobs bigint default NULL::bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	jobs := queue_proxy.call_queue_requeue_where(queue_proxy.ticket(), $1, $2, $3, $4);
end
$$;
comment on procedure @schema@.queue_requeue_where(text, text, jsonb, integer, bigint) is
	'makes the dead jobs run again for which a condition holds, in batches that are committed, and returns their number';
insert into queue_proxy.member values ('procedure', '@schema@.queue_requeue_where(text, text, jsonb, integer, bigint)');

create or replace function @schema@.queue_result(
	queue text,
	id bigint,
	out state text,
	out finished_at timestamp with time zone,
	out result jsonb
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			select * into state, finished_at, result from queue_remote.queue_result(_shard, _version, null, $1, $2);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_result(text, bigint) is
	'what became of a job, in its queue or its archive, and the result that it was completed with; nulls: there is no such job';
insert into queue_proxy.member values ('function', '@schema@.queue_result(text, bigint)');

create or replace function @schema@.queue_resume(
	queue text
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
	_result boolean := false;
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				_result := queue_remote.queue_resume(_shard, _version, null, $1) or _result;
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	return _result;
end
$$;
comment on function @schema@.queue_resume(text) is
	'resumes a paused queue; true if it was paused';
insert into queue_proxy.member values ('function', '@schema@.queue_resume(text)');

create or replace function @schema@.queue_schedule(
	queue text,
	name text,
	every interval default NULL::interval,
	cron text default NULL::text,
	payload jsonb default '{}'::jsonb,
	time_zone text default 'UTC'::text,
	missed text default 'once'::text,
	starts_at timestamp with time zone default NULL::timestamp with time zone,
	priority integer default 0,
	max_attempts integer default NULL::integer,
	kind text default NULL::text
) returns timestamp with time zone
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($2, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.queue_schedule(_shard, _version, _bucket, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_schedule(text, text, interval, text, jsonb, text, text, timestamp with time zone, integer, integer, text) is
	'makes a job recur in a queue, or changes how it does, and returns the time of its next occurrence';
insert into queue_proxy.member values ('function', '@schema@.queue_schedule(text, text, interval, text, jsonb, text, text, timestamp with time zone, integer, integer, text)');

create or replace function @schema@.queue_send(
	queue text,
	payload jsonb,
	priority integer default 0,
	run_at timestamp with time zone default NULL::timestamp with time zone,
	max_attempts integer default NULL::integer,
	kind text default NULL::text,
	expires_at timestamp with time zone default NULL::timestamp with time zone,
	expires_in interval default NULL::interval,
	partition_key text default null
) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer;
	_refused integer;
	_refusal text;
begin
	if $9 is not null then
		_bucket := queue_proxy.bucket_of($9);
		loop
			select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
			begin
				return queue_remote.queue_send(_shard, _version, _bucket, $1, $2, $3, $4, $5, $6, $7, $8);
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _shard in select * from queue_proxy.rotation() loop
		continue when not queue_proxy.reach(_shard);
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return queue_remote.queue_send(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7, $8);
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, true);
			end;
			if _try = -2 then
				_refused := _shard;
				_refusal := _message;
			end if;
			exit when _try < 0;
		end loop;
	end loop;
	perform queue_proxy.none_reached(_refused, _refusal);
end
$$;
comment on function @schema@.queue_send(text, jsonb, integer, timestamp with time zone, integer, text, timestamp with time zone, interval, text) is
	'adds a job to a queue and returns its id';
insert into queue_proxy.member values ('function', '@schema@.queue_send(text, jsonb, integer, timestamp with time zone, integer, text, timestamp with time zone, interval, text)');

create or replace function @schema@.queue_send_many(
	queue text,
	payloads jsonb[],
	priority integer default 0,
	run_at timestamp with time zone default NULL::timestamp with time zone,
	max_attempts integer default NULL::integer,
	kind text default NULL::text,
	expires_at timestamp with time zone default NULL::timestamp with time zone,
	expires_in interval default NULL::interval,
	partition_key text default null
) returns setof bigint
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer;
	_refused integer;
	_refusal text;
begin
	if $9 is not null then
		_bucket := queue_proxy.bucket_of($9);
		loop
			select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
			begin
				return query select * from queue_remote.queue_send_many(_shard, _version, _bucket, $1, $2, $3, $4, $5, $6, $7, $8);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _shard in select * from queue_proxy.rotation() loop
		continue when not queue_proxy.reach(_shard);
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				return query select * from queue_remote.queue_send_many(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7, $8);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, true);
			end;
			if _try = -2 then
				_refused := _shard;
				_refusal := _message;
			end if;
			exit when _try < 0;
		end loop;
	end loop;
	perform queue_proxy.none_reached(_refused, _refusal);
end
$$;
comment on function @schema@.queue_send_many(text, jsonb[], integer, timestamp with time zone, integer, text, timestamp with time zone, interval, text) is
	'adds a job for each payload and returns their ids in the same order';
insert into queue_proxy.member values ('function', '@schema@.queue_send_many(text, jsonb[], integer, timestamp with time zone, integer, text, timestamp with time zone, interval, text)');

create or replace function @schema@.queue_stats_reset(
	queue text default NULL::text
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_done integer[] := '{}';
begin
	perform queue_proxy.must_reach_all();
	loop
		-- Also those that a new map has added meanwhile.
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_try := 0;
		loop
			_version := queue_proxy.version();
			begin
				perform queue_remote.queue_stats_reset(_shard, _version, null, $1);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
			end;
		end loop;
		_done := _done || _shard;
	end loop;
	return;
end
$$;
comment on function @schema@.queue_stats_reset(text) is
	'has the statistics of the queue, or of all queues of this database, begin anew';
insert into queue_proxy.member values ('function', '@schema@.queue_stats_reset(text)');

create or replace function @schema@.queue_unique_insert(
	queue text,
	payload jsonb,
	unique_by text[] default NULL::text[],
	period interval default NULL::interval,
	states text[] default NULL::text[],
	priority integer default 0,
	run_at timestamp with time zone default NULL::timestamp with time zone,
	max_attempts integer default NULL::integer,
	kind text default NULL::text,
	time_zone text default NULL::text,
	on_conflict text default 'keep'::text,
	max_delay interval default NULL::interval,
	expires_at timestamp with time zone default NULL::timestamp with time zone,
	expires_in interval default NULL::interval,
	out id bigint,
	out inserted boolean,
	out outcome text
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(queue_proxy.unique_key($2, $3));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			select * into id, inserted, outcome from queue_remote.queue_unique_insert(_shard, _version, _bucket, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_unique_insert(text, jsonb, text[], interval, text[], integer, timestamp with time zone, integer, text, text, text, interval, timestamp with time zone, interval) is
	'adds a job to a queue unless it is there already, or replaces or postpones the one that waits; returns its id and what happened';
insert into queue_proxy.member values ('function', '@schema@.queue_unique_insert(text, jsonb, text[], interval, text[], integer, timestamp with time zone, integer, text, text, text, interval, timestamp with time zone, interval)');

create or replace function @schema@.queue_unique_insert_many(
	queue text,
	payloads jsonb[],
	unique_by text[] default NULL::text[],
	period interval default NULL::interval,
	states text[] default NULL::text[],
	priority integer default 0,
	run_at timestamp with time zone default NULL::timestamp with time zone,
	max_attempts integer default NULL::integer,
	kind text default NULL::text,
	time_zone text default NULL::text,
	on_conflict text default 'keep'::text,
	max_delay interval default NULL::interval,
	expires_at timestamp with time zone default NULL::timestamp with time zone,
	expires_in interval default NULL::interval,
	out id bigint,
	out inserted boolean,
	out outcome text
) returns setof record
language plpgsql volatile parallel unsafe rows 100
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_left integer[];
	_part_ids bigint[];
	_part_inserted boolean[];
	_part_outcome text[];
	_ids bigint[];
	_inserted boolean[];
	_outcome text[];
	_done integer[] := '{}';
begin
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null then
		-- Nothing to do, or wrong: any shard says so.
		loop
			select * into _shard, _version from queue_proxy.place_of_id(null);
			begin
				return query select *
				from queue_remote.queue_unique_insert_many(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	_ids := array_fill(null::bigint, array[cardinality($2)]);
	_inserted := array_fill(null::boolean, array[cardinality($2)]);
	_outcome := array_fill(null::text, array[cardinality($2)]);
	_left := array(select generate_series(1, cardinality($2)));
	-- Each part goes to its shard. When the map has changed, what is left is divided anew.
	<<under_map>>
	while cardinality(_left) > 0 loop
		_version := queue_proxy.version();
		for _part in
			select b.shard, array_agg(u.payload order by u.n) as payloads, array_agg(l.n order by u.n) as places
			from unnest(_left) as l(n)
			join unnest($2) with ordinality as u(payload, n) on u.n = l.n
			join queue_proxy.bucket b on b.bucket = queue_proxy.bucket_of(queue_proxy.unique_key(u.payload, $3))
			group by b.shard
			order by b.shard
		loop
			_shard := _part.shard;
			begin
				perform queue_proxy.must_reach(_shard);
				select array_agg(r.id order by r.n), array_agg(r.inserted order by r.n), array_agg(r.outcome order by r.n)
				into _part_ids, _part_inserted, _part_outcome
				from queue_remote.queue_unique_insert_many(
					_shard, _version, null, $1, _part.payloads, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
					with ordinality as r(id, inserted, outcome, n);
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
				continue under_map;
			end;
			for _i in 1 .. cardinality(_part.places) loop
				_ids[_part.places[_i]] := _part_ids[_i];
				_inserted[_part.places[_i]] := _part_inserted[_i];
				_outcome[_part.places[_i]] := _part_outcome[_i];
			end loop;
			_left := array(select unnest(_left) except all select unnest(_part.places) order by 1);
			_done := _done || _shard;
		end loop;
	end loop;
	return query select * from unnest(_ids, _inserted, _outcome);
end
$$;
comment on function @schema@.queue_unique_insert_many(text, jsonb[], text[], interval, text[], integer, timestamp with time zone, integer, text, text, text, interval, timestamp with time zone, interval) is
	'adds a job for each payload that is not there already, or replaces or postpones the one that waits; returns ids in the same order';
insert into queue_proxy.member values ('function', '@schema@.queue_unique_insert_many(text, jsonb[], text[], interval, text[], integer, timestamp with time zone, integer, text, text, text, interval, timestamp with time zone, interval)');

create or replace function @schema@.queue_unschedule(
	queue text,
	name text
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($2, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.queue_unschedule(_shard, _version, _bucket, $1, $2);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.queue_unschedule(text, text) is
	'ends a schedule and removes the occurrence that no worker has taken; false if there is none';
insert into queue_proxy.member values ('function', '@schema@.queue_unschedule(text, text)');

create or replace procedure @schema@.queue_wait(
	queue text,
	wait interval default '00:01:00'::interval,
	kinds text[] default NULL::text[],
	worker text default NULL::text
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_until timestamptz;
begin
	if not coalesce($2 >= '0' and $1 is not null, false) then
		perform queue_proxy.wait_on_first(queue_proxy.ticket(), $1, $2, $3);
		return;
	end if;
	_until := clock_timestamp() + $2;
	loop
		exit when queue_proxy.wait_any(queue_proxy.ticket(), $1, _until, $3) or clock_timestamp() >= _until;
	end loop;
end
$$;
comment on procedure @schema@.queue_wait(text, interval, text[], text) is
	'waits until a job of the queue is claimable, or the time is over; worker: as "pending" may ask for it';
insert into queue_proxy.member values ('procedure', '@schema@.queue_wait(text, interval, text[], text)');

create or replace procedure @schema@.queue_wait_done(
	queue text,
	id bigint,
	wait interval default '00:01:00'::interval,
	inout state text default NULL::text,
	inout result jsonb default NULL::jsonb
)
language plpgsql
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
-- Nothing on the proxy is told of a commit on a shard: it asks again, first soon, later ten times a second.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_until timestamptz;
	_pause double precision := 0.005;
	_source oid;
	_first oid;
begin
	if $3 is null then
		raise exception using errcode = '22004', message = '"wait" must not be null';
	elsif $3 < '0' then
		raise exception using errcode = '22023', message = '"wait" must not be a negative interval';
	end if;
	_until := clock_timestamp() + $3;
	loop
		select * into _shard, _version from queue_proxy.place_of_id($2);
		begin
			select * into _source, state, result from queue_remote.result_of(_shard, _version, null, $1, $2);
			_try := 0;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			continue;
		end;
		_first := coalesce(_first, _source);
		if _source is distinct from _first then
			raise exception using errcode = '42704', message = format('queue "%s" was replaced by another one during the call', $1);
		end if;
		exit when state is null or state not in ('ready', 'scheduled', 'leased') or clock_timestamp() >= _until;
		perform pg_sleep(least(_pause, greatest(extract(epoch from _until - clock_timestamp()), 0)));
		_pause := least(2 * _pause, 0.1);
	end loop;
end
$$;
comment on procedure @schema@.queue_wait_done(text, bigint, interval, text, jsonb) is
	'waits until a job has ended, or the time is over, and returns its state and result';
insert into queue_proxy.member values ('procedure', '@schema@.queue_wait_done(text, bigint, interval, text, jsonb)');

create or replace function @schema@.throttle_acquire(
	resource anyenum,
	details text,
	out acquired boolean,
	out retry_at timestamp with time zone
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	select * into acquired, retry_at from @schema@.throttle_acquire($1::text, $2);
	return;
end
$$;
comment on function @schema@.throttle_acquire(anyenum, text) is
	'locks the throttled resource named by an enum value, and says when to try again if that was denied';
insert into queue_proxy.member values ('function', '@schema@.throttle_acquire(anyenum, text)');

create or replace function @schema@.throttle_acquire(
	resource text,
	details text,
	out acquired boolean,
	out retry_at timestamp with time zone
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			select * into acquired, retry_at from queue_remote.throttle_acquire(_shard, _version, _bucket, $1, $2);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.throttle_acquire(text, text) is
	'locks a throttled resource as lock_throttled_resource() does, and says when to try again if that was denied';
insert into queue_proxy.member values ('function', '@schema@.throttle_acquire(text, text)');

create or replace function @schema@.throttle_alter(
	resource anyenum,
	throttle_interval interval default NULL::interval,
	grants integer default NULL::integer
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	perform @schema@.throttle_alter($1::text, $2, $3);
	return;
end
$$;
comment on function @schema@.throttle_alter(anyenum, interval, integer) is
	'changes how often the throttled resource named by an enum value may be locked; null leaves a setting unchanged';
insert into queue_proxy.member values ('function', '@schema@.throttle_alter(anyenum, interval, integer)');

create or replace function @schema@.throttle_alter(
	resource text,
	throttle_interval interval default NULL::interval,
	grants integer default NULL::integer
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			perform queue_remote.throttle_alter(_shard, _version, _bucket, $1, $2, $3);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.throttle_alter(text, interval, integer) is
	'changes how often a throttled resource may be locked; null leaves a setting unchanged';
insert into queue_proxy.member values ('function', '@schema@.throttle_alter(text, interval, integer)');

create or replace function @schema@.throttle_create(
	resource anyenum,
	throttle_interval interval,
	grants integer default 1
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	perform @schema@.throttle_create($1::text, $2, $3);
	return;
end
$$;
comment on function @schema@.throttle_create(anyenum, interval, integer) is
	'creates the throttled resource that is named by the label of an enum value';
insert into queue_proxy.member values ('function', '@schema@.throttle_create(anyenum, interval, integer)');

create or replace function @schema@.throttle_create(
	resource text,
	throttle_interval interval,
	grants integer default 1
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			perform queue_remote.throttle_create(_shard, _version, _bucket, $1, $2, $3);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.throttle_create(text, interval, integer) is
	'creates a throttled resource, which may be locked once or grants times in any interval of this length';
insert into queue_proxy.member values ('function', '@schema@.throttle_create(text, interval, integer)');

create or replace function @schema@.throttle_drop(
	resource anyenum,
	if_exists boolean default false
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
begin
	return @schema@.throttle_drop($1::text, $2);
end
$$;
comment on function @schema@.throttle_drop(anyenum, boolean) is
	'drops the throttled resource named by an enum value; false if it does not exist and if_exists is true';
insert into queue_proxy.member values ('function', '@schema@.throttle_drop(anyenum, boolean)');

create or replace function @schema@.throttle_drop(
	resource text,
	if_exists boolean default false
) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.throttle_drop(_shard, _version, _bucket, $1, $2);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.throttle_drop(text, boolean) is
	'drops a throttled resource; false if it does not exist and if_exists is true';
insert into queue_proxy.member values ('function', '@schema@.throttle_drop(text, boolean)');

create or replace function @schema@.timeout_acquire(
	task_id text,
	timeout interval
) returns boolean
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			return queue_remote.timeout_acquire(_shard, _version, _bucket, $1, $2);
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.timeout_acquire(text, interval) is
	'acquires a lock for a time; false if it is already held';
insert into queue_proxy.member values ('function', '@schema@.timeout_acquire(text, interval)');

create or replace function @schema@.timeout_acquire_fenced(
	task_id text,
	timeout interval,
	out acquired boolean,
	out token bigint
)
language plpgsql volatile strict parallel unsafe
set search_path = pg_catalog, pg_temp
set client_min_messages = error
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
as $$
#variable_conflict use_variable
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_bucket integer := queue_proxy.bucket_of(coalesce($1, ''));
begin
	loop
		select * into _shard, _version from queue_proxy.place_of_bucket(_bucket);
		begin
			select * into acquired, token from queue_remote.timeout_acquire_fenced(_shard, _version, _bucket, $1, $2);
			return;
		exception when others then
			get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
			_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
		end;
	end loop;
end
$$;
comment on function @schema@.timeout_acquire_fenced(text, interval) is
	'like timeout_acquire(), with a fencing token that grows with each acquisition';
insert into queue_proxy.member values ('function', '@schema@.timeout_acquire_fenced(text, interval)');
