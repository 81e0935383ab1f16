declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_part record;
	_left integer[];
	_part_ids bigint[];
	_part_inserted boolean[];
	_part_outcome text[];
	_ids bigint[];
	_inserted boolean[];
	_outcome text[];
	_done integer[] := '{}';
begin
	if array_ndims($2) is distinct from 1 or array_position($2, null) is not null then
		-- Nothing to do, or wrong: any shard says so.
		loop
			select * into _shard, _version from queue_proxy.place_of_id(null);
			begin
				return query select *
				from queue_remote.queue_unique_insert_many(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
				return;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	_ids := array_fill(null::bigint, array[cardinality($2)]);
	_inserted := array_fill(null::boolean, array[cardinality($2)]);
	_outcome := array_fill(null::text, array[cardinality($2)]);
	_left := array(select generate_series(1, cardinality($2)));
	-- Each part goes to its shard. When the map has changed, what is left is divided anew.
	<<under_map>>
	while cardinality(_left) > 0 loop
		_version := queue_proxy.version();
		for _part in
			select b.shard, array_agg(u.payload order by u.n) as payloads, array_agg(l.n order by u.n) as places
			from unnest(_left) as l(n)
			join unnest($2) with ordinality as u(payload, n) on u.n = l.n
			join queue_proxy.bucket b on b.bucket = queue_proxy.bucket_of(queue_proxy.unique_key(u.payload, $3))
			group by b.shard
			order by b.shard
		loop
			_shard := _part.shard;
			begin
				perform queue_proxy.must_reach(_shard);
				select array_agg(r.id order by r.n), array_agg(r.inserted order by r.n), array_agg(r.outcome order by r.n)
				into _part_ids, _part_inserted, _part_outcome
				from queue_remote.queue_unique_insert_many(
					_shard, _version, null, $1, _part.payloads, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
					with ordinality as r(id, inserted, outcome, n);
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, false, _done);
				continue under_map;
			end;
			for _i in 1 .. cardinality(_part.places) loop
				_ids[_part.places[_i]] := _part_ids[_i];
				_inserted[_part.places[_i]] := _part_inserted[_i];
				_outcome[_part.places[_i]] := _part_outcome[_i];
			end loop;
			_left := array(select unnest(_left) except all select unnest(_part.places) order by 1);
			_done := _done || _shard;
		end loop;
	end loop;
	return query select * from unnest(_ids, _inserted, _outcome);
end
