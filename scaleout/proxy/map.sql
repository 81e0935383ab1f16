-- The map of the proxy: the shards, which of them has which bucket, and the version of all that.
-- The key of a call has one of 1,024 buckets, a bucket has a shard.

create schema if not exists queue_proxy;
create schema if not exists queue_remote;
grant usage on schema queue_proxy, queue_remote to public;

-- Connection strings hold no passwords: PL/Proxy's server, whose options everybody may read, has them, too.
create table if not exists queue_proxy.shard (
	shard integer primary key check (shard between 0 and 1023),
	name text collate "C" not null unique,
	conninfo text not null,
	schema text not null,
	circuit regclass not null
);
grant select (shard, name, schema, circuit) on queue_proxy.shard to public;

create table if not exists queue_proxy.bucket (
	bucket integer primary key check (bucket between 0 and 1023),
	shard integer not null references queue_proxy.shard
);
grant select on queue_proxy.bucket to public;

create table if not exists queue_proxy.map (
	is_only boolean primary key default true check (is_only),
	version bigint not null,
	installation text not null default ''
);
select queue_proxy.add_column('queue_proxy.map', 'installation', $$text not null default ''$$);
grant select on queue_proxy.map to public;

-- What scaleout/install has made in the schema of the functions.
create table if not exists queue_proxy.member (kind text not null, identity text primary key);

comment on table queue_proxy.shard is
	'the shards: number, name, how to connect, the schema of the extension there, and the sequence that says whether it can be reached';
comment on table queue_proxy.bucket is 'which shard has the keys of a bucket';
comment on table queue_proxy.map is 'the version of the map, which shards compare with theirs, and the installation that its shards are of';
comment on table queue_proxy.member is 'the functions of the proxy that scaleout/install has made';

create or replace function queue_proxy.version() returns bigint
language plpgsql volatile parallel unsafe
as $$
begin
	return (select m.version from queue_proxy.map m);
end
$$;

