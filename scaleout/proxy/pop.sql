-- Which shards had too few jobs a moment ago, for the queue that the session has last popped from:
-- for each shard the millisecond until which it comes last. It is in a setting of the session, so
-- that nothing is written.

create or replace function queue_proxy.idle_until(_queue text) returns bigint[]
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if current_setting('queue_proxy.idle_queue', true) = _queue then
		return nullif(current_setting('queue_proxy.idle', true), '')::bigint[];
	end if;
	return '{}';
end
$$;

create or replace function queue_proxy.set_idle_until(_queue text, _until bigint[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if current_setting('queue_proxy.idle', true) is distinct from _until::text then
		perform set_config('queue_proxy.idle', _until::text, false);
	end if;
	if current_setting('queue_proxy.idle_queue', true) is distinct from _queue then
		perform set_config('queue_proxy.idle_queue', coalesce(_queue, ''), false);
	end if;
end
$$;

-- The view of a queue's table on this proxy: by a name with its schema, or by one that only one
-- view has.
create or replace function queue_proxy.view_of(_queue text) returns text
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_name text[] := parse_ident(_queue);
	_views text[];
begin
	_views := array(
		select distinct format('%I.%I', n.nspname, c.relname)
		from pg_class c
		join pg_namespace n on n.oid = c.relnamespace
		join pg_rewrite w on w.ev_class = c.oid
		join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
		where c.relkind = 'v' and d.refobjid = 'queue_proxy.queue_rows(text)'::regprocedure
			and c.relname = _name[cardinality(_name)]
			and (cardinality(_name) = 1 or n.nspname = _name[1]));
	return case when cardinality(_views) = 1 then _views[1] end;
end
$$;

create or replace function queue_remote.queue_table(_shard integer, _version bigint, _bucket integer, _queue text) returns text
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.queue_table; $$;

create or replace function queue_remote.result_of(_shard integer, _version bigint, _bucket integer, _queue text, _id bigint,
	out source oid, out state text, out result jsonb)
language plproxy volatile parallel unsafe
as $$ cluster 'queue_shards'; run on _shard; target queue_shard.result_of; $$;
