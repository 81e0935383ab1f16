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