-- The shard of a bucket. Raises 08001 if it cannot be reached.
create or replace function queue_proxy.place_of_bucket(_bucket integer, out shard integer, out version bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	select b.shard, m.version into shard, version
	from queue_proxy.map m, queue_proxy.bucket b
	where b.bucket = _bucket;
	perform queue_proxy.must_reach(shard);
end
$$;

-- A shard for what none of them has to do: one that can be reached, if any can.
create or replace function queue_proxy.any_shard() returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	return coalesce((select r from queue_proxy.rotation() as r where queue_proxy.is_reached(r) limit 1), 0);
end
$$;

-- The shards from 0 on have no gaps. An id of no shard, or none, goes to any of them, which says so.
create or replace function queue_proxy.place_of_id(_id bigint, out shard integer, out version bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	select coalesce((select s.shard from queue_proxy.shard s where s.shard = _id >> 43), queue_proxy.any_shard()), m.version
		into shard, version
	from queue_proxy.map m;
	perform queue_proxy.must_reach(shard);
end
$$;

-- All shards, beginning with the one after that of the session's last call.
create or replace function queue_proxy.rotation() returns setof integer
language plpgsql volatile parallel unsafe rows 10
set search_path = pg_catalog, pg_temp
as $$
declare
	_count integer := 1 + (select max(s.shard) from queue_proxy.shard s);
	_turn integer := nullif(current_setting('queue_proxy.turn', true), '')::integer;
begin
	_turn := coalesce(_turn + 1, floor(random() * _count)::integer) % _count;
	perform set_config('queue_proxy.turn', _turn::text, false);
	return query select (_turn + i) % _count from generate_series(0, _count - 1) as i;
end
$$;

-- The results of all shards in the order of the ids that were asked for. An id that was asked for
-- twice is in the results once or twice.
create or replace function queue_proxy.in_order(_ids bigint[], _results bigint[]) returns bigint[]
language sql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
	select array(
		select a.id
		from (select id, n, row_number() over (partition by id order by n) as time
			  from unnest(_ids) with ordinality as u(id, n)) as a
		join (select id, row_number() over (partition by id) as time
			  from unnest(_results) as u(id)) as r on r.id = a.id and r.time = a.time
		order by a.n)
$$;

-- PL/Proxy's cluster, from the table of shards.
create or replace function queue_proxy.define_cluster() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_had text[] := (
		select array_agg(o.option_name)
		from pg_foreign_server s, pg_options_to_table(s.srvoptions) as o
		where s.srvname = 'queue_shards');
	_options text;
	_option text;
	_others text := (
		select string_agg(format('"%s"', pg_get_userbyid(m.umuser)), ', ' order by m.umuser)
		from pg_user_mapping m join pg_foreign_server s on s.oid = m.umserver
		where s.srvname = 'queue_shards' and m.umuser <> 0);
begin
	if _others is not null then
		raise 'server "queue_shards" has user mappings of %', _others
			using errcode = '55000',
				detail = 'A role with a mapping of its own acts on the shards as the user that it names.',
				hint = 'Drop them: DROP USER MAPPING FOR ... SERVER queue_shards.';
	end if;
	if _had is null then
		create server queue_shards foreign data wrapper plproxy options (modular_mapping '1', p0 '');
		create user mapping for public server queue_shards;
		grant usage on foreign server queue_shards to public;
		_had := '{p0}';
	end if;
	select string_agg(format('%s p%s %L', case when 'p' || s.shard = any (_had) then 'set' else 'add' end, s.shard, s.conninfo), ', ')
		into _options
	from queue_proxy.shard s;
	execute format('alter server queue_shards options (%s)', _options);
	-- Of an installation that the shards have refused.
	for _option in
		select o from unnest(_had) as o
		where o ~ '^p\d+$' and not exists (select from queue_proxy.shard s where 'p' || s.shard = o)
	loop
		execute format('alter server queue_shards options (drop %s)', _option);
	end loop;
end
$$;
revoke all on function queue_proxy.define_cluster() from public;
comment on function queue_proxy.define_cluster() is
	'defines the cluster of PL/Proxy anew, from the table of shards';

-- A role on the proxy is the role of that name on the shards. PL/Proxy asks for USAGE on its server of all who
-- call, and with that a role could make itself a mapping to any user.
create or replace function queue_proxy.refuse_mapping() returns event_trigger
language plpgsql
security definer set search_path = pg_catalog, pg_temp
as $$
begin
	if exists (
		select from pg_event_trigger_ddl_commands() as c
		join pg_user_mapping m on c.classid = 'pg_user_mapping'::regclass and m.oid = c.objid
		join pg_foreign_server s on s.oid = m.umserver
		where s.srvname = 'queue_shards' and m.umuser <> 0)
	then
		raise 'no role has a user mapping of its own for server "queue_shards"'
			using errcode = '42501', hint = 'A role is the role of that name on the shards.';
	end if;
end
$$;

drop event trigger if exists queue_proxy_mapping;
create event trigger queue_proxy_mapping on ddl_command_end
	when tag in ('CREATE USER MAPPING', 'ALTER USER MAPPING')
	execute function queue_proxy.refuse_mapping();

-- A shard without buckets. Buckets come with the first map, or by growing.
create or replace function queue_proxy.set_shard(_shard integer, _name text, _conninfo text, _schema text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if _conninfo ~* '\y(ssl)?password\s*=' then
		raise 'the connection string of shard "%" has a password', _name
			using errcode = '22023',
				detail = 'All roles can read the options of server "queue_shards".',
				hint = 'Use passfile=, or service=, with a file of the user that runs the proxy''s server.';
	end if;
	if _conninfo ~* '\yhost(addr)?\s*=\s*(''[^'']*|[^''\s]*),' then
		raise 'the connection string of shard "%" has several hosts', _name
			using errcode = '22023',
				detail = 'Of several the first may be silent, and PL/Proxy waits for it without end.',
				hint = 'Use one name, which leads to the primary by DNS or a virtual address.';
	end if;
	execute format('create table if not exists queue_proxy.probe_%s ()', _shard);
	execute format('comment on table queue_proxy.probe_%s is %L', _shard,
		'has no rows; who finds out whether the shard can be reached holds its lock');
	execute format('create sequence if not exists queue_proxy.circuit_%s minvalue %s', _shard, -(2::bigint ^ 62)::bigint);
	execute format('grant select on sequence queue_proxy.circuit_%s to public', _shard);
	insert into queue_proxy.shard values (_shard, _name, _conninfo, _schema, format('queue_proxy.circuit_%s', _shard)::regclass)
	on conflict (shard) do update
		set name = excluded.name, conninfo = excluded.conninfo, schema = excluded.schema;
end
$$;
revoke all on function queue_proxy.set_shard(integer, text, text, text) from public;
comment on function queue_proxy.set_shard(integer, text, text, text) is
	'adds a shard to the proxy, or changes how it is reached';

-- The first map: evenly.
create or replace function queue_proxy.first_buckets(_count integer) returns integer[]
language sql immutable parallel safe
as $$ select array_agg(b operator(pg_catalog.%) _count order by b) from pg_catalog.generate_series(0, 1023) as b $$;

-- Also tells a proxy that has a map of which installation it is.
create or replace function queue_proxy.first_map(_installation text) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	insert into queue_proxy.map (version) values (1) on conflict do nothing;
	update queue_proxy.map set installation = _installation where installation <> _installation;
	insert into queue_proxy.bucket
	select n - 1, shard
	from unnest(queue_proxy.first_buckets((select count(*) from queue_proxy.shard)::integer)) with ordinality as b(shard, n)
	on conflict do nothing;
	return (select m.version from queue_proxy.map m);
end
$$;
revoke all on function queue_proxy.first_map(text) from public;
