-- What a shard knows of the map: its number, and the version. Every call of a proxy says which
-- shard it means and of which version the proxy's map is.
--
-- Invariant: a call takes effect under the version that it names. It reads the table, and so holds
-- ACCESS SHARE on it until it commits; queue_shard.set_map() locks the table in ACCESS EXCLUSIVE
-- mode, and so waits for all calls under the old version, and lets later ones see the new one only.
-- What was done under the old version is committed and visible after set_map().

create schema if not exists queue_shard;
grant usage on schema queue_shard to public;

create table if not exists queue_shard.map (
	is_only boolean primary key default true check (is_only),
	shard integer not null check (shard between 0 and 1023),
	version bigint not null,
	plan text not null default '',
	has_unmoved boolean not null default false,
	proxy_version bigint not null default 0,
	proxy_shards text[] not null default '{}',
	installation text not null default ''
);
grant select on queue_shard.map to public;

select queue_shard.add_column('queue_shard.map', 'proxy_version', 'bigint not null default 0');
select queue_shard.add_column('queue_shard.map', 'proxy_shards', $$text[] not null default '{}'$$);
select queue_shard.add_column('queue_shard.map', 'installation', $$text not null default ''$$);

comment on table queue_shard.map is
	'the number of this shard, the version of the map under which it may be called and a digest of that map, whether it has keys whose state is on another shard, the newest version that a proxy may have, with the names of its shards, and the installation that the shard is of';

-- Raises 55000, with these very messages, under another version, and for another shard: proxies try
-- again then. True: a call with a key must look whether the key's state is here (shard/grow.sql).
create or replace function queue_shard.check_map(_shard integer, _version bigint, _bucket integer) returns boolean
language plpgsql volatile parallel unsafe
as $$
declare
	_map queue_shard.map;
begin
	if pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.<>) 'read committed' then
		raise 'a shard must be called at isolation level read committed'
			using errcode = '25001',
				hint = 'Set default_transaction_isolation to "read committed" for the shard''s database and roles.';
	end if;
	select * into _map from queue_shard.map;
	if _map.shard is null or _map.shard is distinct from _shard then
		raise 'this server is not shard %', _shard
			using errcode = '55000',
				detail = pg_catalog.format('It is shard %s.', _map.shard),
				hint = 'Look at the connection strings in queue_proxy.shard.';
	end if;
	if _map.version is distinct from _version then
		raise 'the shard has another version of the map'
			using errcode = '55000',
				detail = pg_catalog.format('It has version %s, and the call version %s.', _map.version, _version);
	end if;
	return _map.has_unmoved;
end
$$;

comment on function queue_shard.check_map(integer, bigint, integer) is
	'checks that a call was meant for this shard, under this version of the map';

-- Makes this server a shard of an installation: a set of shards, and its proxies. Version 0 is served to no proxy. A
-- server is of one installation, and has one number in it, for ever: its queues have that number in their ids.
create or replace function queue_shard.join_map(_shard integer, _installation text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_map queue_shard.map;
begin
	insert into queue_shard.map (shard, version, installation) values (_shard, 0, _installation) on conflict do nothing;
	select * into _map from queue_shard.map m;
	if _map.shard <> _shard then
		raise 'this server is shard %, and not %', _map.shard, _shard using errcode = '55000';
	elsif _map.installation not in ('', _installation) then
		raise 'this server is a shard of another installation' using errcode = '55000';
	end if;
	update queue_shard.map set installation = _installation where installation <> _installation;
end
$$;

revoke all on function queue_shard.join_map(integer, text) from public;
comment on function queue_shard.join_map(integer, text) is
	'gives this server its number among the shards of an installation';

-- Waits for all calls under the version before.
create or replace function queue_shard.set_map(_shard integer, _version bigint, _plan text default '') returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	lock table queue_shard.map in access exclusive mode;
	if exists (select from queue_shard.map m where m.shard <> _shard) then
		raise 'this server is shard %, and not %', (select m.shard from queue_shard.map m), _shard
			using errcode = '55000';
	end if;
	if exists (select from queue_shard.map m where m.version > _version) then
		raise 'this server has a newer version of the map' using errcode = '55000';
	end if;
	if exists (select from queue_shard.map m where m.version = _version and m.plan <> _plan and m.plan <> '' and _plan <> '') then
		raise 'this server has another map of that version' using errcode = '55000';
	end if;
	insert into queue_shard.map (shard, version, plan) values (_shard, _version, _plan)
	on conflict (is_only) do update
		set version = excluded.version,
			plan = case when map.version = excluded.version then coalesce(nullif(excluded.plan, ''), map.plan) else excluded.plan end;
end
$$;

revoke all on function queue_shard.set_map(integer, bigint, text) from public;
comment on function queue_shard.set_map(integer, bigint, text) is
	'gives this server its number and the version of the map, when all calls under an older one have ended';

-- The point of no return: from its commit on a proxy may have that map. All old shards know so before the first
-- proxy gets it, and no map that knows nothing of it takes its place (close_map).
create or replace function queue_shard.note_proxies(_version bigint, _names text[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if not exists (select from queue_shard.map m where m.version = _version) then
		raise 'this server has another version of the map than %', _version using errcode = '55000';
	end if;
	update queue_shard.map set proxy_version = _version, proxy_shards = _names
	where proxy_version < _version or (proxy_version = _version and proxy_shards <> _names);
end
$$;

revoke all on function queue_shard.note_proxies(bigint, text[]) from public;
comment on function queue_shard.note_proxies(bigint, text[]) is
	'notes that a proxy may have the present map, and the names of its shards; scaleout/install and scaleout/grow call it before they give a proxy the map';

-- The name of a queue's table with its schema; null if there is none.
create or replace function queue_shard.queue_table(_shard integer, _version bigint, _bucket integer, _queue text) returns text
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map(_shard, _version, _bucket);
	return (
		select pg_catalog.format('%I.%I', n.nspname, c.relname)
		from pg_catalog.pg_class c
		join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
		where c.oid operator(pg_catalog.=) pg_catalog.to_regclass(_queue));
end
$$;

-- queue_result, and the queue's table: another one of that name has other jobs.
create or replace function queue_shard.result_of(_shard integer, _version bigint, _bucket integer, _queue text, _id bigint,
	out source oid, out state text, out result jsonb)
language plpgsql volatile parallel unsafe
as $$
begin
	perform queue_shard.check_map(_shard, _version, _bucket);
	select r.state, r.result into state, result from @extschema@.queue_result(_queue, _id) as r;
	source := pg_catalog.to_regclass(_queue);
end
$$;
