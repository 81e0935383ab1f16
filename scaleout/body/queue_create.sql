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
