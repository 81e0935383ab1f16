-- A new map for the proxy. scaleout/grow calls these, in the order that scaleout/README.md says.

-- The first shard that is not among these.
create or replace function queue_proxy.next_shard(_done integer[]) returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	return (select min(s.shard) from queue_proxy.shard s where s.shard <> all (_done));
end
$$;

-- The buckets of each of so many shards, as even as it goes; as few as possible have another shard
-- than now. Element 1 is of bucket 0.
create or replace function queue_proxy.plan(_count integer) returns integer[]
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
	with quota as (
		select s as shard, 1024 / _count + (s < 1024 % _count)::integer as buckets
		from generate_series(0, _count - 1) as s),
	kept as (
		select r.bucket, r.shard
		from (select b.bucket, b.shard, row_number() over (partition by b.shard order by b.bucket) as n
			  from queue_proxy.bucket b) as r
		join quota q on q.shard = r.shard and r.n <= q.buckets),
	room as (
		select q.shard, row_number() over (order by place, q.shard) as n
		from quota q, generate_series(1 + (select count(*) from kept k where k.shard = q.shard), q.buckets) as place),
	free as (
		select b.bucket, row_number() over (order by b.bucket) as n
		from queue_proxy.bucket b
		where not exists (select from kept k where k.bucket = b.bucket))
	select array_agg(shard order by bucket)
	from (select bucket, shard from kept union all select f.bucket, r.shard from free f join room r using (n)) as new
$$;

-- The map of this proxy. The names have a unit separator between them.
create or replace function queue_proxy.map_text(out version bigint, out names text, out buckets integer[])
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
	select (select m.version from queue_proxy.map m),
		(select string_agg(s.name, e'\x1f' order by s.shard) from queue_proxy.shard s),
		(select array_agg(b.shard order by b.bucket) from queue_proxy.bucket b)
$$;

-- Raises unless this proxy's server reaches, by that connection string, the server that is this shard, or any if
-- _installation is ''. For scripts, whose host may resolve names otherwise.
create or replace function queue_proxy.check_string(_shard integer, _name text, _conninfo text, _installation text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_connection constant text := 'queue_proxy_check';
	_is_it boolean;
begin
	perform queue_proxy.hang_up(_connection);
	perform queue_proxy.connect(_connection, queue_proxy.with_timeout(_conninfo, current_user::text));
	begin
		select t.is_it into _is_it
		from @dblink@.dblink(_connection, case when _installation = '' then 'select true'
			else format('select shard = %s and installation = %L from queue_shard.map', _shard, _installation) end) as t(is_it boolean);
	exception when query_canceled or others then
		perform queue_proxy.hang_up(_connection);
		raise;
	end;
	perform queue_proxy.hang_up(_connection);
	if _is_it is distinct from true then
		raise 'shard "%" is another server for this proxy', _name
			using errcode = '55000', hint = 'By this connection string its server reaches another one than the script.';
	end if;
end
$$;
revoke all on function queue_proxy.check_string(integer, text, text, text) from public;

-- A map, with the shards that it adds. Calls that begin after the commit are made under it.
create or replace function queue_proxy.open_map(
	_version bigint,
	_buckets integer[],
	_names text[],
	_conninfos text[],
	_schemas text[],
	_installation text
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_had bigint;
begin
	if cardinality(_buckets) is distinct from 1024
		or exists (select from unnest(_buckets) as b where coalesce(b not between 0 and cardinality(_names) - 1, true))
	then
		raise 'a map has a shard for each of 1,024 buckets' using errcode = '22023';
	end if;
	lock table queue_proxy.map in share row exclusive mode;
	_had := (select m.version from queue_proxy.map m);
	if _had > _version then
		raise 'this proxy has a newer map' using errcode = '55000';
	elsif _had = _version and _buckets <> (select t.buckets from queue_proxy.map_text() as t) then
		raise 'this proxy has another map of that version' using errcode = '55000';
	elsif exists (select from queue_proxy.map m where m.installation not in ('', _installation)) then
		raise 'this proxy is of another installation' using errcode = '55000';
	end if;
	for _shard in 0 .. cardinality(_names) - 1 loop
		if not exists (select from queue_proxy.shard s where s.shard = _shard) then
			perform queue_proxy.set_shard(_shard, _names[_shard + 1], _conninfos[_shard + 1], _schemas[_shard + 1]);
		end if;
	end loop;
	perform queue_proxy.define_cluster();
	insert into queue_proxy.bucket
	select n - 1, shard from unnest(_buckets) with ordinality as new(shard, n)
	on conflict (bucket) do update set shard = excluded.shard where bucket.shard <> excluded.shard;
	insert into queue_proxy.map (version, installation) values (_version, _installation)
	on conflict (is_only) do update set version = excluded.version, installation = excluded.installation;
end
$$;
revoke all on function queue_proxy.open_map(bigint, integer[], text[], text[], text[], text) from public;
comment on function queue_proxy.open_map(bigint, integer[], text[], text[], text[], text) is
	'gives this proxy a map of a higher version, with the shards that it adds; scaleout/grow calls it';
