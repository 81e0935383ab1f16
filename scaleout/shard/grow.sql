-- Keys whose shard is another one under a new map, and the state that they leave behind.
--
-- queue_shard.leaving, on the shard that a key leaves, and queue_shard.unmoved, on the one that has it
-- now, name the same keys: those with a throttle, a mutex, a schedule, or jobs and history of unique
-- inserts. close_map() lists them in the transaction that ends the version before, so no call for
-- such a key is missed; the list is on the new shard before that serves the new version. Calls for
-- a key in unmoved raise 55P03.
--
-- A key is moved in three steps, each of which may be repeated: give_state(), on the old shard, takes
-- the state out of the tables and keeps it in leaving; take_state() puts it into those of the new
-- shard and its key out of unmoved; forget_states() ends it on the old one. scaleout/move does all three.
-- A state that the new shard does not take goes back: refuse_state() says there that it is not taken any
-- more, however late, and give_back() puts it into the tables of the old shard. Each time that a state is
-- given it has another number, by which the new shard knows which one it has refused.
--
-- The rows of jobs are carried as text, a value each, as COPY does: JSON of a row cannot tell a null from the
-- JSON value null, and has no way back for some types.
--
-- Of a unique insert the key is the digest in queue_unique_job, in hexadecimal. The history of a job
-- that is gone has its bucket in shard_bucket. Without one, as an insert past the proxies leaves it, its key
-- is listed for all shards that get any bucket, and it stays on the old one, too. Kind "order" holds back jobs with a partition_key until the shard that
-- the key had before has no job that is older.

create table if not exists queue_shard.leaving (
	kind text not null check (kind in ('throttle', 'mutex', 'schedule', 'unique', 'order')),
	queue text not null,
	key text not null,
	shard integer not null,
	jobs bigint[] not null default '{}',
	state jsonb,
	given integer not null default 0
);
select queue_shard.add_column('queue_shard.leaving', 'given', 'integer not null default 0');

-- A key may be longer than an index row.
create index if not exists leaving_key on queue_shard.leaving (shard, kind, queue, md5(key));

-- Has no rows: scaleout/grow holds its lock on the first shard.
create table if not exists queue_shard.growing ();

create table if not exists queue_shard.unmoved (
	kind text not null,
	queue text not null,
	key text not null,
	shard integer not null,
	refused integer not null default 0
);
select queue_shard.add_column('queue_shard.unmoved', 'refused', 'integer not null default 0');

create index if not exists unmoved_key on queue_shard.unmoved (kind, queue, md5(key), shard);

comment on table queue_shard.leaving is
	'keys that have another shard under the present map and have state here: the shard that has them, the state once it was given, and how often that was';
comment on table queue_shard.unmoved is
	'keys of this shard whose state is on another one, and how often it has refused that; calls for them raise 55P03';

-- A queue's name with its schema, as it is in these tables; '' if there is none.
create or replace function queue_shard.name_of(_queue text) returns text
language sql stable parallel unsafe
as $$
	select coalesce((
		select pg_catalog.format('%I.%I', n.nspname, c.relname)
		from pg_catalog.pg_class c
		join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
		where _queue operator(pg_catalog.<>) '' and c.oid operator(pg_catalog.=) pg_catalog.to_regclass(_queue)), '')
$$;

-- The queues of proxies: those whose ids are of this shard.
create or replace function queue_shard.own_queues(_shard integer) returns table (source regclass, name text)
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select q.source, format('%I.%I', n.nspname, c.relname)
	from @extschema@.queues q
	join pg_class c on c.oid = q.source
	join pg_namespace n on n.oid = c.relnamespace
	join pg_attribute a on a.attrelid = c.oid and a.attname = 'id' and not a.attisdropped
	join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid and d.refobjsubid = a.attnum
		and d.classid = 'pg_class'::regclass and d.deptype = 'i'
	join pg_sequence s on s.seqrelid = d.objid
	where q.managed and c.relkind = 'r' and c.relpersistence <> 't'
		and s.seqmin = int8shl(_shard, 43) + 1 and s.seqmax = int8shl(_shard + 1, 43) - 1
$$;

-- Whether the table has the columns that a queue's table is made with, as far as unique jobs go.
create or replace function queue_shard.is_whole(_table regclass) returns boolean
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select count(*) = 3
	from pg_attribute a
	where a.attrelid = _table and not a.attisdropped
		and (a.attname, a.atttypid) in (('id', 'bigint'::regtype), ('payload', 'jsonb'::regtype), ('unique_key', 'text'::regtype))
$$;

create or replace function queue_shard.must_be_moved(_kind text, _queue text, _key text) returns void
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
as $$
declare
	_from integer := (
		select u.shard from queue_shard.unmoved u
		where u.kind = _kind and u.queue = _queue and md5(u.key) = md5(_key) and u.key = _key limit 1);
begin
	if _from is not null then
		raise 'the state of % has not been moved to this shard',
			case _kind
				when 'unique' then format('this unique job of queue "%s"', _queue)
				when 'order' then format('queue "%s"', _queue)
				when 'schedule' then format('schedule "%s" of queue "%s"', _key, _queue)
				else format('%s "%s"', _kind, _key)
			end
			using errcode = '55P03',
				detail = case when _kind = 'order' then format('Older jobs with a key are on shard %s.', _from)
					else format('It is on shard %s.', _from) end,
				hint = case when _kind = 'order' then 'Try again when they are done, and scaleout/move has been run.'
					else 'Try again when scaleout/move has been run.' end;
	end if;
