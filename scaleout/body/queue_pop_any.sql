-- The queues one after the other, as the library does. A pop that has jobs does not raise because of another queue.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_got integer := 0;
	_rows integer;
	_queue text;
begin
	if array_ndims($1) is distinct from 1 or cardinality($1) > 64 or array_position($1, null) is not null
		or $6 is not null and (array_ndims($6) is distinct from 1 or cardinality($6) <> cardinality($1)
			or array_position($6, null) is not null or 1 > any ($6) or 1000000 < any ($6))
	then
		-- That is wrong: any shard says so.
		loop
			select * into _shard, _version from queue_proxy.place_of_id(null);
			begin
				return query select * from queue_remote.queue_pop_any(_shard, _version, null, $1, $2, $3, $4, $5, $6);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	for _queue in select q.name from unnest($1, $6) with ordinality as q (name, weight, place)
		order by case when $6 is null then q.place else -ln(1 - random()) / q.weight end
	loop
		exit when _got > 0 and _got >= $2;
		begin
			return query select _queue, j.* from @schema@.queue_pop(_queue, $2 - _got, $3, $4, $5) as j;
			get diagnostics _rows = row_count;
			_got := _got + _rows;
		exception when others then
			if _got = 0 then raise; end if;
			exit;
		end;
	end loop;
end
