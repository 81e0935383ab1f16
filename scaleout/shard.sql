-- Made by scaleout/generate from the extension's functions and scaleout/routes; do not edit.

select queue_shard.make_type('queue_shard.queue_row', array['id bigint', 'run_at timestamp with time zone', 'created_at timestamp with time zone', 'leased_until timestamp with time zone', 'dead_at timestamp with time zone', 'claimed_at timestamp with time zone', 'expires_at timestamp with time zone', 'attempt integer', 'max_attempts integer', 'priority smallint', 'leased_by text', 'last_error text', 'payload jsonb', 'unique_key text', 'kind text', 'released integer', 'errors jsonb', 'progress jsonb', 'origin jsonb']);
select queue_shard.make_type('queue_shard.queues_row', array['queue text', 'source text', 'managed boolean', 'claim_mode text', 'paused boolean', 'lease interval', 'max_attempts integer', 'backoff_base interval', 'backoff_cap interval', 'archive text', 'pending text', 'order_by text', 'on_claim text', 'on_complete text', 'on_release text', 'on_fail text', 'on_extend text', 'search_path text', 'created_at timestamp with time zone', 'ready_at text', 'claimed_at text', 'archive_keep interval', 'dead_keep interval', 'dead_queue text', 'on_expire text']);
select queue_shard.make_type('queue_shard.queue_stats_row', array['queue text', 'source text', 'since timestamp with time zone', 'sent bigint', 'claimed bigint', 'completed bigint', 'failed bigint', 'retried bigint', 'dead bigint', 'moved bigint', 'unstarted bigint', 'released bigint', 'cancelled bigint', 'expired bigint', 'duplicates bigint', 'waits bigint', 'waiting integer', 'ready bigint', 'ready_exact boolean', 'scheduled bigint', 'leased bigint', 'oldest_ready_at timestamp with time zone', 'oldest_exact boolean']);
select queue_shard.make_type('queue_shard.queue_wait_histogram_row', array['queue text', 'source text', 'le double precision', 'jobs bigint', 'total_seconds double precision']);
select queue_shard.make_type('queue_shard.queue_run_histogram_row', array['queue text', 'source text', 'le double precision', 'jobs bigint', 'total_seconds double precision']);
select queue_shard.make_type('queue_shard.queue_schedules_row', array['queue text', 'name text', 'every interval', 'cron text', 'time_zone text', 'missed text', 'payload jsonb', 'next_run_at timestamp with time zone', 'last_claimed_at timestamp with time zone', 'job bigint']);
select queue_shard.make_type('queue_shard.held_locks_row', array['task_id text', 'holder text', 'since timestamp with time zone', 'until timestamp with time zone', 'token bigint']);
select queue_shard.make_type('queue_shard.throttled_resource_row', array['resource text', 'throttle_interval interval', 'grants integer', 'last_locked timestamp with time zone', 'last_locker_details text', 'earlier_grants timestamp with time zone[]']);