end
$$;

create or replace function queue_shard.check_moved(_kind text, _queue text, _key text) returns void
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.must_be_moved(_kind, queue_shard.name_of(_queue), _key);
end
$$;

-- What the digest of a unique insert is made of, from the name of its lock: the name without the
-- queue's.
create or replace function queue_shard.criteria_of(_lock text) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
	select substr(_lock, 1 + length(
		(regexp_match(_lock, '^unique_key\|queue=(?:"(?:[^"]|"")*"|[a-z0-9_]+)\.(?:"(?:[^"]|"")*"|[a-z0-9_]+)'))[1]))
$$;

create or replace function queue_shard.digest_of(_criteria text) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
	select encode(sha256(convert_to(_criteria, 'UTF8')), 'hex')
$$;

-- The arguments are those of the insert, whose own errors come from it.
create or replace function queue_shard.check_unique_moved(
	_queue text, _payloads jsonb[], _unique_by text[], _period interval, _run_at timestamptz, _time_zone text
) returns void
language plpgsql volatile parallel unsafe
as $$
declare
	_name text := queue_shard.name_of(_queue);
	_payload jsonb;
begin
	foreach _payload in array coalesce(_payloads, '{}') loop
		if _payload is not null then
			perform queue_shard.must_be_moved('unique', _name, queue_shard.digest_of(queue_shard.criteria_of(
				@extschema@.queue_unique_key(_queue, _payload, _unique_by, _period, _run_at, _time_zone))));
		end if;
	end loop;
end
$$;

-- A statement on a queue's table, with its $1, as the table's owner, whose triggers and expressions run:
-- returns the first value, which is jsonb. See src/scaleout/run_as_owner.cpp.
create or replace function queue_shard.run_as_owner(_table regclass, _statement text, _argument jsonb) returns jsonb
language c volatile parallel unsafe as '$libdir/queue_ext', 'queue_ext_run_as_owner';
revoke all on function queue_shard.run_as_owner(regclass, text, jsonb) from public;

-- Tells the next unique insert of this transaction the buckets of its payloads. See src/scaleout/note_buckets.cpp.
create or replace function queue_shard.note_buckets(_buckets integer[]) returns void
language c volatile parallel unsafe as '$libdir/queue_ext', 'queue_ext_note_buckets';

-- The digest of a unique job, and its bucket; null for one whose unique_key no insert has made, such as an occurrence
-- of a schedule, which moves with that. unique_key has the criteria behind its hash; a payload that has been changed counts as it is now.
create or replace function queue_shard.unique_digest(
	_queue text, _payload jsonb, _unique_key text, out digest text, out bucket integer
)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_criteria text[] := regexp_match(_unique_key, '^[0-9a-f]{16}(\|by=\[.*\])?(\|period=[^]]*)?$');
	_by text := _criteria[1];
	_names text[];
begin
	if _criteria is null then return; end if;
	if _by is not null then
		_names := array(select jsonb_array_elements_text(substr(_by, 5)::jsonb));
	end if;
	if _names <> '{}' and jsonb_typeof(_payload) <> 'object' then return; end if;
	digest := queue_shard.digest_of(concat(_by, _criteria[2], '|args=',
		substr(queue_shard.criteria_of(@extschema@.queue_unique_key(_queue, _payload, _names)), 7 + length(concat(_by)))));
	bucket := queue_shard.bucket_of(queue_shard.unique_key(_payload, _names));
exception when others then
	digest := null;
	bucket := null;
end
$$;
revoke all on function queue_shard.unique_digest(text, jsonb, text) from public;

