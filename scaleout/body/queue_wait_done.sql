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