create or replace function queue_shard.lock_set_retries(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	retries integer
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	perform @extschema@.lock_set_retries($4, $5);
	return true;
end
$$;

create or replace function queue_shard.lock_throttled_resource(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	details text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('throttle', '', $4);
	end if;
	return @extschema@.lock_throttled_resource($4, $5);
end
$$;

create or replace function queue_shard.mutex_acquire(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	return @extschema@.mutex_acquire($4);
end
$$;

create or replace function queue_shard.mutex_acquire_fenced(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	out acquired boolean,
	out token bigint
)
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	select * into acquired, token from @extschema@.mutex_acquire_fenced($4);
	return;
end
$$;

create or replace function queue_shard.mutex_release(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	return @extschema@.mutex_release($4);
end
$$;

create or replace function queue_shard.mutex_release(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	token bigint
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	return @extschema@.mutex_release($4, $5);
end
$$;

create or replace function queue_shard.queue_alter(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	perform @extschema@.queue_alter($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);
	return true;
end
$$;

create or replace function queue_shard.queue_cancel(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_cancel($4, $5, $6);
end
$$;

create or replace function queue_shard.queue_cancel_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[]
) returns setof bigint
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_cancel_many($4, $5, $6);
	return;
end
$$;

create or replace function queue_shard.queue_complete(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	result jsonb
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_complete($4, $5, $6, $7);
end
$$;

create or replace function queue_shard.queue_complete_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	results jsonb[]
) returns setof bigint
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_complete_many($4, $5, $6, $7);
	return;
end
$$;

create or replace function queue_shard.queue_complete_pop(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	select * into completed, id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by, last_error, created_at, kind from @extschema@.queue_complete_pop($4, $5, $6, $7, $8, $9, $10);
	return;
end
$$;

create or replace function queue_shard.queue_counts(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	out ready bigint,
	out scheduled bigint,
	out leased bigint,
	out dead bigint
)
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	select * into ready, scheduled, leased, dead from @extschema@.queue_counts($4);
	return;
end
$$;

create or replace function queue_shard.queue_create(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
-- queue_create() on a shard. That the queue is there already is an answer; and the ids have the
-- shard's number above the 43 bits of the sequence, and stay below 2^53, which every client can hold.
declare
	_table regclass;
	_first bigint := pg_catalog.int8shl(_shard, 43) operator(pg_catalog.+) 1;
begin
	perform queue_shard.check_map(_shard, _version, _bucket);
	-- Of another role it is another queue.
	begin
		_table := @extschema@.queue_create($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
		existed := false;
	exception when duplicate_object then
		-- Whether it is that queue, and not a table of that name, is looked up below.
		_table := pg_catalog.to_regclass(queue);
		existed := true;
		if not exists (
			select from @extschema@.queues q
			join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) q.source
			where q.source operator(pg_catalog.=) _table and q.managed
				and pg_catalog.pg_get_userbyid(c.relowner) operator(pg_catalog.=) current_user)
		then
			raise;
		end if;
	end;
	if exists (
		select from pg_catalog.pg_class c
		where c.oid operator(pg_catalog.=) _table and c.relpersistence operator(pg_catalog.=) 't')
	then
		raise 'a temporary queue cannot be created through a proxy'
			using errcode = '0A000', detail = 'It would be of a session of the proxy with a shard.';
	end if;
	if not existed then
		execute pg_catalog.format(
			'alter table %s alter column id set minvalue %s set maxvalue %s set start %s restart',
			_table, _first, pg_catalog.int8shl(_shard operator(pg_catalog.+) 1, 43) operator(pg_catalog.-) 1, _first);
	elsif not exists (
		select from pg_catalog.pg_sequence s
		where s.seqrelid operator(pg_catalog.=) pg_catalog.pg_get_serial_sequence(_table::text, 'id')::regclass
			and s.seqmin operator(pg_catalog.=) _first)
	then
		raise 'queue "%" was not created through a proxy', _table
			using errcode = '55000',
				detail = 'Its ids do not have the number of the shard.';
	end if;
	select n.nspname, c.relname into schema_name, table_name
	from pg_catalog.pg_class c
	join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
	where c.oid operator(pg_catalog.=) _table;
	select pg_catalog.format('lease %s, max_attempts %s, backoff_base %s, backoff_cap %s, archive %s, archive_keep %s, dead_keep %s, dead_queue %s, on_expire %s',
			q.lease, q.max_attempts, q.backoff_base, q.backoff_cap, q.archive is not null,
			coalesce(q.archive_keep::text, 'null'), coalesce(q.dead_keep::text, 'null'), coalesce(q.dead_queue::text, 'null'),
			coalesce(q.on_expire, 'null'))
		into settings
	from @extschema@.queues q
	where q.source operator(pg_catalog.=) _table and q.managed;
end
$$;

create or replace function queue_shard.queue_drop(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	if_exists boolean
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_drop($4, $5);
end
$$;

create or replace function queue_shard.queue_extend(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	lease interval,
	progress jsonb
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_extend($4, $5, $6, $7, $8);
end
$$;

create or replace function queue_shard.queue_extend_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	lease interval,
	progress jsonb[]
) returns setof bigint
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_extend_many($4, $5, $6, $7, $8);
	return;
end
$$;

create or replace function queue_shard.queue_fail(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_fail($4, $5, $6, $7, $8, $9);
end
$$;

create or replace function queue_shard.queue_fail_many(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_fail_many($4, $5, $6, $7, $8, $9);
	return;
end
$$;

create or replace function queue_shard.queue_health(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns setof @extschema@.queue_finding
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_health($4);
	return;
end
$$;

create or replace function queue_shard.queue_pause(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_pause($4);
end
$$;

create or replace function queue_shard.queue_pop(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	max_jobs integer,
	lease interval,
	worker text,
	kinds text[]
) returns setof @extschema@.queue_job
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_pop($4, $5, $6, $7, $8);
	return;
end
$$;

create or replace function queue_shard.queue_pop_any(
	_shard integer,
	_version bigint,
	_bucket integer,
	queues text[],
	max_jobs integer,
	lease interval,
	worker text,
	kinds text[],
	weights integer[]
) returns setof @extschema@.queue_any_job
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_pop_any($4, $5, $6, $7, $8, $9);
	return;
end
$$;

create or replace function queue_shard.queue_purge(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	state text
) returns bigint
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_purge($4, $5);
end
$$;

create or replace function queue_shard.queue_release(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer,
	run_at timestamp with time zone
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_release($4, $5, $6, $7);
end
$$;

create or replace function queue_shard.queue_release_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[],
	run_at timestamp with time zone
) returns setof bigint
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_release_many($4, $5, $6, $7);
	return;
end
$$;

create or replace function queue_shard.queue_requeue(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	attempt integer
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_requeue($4, $5, $6);
end
$$;

create or replace function queue_shard.queue_requeue_many(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	ids bigint[],
	attempts integer[]
) returns setof bigint
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select * from @extschema@.queue_requeue_many($4, $5, $6);
	return;
end
$$;

create or replace function queue_shard.queue_result(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	id bigint,
	out state text,
	out finished_at timestamp with time zone,
	out result jsonb
)
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	select * into state, finished_at, result from @extschema@.queue_result($4, $5);
	return;
end
$$;

create or replace function queue_shard.queue_resume(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	return @extschema@.queue_resume($4);
end
$$;

create or replace function queue_shard.queue_schedule(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('schedule', $4, $5);
	end if;
	return @extschema@.queue_schedule($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
end
$$;

create or replace function queue_shard.queue_send(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('order', $4, '') where $3 is not null;
	end if;
	return @extschema@.queue_send($4, $5, $6, $7, $8, $9, $10, $11);
end
$$;

create or replace function queue_shard.queue_send_many(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('order', $4, '') where $3 is not null;
	end if;
	return query select * from @extschema@.queue_send_many($4, $5, $6, $7, $8, $9, $10, $11);
	return;
end
$$;

create or replace function queue_shard.queue_stats_reset(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	perform queue_shard.check_map($1, $2, $3);
	perform @extschema@.queue_stats_reset($4);
	return true;
end
$$;

create or replace function queue_shard.queue_unique_insert(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_unique_moved($4, array[$5], $6, $7, $10, $13);
	end if;
	if $7 is not null or $8 is not null then
		perform queue_shard.note_buckets(array[$3]);
	end if;
	select * into id, inserted, outcome from @extschema@.queue_unique_insert($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);
	return;
end
$$;

create or replace function queue_shard.queue_unique_insert_many(
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
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_unique_moved($4, $5, $6, $7, $10, $13);
	end if;
	if $7 is not null or $8 is not null then
		perform queue_shard.note_buckets(array(
			select queue_shard.bucket_of(queue_shard.unique_key(u.payload, $6))
			from pg_catalog.unnest($5) with ordinality as u(payload, n) order by u.n));
	end if;
	return query select * from @extschema@.queue_unique_insert_many($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);
	return;
end
$$;

create or replace function queue_shard.queue_unschedule(
	_shard integer,
	_version bigint,
	_bucket integer,
	queue text,
	name text
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('schedule', $4, $5);
	end if;
	return @extschema@.queue_unschedule($4, $5);
end
$$;

create or replace function queue_shard.throttle_acquire(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	details text,
	out acquired boolean,
	out retry_at timestamp with time zone
)
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('throttle', '', $4);
	end if;
	select * into acquired, retry_at from @extschema@.throttle_acquire($4, $5);
	return;
end
$$;

create or replace function queue_shard.throttle_alter(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	throttle_interval interval,
	grants integer
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('throttle', '', $4);
	end if;
	perform @extschema@.throttle_alter($4, $5, $6);
	return true;
end
$$;

create or replace function queue_shard.throttle_create(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	throttle_interval interval,
	grants integer
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('throttle', '', $4);
	end if;
	perform @extschema@.throttle_create($4, $5, $6);
	return true;
end
$$;

create or replace function queue_shard.throttle_drop(
	_shard integer,
	_version bigint,
	_bucket integer,
	resource text,
	if_exists boolean
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('throttle', '', $4);
	end if;
	return @extschema@.throttle_drop($4, $5);
end
$$;

create or replace function queue_shard.timeout_acquire(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	timeout interval
) returns boolean
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	return @extschema@.timeout_acquire($4, $5);
end
$$;

create or replace function queue_shard.timeout_acquire_fenced(
	_shard integer,
	_version bigint,
	_bucket integer,
	task_id text,
	timeout interval,
	out acquired boolean,
	out token bigint
)
language plpgsql volatile parallel unsafe
as $$
#variable_conflict use_variable
begin
	if queue_shard.check_map($1, $2, $3) then
		perform queue_shard.check_moved('mutex', '', $4);
	end if;
	select * into acquired, token from @extschema@.timeout_acquire_fenced($4, $5);
	return;
end
$$;

create or replace function queue_shard.queue_rows(
	_shard integer,
	_version bigint,
	_bucket integer,
	_queue text
) returns setof queue_shard.queue_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query execute format('select v.id, v.run_at, v.created_at, v.leased_until, v.dead_at, v.claimed_at, v.expires_at, v.attempt, v.max_attempts, v.priority, v.leased_by::text, v.last_error::text, v.payload, v.unique_key::text, v.kind::text, v.released, v.errors, v.progress, v.origin from %s v', $4::regclass);
end
$$;

create or replace function queue_shard.queues(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.queues_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.queue::text, v.source::text, v.managed, v.claim_mode::text, v.paused, v.lease, v.max_attempts, v.backoff_base, v.backoff_cap, v.archive::text, v.pending::text, v.order_by::text, v.on_claim::text, v.on_complete::text, v.on_release::text, v.on_fail::text, v.on_extend::text, v.search_path::text, v.created_at, v.ready_at::text, v.claimed_at::text, v.archive_keep, v.dead_keep, v.dead_queue::text, v.on_expire::text from @extschema@.queues v;
end
$$;

create or replace function queue_shard.queue_stats(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.queue_stats_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.queue::text, v.source::text, v.since, v.sent, v.claimed, v.completed, v.failed, v.retried, v.dead, v.moved, v.unstarted, v.released, v.cancelled, v.expired, v.duplicates, v.waits, v.waiting, v.ready, v.ready_exact, v.scheduled, v.leased, v.oldest_ready_at, v.oldest_exact from @extschema@.queue_stats v;
end
$$;

create or replace function queue_shard.queue_wait_histogram(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.queue_wait_histogram_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.queue::text, v.source::text, v.le, v.jobs, v.total_seconds from @extschema@.queue_wait_histogram v;
end
$$;

create or replace function queue_shard.queue_run_histogram(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.queue_run_histogram_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.queue::text, v.source::text, v.le, v.jobs, v.total_seconds from @extschema@.queue_run_histogram v;
end
$$;

create or replace function queue_shard.queue_schedules(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.queue_schedules_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.queue::text, v.name::text, v.every, v.cron::text, v.time_zone::text, v.missed::text, v.payload, v.next_run_at, v.last_claimed_at, v.job from @extschema@.queue_schedules v;
end
$$;

create or replace function queue_shard.held_locks(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.held_locks_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.task_id::text, v.holder::text, v.since, v.until, v.token from @extschema@.held_locks v;
end
$$;

create or replace function queue_shard.throttled_resource(
	_shard integer,
	_version bigint,
	_bucket integer
) returns setof queue_shard.throttled_resource_row
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map($1, $2, $3);
	return query select v.resource::text, v.throttle_interval, v.grants, v.last_locked, v.last_locker_details::text, v.earlier_grants from @extschema@.throttled_resource v;
end
$$;