-- The digests of the unique jobs in a queue's table, with their buckets.
create or replace function queue_shard.unique_jobs(_queue text)
returns table (job bigint, digest text, bucket integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_last bigint := 0;
	_jobs jsonb;
begin
	loop
		-- A page, which must not be longer than a jsonb may be.
		_jobs := queue_shard.run_as_owner(_queue::regclass, format($text$
			select jsonb_agg(jsonb_build_array(j.id, j.payload, j.unique_key) order by j.id)
			from (select p.*, sum(pg_column_size(p.payload)) over (order by p.id) - pg_column_size(p.payload) as before
				from (select t.id::bigint as id, t.payload::jsonb as payload, t.unique_key::text as unique_key
					from %s as t where t.unique_key is not null and t.id > $1::bigint order by t.id limit 200) as p) as j
			where j.before < 4000000
		$text$, _queue), to_jsonb(_last));
		exit when _jobs is null;
		return query
		select (j ->> 0)::bigint, d.digest, d.bucket
		from jsonb_array_elements(_jobs) as j, queue_shard.unique_digest(_queue, j -> 1, j ->> 2) as d
		where d.digest is not null;
		_last := greatest(_last + 1, (_jobs -> -1 ->> 0)::bigint);
	end loop;
end
$$;
revoke all on function queue_shard.unique_jobs(text) from public;

-- Ends the version before, and lists what leaves. Calls wait meanwhile. Element 1 + bucket of _had and
-- _buckets is its shard under the map before and the new one; _known is the newest version that the proxies have which
-- get the new one. Returns the number of keys listed. A rehearsal, to be rolled back, finds out what would fail, without
-- ending the version; calls go on meanwhile.
create or replace function queue_shard.close_map(
	_shard integer, _version bigint, _plan text, _had integer[], _buckets integer[], _keep_order boolean, _known bigint,
	_is_rehearsal boolean default false
) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_queue record;
	_to integer[]; -- for each bucket that leaves its new shard, else null
	_gaining integer[];
begin
	if current_setting('transaction_isolation') <> 'read committed' then
		raise 'a map must be closed at isolation level read committed' using errcode = '25001';
	end if;
	if not _is_rehearsal then
		perform queue_shard.set_map(_shard, _version, _plan);
	end if;
	if exists (select from queue_shard.map m where m.proxy_version > _known) then
		raise 'a proxy may have map %, and none of those named has it', (select m.proxy_version from queue_shard.map m)
			using errcode = '55000', hint = 'Name it, too.';
	end if;
	if exists (select from queue_shard.unmoved) then
		raise 'the state of % keys of this shard is still on others', (select count(*) from queue_shard.unmoved)
			using errcode = '55000', hint = 'Run scaleout/move first.';
	end if;
	if exists (select from queue_shard.leaving l where l.state is not null) then
		raise 'the state of % keys has been given to other shards and is kept here', (select count(*) from queue_shard.leaving l where l.state is not null)
			using errcode = '55000', hint = 'Run scaleout/move first.';
	end if;
	_to := array(
		select case when h.shard = _shard and b.shard <> _shard then b.shard end
		from unnest(_had) with ordinality as h(shard, n)
		join unnest(_buckets) with ordinality as b(shard, n) using (n)
		order by n);
	_gaining := array(select distinct t from unnest(_to) as t where t is not null);
	delete from queue_shard.leaving;
	insert into queue_shard.leaving (kind, queue, key, shard)
	select k.kind, k.queue, k.key, _to[1 + queue_shard.bucket_of(k.key)]
	from (
		select 'throttle', '', t.resource from @extschema@.throttled_resource t
		union all
		select 'mutex', '', l.task_id from @extschema@.named_lock l
		union all
		select 'schedule', q.name, s.name
		from @extschema@.queue_schedule_definition s
		join queue_shard.own_queues(_shard) as q on q.source = s.source
	) as k(kind, queue, key)
	where _to[1 + queue_shard.bucket_of(k.key)] is not null;
	for _queue in select q.source, q.name from queue_shard.own_queues(_shard) as q loop
		if not queue_shard.is_whole(_queue.source) then
			raise warning 'columns of queue "%" have been changed: its unique jobs are not listed', _queue.name
				using detail = 'Equal jobs may be inserted again on another shard.';
			continue;
		end if;
		with live as materialized (
			select u.digest, _to[1 + u.bucket] as shard, array_agg(u.job) as jobs
			from queue_shard.unique_jobs(_queue.name) as u
			group by 1, 2)
		insert into queue_shard.leaving (kind, queue, key, shard, jobs)
		select 'unique', _queue.name, l.digest, l.shard, l.jobs from live l where l.shard is not null
		union all
		select 'unique', _queue.name, h.digest, s, '{}'
		from (select encode(j.digest, 'hex') as digest, max(j.shard_bucket) as bucket
			  from @extschema@.queue_unique_job j
			  where j.source = _queue.source and j.expires_at > now()
			  group by j.digest) as h,
			unnest(case when h.bucket is null then _gaining else array[_to[1 + h.bucket]] end) as s
		where s is not null and not exists (select from live l where l.digest = h.digest);
		if _keep_order then
			insert into queue_shard.leaving (kind, queue, key, shard, jobs)
			select 'order', _queue.name, '', s.shard, queue_shard.newest_job(_queue.name)
			from unnest(_gaining) as s(shard);
		end if;
	end loop;
	return (select count(*) from queue_shard.leaving);
end
$$;

-- On a shard that was restored to a moment before a growth, and has got the present map again: lists the keys that
-- another shard still waits for from here, as [{"kind", "queue", "key"}]. Returns how many.
create or replace function queue_shard.list_awaited(_shard integer, _keys jsonb) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_count bigint;
begin
	with awaited as materialized (
		select k.kind, k.queue, k.key from jsonb_to_recordset(_keys) as k(kind text, queue text, key text)),
	live as materialized (
		select q.name as queue, u.digest, array_agg(u.job) as jobs
		from queue_shard.own_queues((select m.shard from queue_shard.map m)) as q, queue_shard.unique_jobs(q.name) as u
		where q.name in (select a.queue from awaited a where a.kind = 'unique') and queue_shard.is_whole(q.source)
		group by 1, 2)
	insert into queue_shard.leaving (kind, queue, key, shard, jobs)
	select a.kind, a.queue, a.key, _shard,
		case when a.kind = 'order' then queue_shard.newest_job(a.queue) else coalesce(l.jobs, '{}') end
	from awaited a
	left join live l on a.kind = 'unique' and l.queue = a.queue and l.digest = a.key
	where not exists (
		select from queue_shard.leaving o where o.kind = a.kind and o.queue = a.queue and o.key = a.key and o.shard = _shard);
	get diagnostics _count = row_count;
	return _count;
end
$$;

-- The newest id of a queue, in an array; none of one that is gone.
create or replace function queue_shard.newest_job(_queue text) returns bigint[]
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select case when to_regclass(_queue) is null then '{}' else
		array[coalesce(pg_sequence_last_value(pg_get_serial_sequence(_queue, 'id')::regclass), 0)] end
$$;

-- Of a shard without buckets, which have the lists of all others: the version from which it has some.
create or replace function queue_shard.open_map(_shard integer, _version bigint, _plan text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	perform queue_shard.set_map(_shard, _version, _plan);
	perform queue_shard.note_moved();
end
$$;

create or replace function queue_shard.note_moved() returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	update queue_shard.map set has_unmoved = exists (select from queue_shard.unmoved)
	where has_unmoved <> exists (select from queue_shard.unmoved)
$$;

-- An expression that makes jsonb of a row h of a queue's table: of each column the text, or null.
create or replace function queue_shard.row_as_text(_queue text) returns text
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select format('jsonb_object(%L::text[], array[%s])', array_agg(a.attname order by a.attnum),
		string_agg(format('case when h.%1$I is distinct from null then format(''%%s'', h.%1$I) end', a.attname), ', ' order by a.attnum))
	from pg_attribute a
	where a.attrelid = _queue::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
$$;

-- Inserts such a row, which is $1 of the statement, where it has the columns that the table has; its id is of the
-- shard that it comes to, but for a row that comes back. JSON and domains are read by a cast, since jsonb_to_record()
-- takes text for a JSON string.
create or replace function queue_shard.insert_of_text(_queue text, _row jsonb, _with_id boolean) returns text
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select format('insert into %s (%s)%s select %s from jsonb_to_record($1) as r(%s) returning id', _queue,
		string_agg(quote_ident(a.attname), ', ' order by a.attnum),
		case when _with_id then ' overriding system value' else '' end,
		string_agg(format('r.%I', a.attname) || case when c.by_cast then '::' || c.type else '' end, ', ' order by a.attnum),
		string_agg(format('%I %s', a.attname, case when c.by_cast then 'text' else c.type end), ', ' order by a.attnum))
	from pg_attribute a
	join pg_type t on t.oid = a.atttypid
	cross join lateral (
		select format_type(a.atttypid, a.atttypmod) as type,
			t.typtype = 'd' or t.oid in ('json'::regtype, 'jsonb'::regtype) as by_cast) as c
	where a.attrelid = _queue::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
		and (_with_id or a.attidentity = '') and _row ? a.attname::text
$$;

-- The state of a key, taken out of the tables of this shard, or as it was given before; null for a
-- key that is not leaving. Raises 55P03 while a worker has a job of a unique key, and while a queue
-- has older jobs.
create or replace function queue_shard.give_state(_kind text, _queue text, _key text, _shard integer) returns jsonb
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO, YMD' set intervalstyle = 'postgres' set extra_float_digits = 1
as $$
declare
	_leaving queue_shard.leaving;
	_rows jsonb := '[]';
	_history jsonb := '[]';
	_bucket integer; -- of a unique key, if a job of it is there
	_is_held boolean;
begin
	select * into _leaving from queue_shard.leaving l
	where l.kind = _kind and l.queue = _queue and md5(l.key) = md5(_key) and l.key = _key and l.shard = _shard
	for update;
	if not found or _leaving.state is not null then
		return _leaving.state;
	end if;
	if _kind <> 'throttle' and _kind <> 'mutex' and to_regclass(_queue) is null then
		null; -- The queue has been dropped since, and with it the state.
	elsif _kind = 'throttle' then
		with given as (delete from @extschema@.throttled_resource t where t.resource = _key returning t.*)
		select coalesce(jsonb_agg(to_jsonb(given)), '[]') into _rows from given;
	elsif _kind = 'mutex' then
		with given as (delete from @extschema@.named_lock l where l.task_id = _key returning l.*)
		select coalesce(jsonb_agg(to_jsonb(given)), '[]') into _rows from given;
	elsif _kind = 'schedule' then
		-- Its next occurrence goes with it; of one that a worker has the next comes by this.
		perform 1 from @extschema@.queue_schedule_definition s
		where s.source = _queue::regclass and s.name = _key for update;
		select coalesce(jsonb_agg(to_jsonb(s)), '[]') into _rows
		from @extschema@.queue_schedule_definition s where s.source = _queue::regclass and s.name = _key;
		perform queue_shard.run_as_owner(_queue::regclass, format('select to_jsonb(@extschema@.queue_unschedule(%L, %L))', _queue, _key), null);
	elsif _kind = 'unique' then
		if _leaving.jobs <> '{}' then
			select (h ->> 0)::boolean, h -> 1 into _is_held, _rows
			from queue_shard.run_as_owner(_queue::regclass, format($text$
				with held as (select t.* from %s t where t.id = any (array(select jsonb_array_elements_text($1)::bigint)) for update)
				select jsonb_build_array(coalesce(bool_or(h.leased_until > clock_timestamp()), false), coalesce(jsonb_agg(%s), '[]'))
				from held h$text$, _queue, queue_shard.row_as_text(_queue)), to_jsonb(_leaving.jobs)) as h;
			if _is_held then
				raise 'a worker has a job of this key' using errcode = '55P03', hint = 'Try again when it is done.';
			end if;
			-- Not those of a queue that was created again, with the same ids.
			select coalesce(array_agg((r ->> 'id')::bigint), '{}'), coalesce(jsonb_agg(r), '[]'), max(d.bucket) into _leaving.jobs, _rows, _bucket
			from jsonb_array_elements(_rows) as r, queue_shard.unique_digest(_queue, (r ->> 'payload')::jsonb, r ->> 'unique_key') as d
			where d.digest = _key;
			perform queue_shard.run_as_owner(_queue::regclass,
				format('delete from %s t where t.id = any (array(select jsonb_array_elements_text($1)::bigint))', _queue), to_jsonb(_leaving.jobs));
		end if;
		-- What may be of a key of another shard, as its bucket is not known, stays here, too.
		select coalesce(jsonb_agg(jsonb_build_object('job', j.job, 'expires_at', j.expires_at,
				'bucket', coalesce(j.shard_bucket, _bucket), 'stays', coalesce(j.shard_bucket, _bucket) is null)), '[]')
			into _history
		from @extschema@.queue_unique_job j
		where j.source = _queue::regclass and j.digest = decode(_key, 'hex') and j.expires_at > now();
		delete from @extschema@.queue_unique_job j
		where j.source = _queue::regclass and j.digest = decode(_key, 'hex') and coalesce(j.shard_bucket, _bucket) is not null;
	elsif _kind = 'order' then
		_is_held := queue_shard.run_as_owner(_queue::regclass, format($text$
			select to_jsonb(exists (
				select from %s t where t.id <= $1::bigint and t.run_at <= now() and (t.dead_at is null or t.dead_at > now())))$text$,
			_queue), to_jsonb(_leaving.jobs[1]));
		if _is_held then
			raise 'the queue has jobs that are older than the map' using errcode = '55P03', hint = 'Try again when they are done.';
		end if;
	end if;
	update queue_shard.leaving l
	set given = l.given + 1,
		state = jsonb_build_object('kind', _kind, 'queue', _queue, 'key', _key, 'given', l.given + 1,
			'from', (select m.shard from queue_shard.map m), 'to', _shard, 'rows', _rows, 'history', _history)
	where l.kind = _kind and l.queue = _queue and md5(l.key) = md5(_key) and l.key = _key and l.shard = _shard
	returning l.state into _leaving.state;
	return _leaving.state;
end
$$;

-- Of all keys that leave for that shard, but for those that are in use. Null stands for any.
create or replace function queue_shard.give_states(_shard integer, _kind text, _queue text, _key text) returns setof jsonb
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_leaving record;
	_state jsonb;
begin
	for _leaving in
		select l.kind, l.queue, l.key from queue_shard.leaving l
		where l.shard = _shard and (_kind is null or l.kind = _kind)
			and (_queue is null or l.queue = _queue or l.queue = queue_shard.name_of(_queue))
			and (_key is null or (md5(l.key) = md5(_key) and l.key = _key))
		order by 1, 2, 3
	loop
		begin
			_state := queue_shard.give_state(_leaving.kind, _leaving.queue, _leaving.key, _shard);
		exception when lock_not_available then
			continue;
		end;
		return next _state;
	end loop;
end
$$;

-- The keys of unique inserts whose jobs are done, many at once: no code of an owner runs for them. An array of states.
create or replace function queue_shard.give_past(_queue text, _keys text[], _shard integer) returns jsonb
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select jsonb_agg(s) filter (where s is not null)
	from unnest(_keys) as k, queue_shard.give_state('unique', _queue, k, _shard) as s
$$;

-- True if the key is not waited for any more: its state has been moved, or need not be.
create or replace function queue_shard.state_moved(_kind text, _queue text, _key text, _from integer default null) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_count integer;
begin
	delete from queue_shard.unmoved u
	where u.kind = _kind and u.queue = coalesce(_queue, '') and md5(u.key) = md5(_key) and u.key = _key and (_from is null or u.shard = _from);
	get diagnostics _count = row_count;
	perform queue_shard.note_moved();
	return _count > 0;
end
$$;

-- Puts a state into the tables of this shard. _is_back: of the one that has given it, under the ids that it had.
create or replace function queue_shard.put_state(_state jsonb, _is_back boolean) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO, YMD' set intervalstyle = 'postgres' set extra_float_digits = 1
as $$
declare
	_kind text := _state ->> 'kind';
	_queue text := _state ->> 'queue';
	_key text := _state ->> 'key';
	_row jsonb;
	_id bigint;
begin
	if _kind <> 'throttle' and _kind <> 'mutex' and to_regclass(_queue) is null then
		return;
	end if;
	for _row in select r from jsonb_array_elements(_state -> 'rows') as r loop
		case _kind
			when 'throttle' then
				insert into @extschema@.throttled_resource
				select * from jsonb_populate_record(null::@extschema@.throttled_resource, _row);
			when 'mutex' then
				insert into @extschema@.named_lock
				select * from jsonb_populate_record(null::@extschema@.named_lock, _row);
			when 'schedule' then
				perform queue_shard.run_as_owner(_queue::regclass, format($text$
					select to_jsonb(@extschema@.queue_schedule(%L, %L, ($1 ->> 'every')::interval, $1 ->> 'cron',
						$1 -> 'payload', $1 ->> 'time_zone', $1 ->> 'missed', ($1 ->> 'starts_at')::timestamptz,
						($1 ->> 'priority')::integer, ($1 ->> 'max_attempts')::integer, $1 ->> 'kind'))$text$, _queue, _key), _row);
				-- The occurrence that was next stays the next, also when its time has come.
				update @extschema@.queue_schedule_definition s
				set next_run_at = (_row ->> 'next_run_at')::timestamptz,
					last_claimed_at = (_row ->> 'last_claimed_at')::timestamptz
				where s.source = _queue::regclass and s.name = _key;
				perform queue_shard.run_as_owner(_queue::regclass,
					format($text$update %s t set run_at = ($1 ->> 'next_run_at')::timestamptz where t.id = ($1 ->> 'job')::bigint$text$, _queue),
					_row || (select jsonb_build_object('job', s.job) from @extschema@.queue_schedule_definition s
						where s.source = _queue::regclass and s.name = _key));
			when 'unique' then
				_id := queue_shard.run_as_owner(_queue::regclass,
					format('with put as (%s) select to_jsonb(id) from put', queue_shard.insert_of_text(_queue, _row, _is_back)), _row);
				-- What is remembered of the job is of its new id.
				_state := jsonb_set(_state, '{history}', coalesce((
					select jsonb_agg(case when h ->> 'job' = _row ->> 'id' then jsonb_set(h, '{job}', to_jsonb(_id)) else h end)
					from jsonb_array_elements(_state -> 'history') as h), '[]'));
			else null;
		end case;
	end loop;
	if _kind = 'unique' then
		insert into @extschema@.queue_unique_job (source, digest, job, expires_at, shard_bucket)
		select _queue::regclass, decode(_key, 'hex'), (h ->> 'job')::bigint, (h ->> 'expires_at')::timestamptz, (h ->> 'bucket')::smallint
		from jsonb_array_elements(_state -> 'history') as h
		where not (_is_back and (h ->> 'stays')::boolean);
	end if;
end
$$;

-- Puts a state that give_state() has given into the tables of this shard, and ends the waiting for its key. False if the
-- key was not waited for: then it was done before. The caller calls note_moved().
create or replace function queue_shard.take_one(_state jsonb) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_from constant integer := (_state ->> 'from')::integer;
	_refused integer;
begin
	if (_state ->> 'to')::integer is distinct from (select m.shard from queue_shard.map m) then
		raise 'this state is not for this shard' using errcode = '55000';
	end if;
	delete from queue_shard.unmoved u
	where u.kind = _state ->> 'kind' and u.queue = _state ->> 'queue' and md5(u.key) = md5(_state ->> 'key') and u.key = _state ->> 'key'
		and u.shard = _from
	returning u.refused into _refused;
	if not found then
		return false;
	elsif (_state ->> 'given')::integer <= _refused then
		raise 'this state has been given back to shard %', _from
			using errcode = '55000', hint = 'Give it again by give_state() there.';
	end if;
	perform queue_shard.put_state(_state, false);
	return true;
end
$$;

create or replace function queue_shard.take_state(_state jsonb) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_is_taken boolean := queue_shard.take_one(_state);
begin
	perform queue_shard.note_moved();
	return _is_taken;
end
$$;

-- Those of give_past(). Returns how many were waited for.
create or replace function queue_shard.take_past(_states jsonb) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_count bigint := (select count(*) filter (where queue_shard.take_one(s)) from jsonb_array_elements(_states) as s);
begin
	perform queue_shard.note_moved();
	return _count;
end
$$;

-- When a state could not be taken: notes that it is not taken any more, by whatever call is still on its way. True if
-- the key is waited for; then, from the commit on, it may be given back on the old shard.
create or replace function queue_shard.refuse_state(_kind text, _queue text, _key text, _from integer, _given integer) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	update queue_shard.unmoved u
	set refused = greatest(u.refused, _given)
	where u.kind = _kind and u.queue = _queue and md5(u.key) = md5(_key) and u.key = _key and u.shard = _from;
	return found;
end
$$;

-- Puts a state that the new shard has refused into the tables of this shard, which had it. False if it was not given
-- with that number, or has gone back.
create or replace function queue_shard.give_back(_kind text, _queue text, _key text, _shard integer, _given integer) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_state jsonb;
begin
	select l.state into _state from queue_shard.leaving l
	where l.kind = _kind and l.queue = _queue and md5(l.key) = md5(_key) and l.key = _key and l.shard = _shard and l.given = _given
	for update;
	if _state is null then
		return false;
	end if;
	perform queue_shard.put_state(_state, true);
	update queue_shard.leaving l
	set state = null
	where l.kind = _kind and l.queue = _queue and md5(l.key) = md5(_key) and l.key = _key and l.shard = _shard;
	return true;
end
$$;

-- When the shard that has the keys now waits for none of this one: what is kept of them goes.
create or replace function queue_shard.forget_states(_shard integer) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_count bigint;
begin
	delete from queue_shard.leaving l where l.shard = _shard;
	get diagnostics _count = row_count;
	return _count;
end
$$;

-- Privileges as [{"to", "what", "again"}]; null if they are those of a new object.
create or replace function queue_shard.grants_of(_acl aclitem[], _owner oid) returns jsonb
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select coalesce(jsonb_agg(jsonb_build_object(
			'to', case when x.grantee = 0 then null else pg_get_userbyid(x.grantee) end,
			'what', x.privilege_type, 'again', x.is_grantable)
		order by pg_get_userbyid(x.grantee) collate "C", x.privilege_type), '[]')
	from aclexplode(_acl) as x
	where x.grantee <> _owner
$$;

-- The queues of this shard, and what a shard that joins must be told of each to have the same.
create or replace function queue_shard.queue_definitions() returns setof jsonb
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select jsonb_build_object(
		'name', queue_shard.name_of(q.source::text),
		'schema', n.nspname,
		'schema_owner', pg_get_userbyid(n.nspowner),
		'schema_grants', queue_shard.grants_of(n.nspacl, n.nspowner),
		'owner', pg_get_userbyid(c.relowner),
		'grants', queue_shard.grants_of(c.relacl, c.relowner),
		'archive_grants', (select queue_shard.grants_of(a.relacl, a.relowner) from pg_class a where a.oid = q.archive),
		'lease', q.lease, 'max_attempts', q.max_attempts, 'backoff_base', q.backoff_base, 'backoff_cap', q.backoff_cap,
		'archive', q.archive is not null, 'archive_keep', q.archive_keep, 'dead_keep', q.dead_keep, 'on_expire', q.on_expire, 'paused', q.paused,
		'dead_queue', (select queue_shard.name_of(d.oid::regclass::text) from pg_class d where d.oid = q.dead_queue),
		'kinds', exists (
			select from pg_index i join pg_attribute a on a.attrelid = i.indexrelid and a.attnum = 1
			where i.indrelid = q.source and a.attname = 'kind'))
	from queue_shard.own_queues((select m.shard from queue_shard.map m)) as o
	join @extschema@.queues q on q.source = o.source
	join pg_class c on c.oid = q.source
	join pg_namespace n on n.oid = c.relnamespace
	order by o.name
$$;

create or replace function queue_shard.set_grants(_object text, _now aclitem[], _owner oid, _grants jsonb) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_grant jsonb;
begin
	if _grants is null or _grants = queue_shard.grants_of(_now, _owner) then return; end if;
	for _grant in select g from jsonb_array_elements(queue_shard.grants_of(_now, _owner)) as g loop
		execute format('revoke %s on %s from %s', _grant ->> 'what', _object, coalesce(quote_ident(_grant ->> 'to'), 'public'));
	end loop;
	for _grant in select g from jsonb_array_elements(_grants) as g loop
		execute format('grant %s on %s to %s%s', _grant ->> 'what', _object, coalesce(quote_ident(_grant ->> 'to'), 'public'),
			case when (_grant ->> 'again')::boolean then ' with grant option' else '' end);
	end loop;
end
$$;

-- Makes a queue of a shard that joins equal to its definition on another shard.
create or replace function queue_shard.set_definition(_shard integer, _definition jsonb) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_name text := _definition ->> 'name';
	_first bigint := int8shl(_shard, 43) + 1;
	_table regclass;
	_archive regclass;
	_part regclass;
begin
	if to_regnamespace(quote_ident(_definition ->> 'schema')) is null then
		execute format('create schema %I authorization %I', _definition ->> 'schema', _definition ->> 'schema_owner');
	end if;
	perform queue_shard.set_grants(format('schema %I', n.nspname), n.nspacl, n.nspowner, _definition -> 'schema_grants')
	from pg_namespace n
	where n.nspname = _definition ->> 'schema' and pg_get_userbyid(n.nspowner) = _definition ->> 'schema_owner';
	if to_regclass(_name) is not null
		and not exists (select from queue_shard.own_queues(_shard) as o where o.source = to_regclass(_name))
	then
		raise 'relation "%" of this server was not created through a proxy', _name
			using errcode = '55000',
				detail = 'The other shards have a queue of that name, and its ids have the number of the shard.',
				hint = 'Drop it, or rename it.';
	end if;
	if (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = to_regclass(_name)) <> (_definition ->> 'owner') then
		raise 'queue "%" of this server belongs to another role than on the other shards', _name
			using errcode = '55000', hint = 'Drop it, or give it to that role.';
	end if;
	if to_regclass(_name) is null then
		_table := @extschema@.queue_create(_name);
		execute format('alter table %s alter column id set minvalue %s set maxvalue %s set start %s restart',
			_name, _first, int8shl(_shard + 1, 43) - 1, _first);
	end if;
	_table := _name::regclass;
	perform @extschema@.queue_alter(_name,
		lease => (_definition ->> 'lease')::interval,
		max_attempts => (_definition ->> 'max_attempts')::integer,
		backoff_base => (_definition ->> 'backoff_base')::interval,
		backoff_cap => (_definition ->> 'backoff_cap')::interval,
		archive => (_definition ->> 'archive')::boolean,
		kinds => (_definition ->> 'kinds')::boolean,
		archive_keep => case when (_definition ->> 'archive')::boolean then coalesce((_definition ->> 'archive_keep')::interval, '0') end,
		dead_keep => coalesce((_definition ->> 'dead_keep')::interval, '0'),
		on_expire => coalesce(_definition ->> 'on_expire', ''));
	if (_definition ->> 'paused')::boolean then
		perform @extschema@.queue_pause(_name);
	else
		perform @extschema@.queue_resume(_name);
	end if;
	select q.archive into _archive from @extschema@.queues q where q.source = _table;
	for _part in
		select t from unnest(array[_table, _archive]) as t where t is not null
		union all
		select i.inhrelid from pg_inherits i where i.inhparent = _archive
	loop
		execute format('alter table %s owner to %I', _part, _definition ->> 'owner');
	end loop;
	perform queue_shard.set_grants('table ' || c.oid::regclass, c.relacl, c.relowner,
		_definition -> case when c.oid = _table then 'grants' else 'archive_grants' end)
	from pg_class c where c.oid in (_table, _archive);
end
$$;

-- When all queues of a shard that joins have been made, and have their owners.
create or replace function queue_shard.set_dead_queue(_definition jsonb) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_name text := _definition ->> 'name';
	_dead_queue text := coalesce(_definition ->> 'dead_queue', '');
begin
	perform @extschema@.queue_alter(_name, dead_queue => _dead_queue)
	from @extschema@.queues q
	where q.source = to_regclass(_name) and q.managed and q.dead_queue is distinct from to_regclass(nullif(_dead_queue, ''))
		and (_dead_queue = '' or (select c.relowner from pg_class c where c.oid = q.source)
			= (select d.relowner from pg_class d where d.oid = to_regclass(nullif(_dead_queue, ''))));
end
$$;

-- A queue of a shard that joins, and that the others do not have any more.
create or replace function queue_shard.drop_others(_shard integer, _names text[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_name text;
	_has_jobs boolean;
begin
	for _name in select q.name from queue_shard.own_queues(_shard) as q where q.name <> all (_names) loop
		_has_jobs := queue_shard.run_as_owner(_name::regclass, format('select to_jsonb(exists (select from %s))', _name), null);
		if _has_jobs then
			raise 'queue "%" of this server is on no other shard, and has jobs', _name using errcode = '55000';
		end if;
		perform @extschema@.queue_drop(_name);
	end loop;
end
$$;

-- Privileges on what the extension has, as statements for a server whose extension is in that schema.
create or replace function queue_shard.extension_grants() returns setof jsonb
language sql stable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select jsonb_build_object('kind', o.kind, 'name', o.name, 'grants', queue_shard.grants_of(o.acl, o.owner))
	from pg_extension e
	cross join lateral (
		select 'schema' as kind, '' as name, n.nspacl as acl, n.nspowner as owner from pg_namespace n where n.oid = e.extnamespace
		union all
		select 'table', quote_ident(c.relname), c.relacl, c.relowner
		from pg_depend d join pg_class c on d.classid = 'pg_class'::regclass and c.oid = d.objid
		where d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid and d.deptype = 'e' and c.relkind in ('r', 'v')
		union all
		select case p.prokind when 'p' then 'procedure' else 'function' end,
			format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
		from pg_depend d join pg_proc p on d.classid = 'pg_proc'::regclass and p.oid = d.objid
		where d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid and d.deptype = 'e'
	) as o
	where e.extname = 'queue_ext'
$$;

create or replace function queue_shard.set_extension_grants(_grants jsonb) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_schema oid := (select e.extnamespace from pg_extension e where e.extname = 'queue_ext');
	_name text := format('%s.%s', _schema::regnamespace, _grants ->> 'name');
	_now aclitem[];
	_owner oid;
begin
	case _grants ->> 'kind'
		when 'schema' then
			_name := _schema::regnamespace;
			select n.nspacl, n.nspowner into _now, _owner from pg_namespace n where n.oid = _schema;
		when 'table' then
			select c.relacl, c.relowner into _now, _owner from pg_class c where c.oid = to_regclass(_name);
		else
			select coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner into _now, _owner
			from pg_proc p
			where p.pronamespace = _schema and format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) = _grants ->> 'name';
	end case;
	if _owner is not null then
		perform queue_shard.set_grants(format('%s %s', _grants ->> 'kind', _name), _now, _owner, _grants -> 'grants');
	end if;
end
$$;

revoke all on function queue_shard.close_map(integer, bigint, text, integer[], integer[], boolean, bigint, boolean),
	queue_shard.list_awaited(integer, jsonb), queue_shard.newest_job(text),
	queue_shard.open_map(integer, bigint, text), queue_shard.note_moved(), queue_shard.row_as_text(text),
	queue_shard.insert_of_text(text, jsonb, boolean), queue_shard.put_state(jsonb, boolean),
	queue_shard.refuse_state(text, text, text, integer, integer), queue_shard.give_back(text, text, text, integer, integer),
	queue_shard.give_state(text, text, text, integer), queue_shard.give_states(integer, text, text, text),
	queue_shard.give_past(text, text[], integer), queue_shard.take_one(jsonb), queue_shard.take_past(jsonb),
	queue_shard.take_state(jsonb), queue_shard.state_moved(text, text, text, integer),
	queue_shard.forget_states(integer), queue_shard.queue_definitions(), queue_shard.own_queues(integer),
	queue_shard.grants_of(aclitem[], oid), queue_shard.set_grants(text, aclitem[], oid, jsonb),
	queue_shard.set_definition(integer, jsonb), queue_shard.set_dead_queue(jsonb), queue_shard.drop_others(integer, text[]),
	queue_shard.extension_grants(), queue_shard.set_extension_grants(jsonb)
from public;

comment on function queue_shard.close_map(integer, bigint, text, integer[], integer[], boolean, bigint, boolean) is
	'ends the version of the map before and lists the keys that have another shard under the new one; scaleout/grow calls it';
comment on function queue_shard.open_map(integer, bigint, text) is
	'begins to serve a version of the map; scaleout/grow calls it';
comment on function queue_shard.give_state(text, text, text, integer) is
	'takes the state of a key that has another shard now out of the tables and returns it; repeated it returns the same';
comment on function queue_shard.take_state(jsonb) is
	'puts the state that give_state() has returned into the tables of this shard; false if that has been done';
comment on function queue_shard.refuse_state(text, text, text, integer, integer) is
	'says that a state which this shard could not take is not taken any more, so that give_back() may put it back; false if the key is not waited for';
comment on function queue_shard.give_back(text, text, text, integer, integer) is
	'puts a state that refuse_state() has refused back into the tables of the shard that has given it; false if that has been done';
comment on function queue_shard.state_moved(text, text, text, integer) is
	'says that the state of a key is here or is not needed, and ends its 55P03; false if there was none';
