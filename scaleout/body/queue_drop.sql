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
