-- One shard after the other, by rotation, as long as there are too few jobs. A shard that had too
-- few a moment ago comes last, and only if no other has any: so that no row comes back only if each
-- shard that can be reached had none. A pop that has jobs does not raise.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
	_idle bigint[] := queue_proxy.idle_until($1);
	_now bigint := queue_proxy.milliseconds();
	_turns integer[] := array(select r from queue_proxy.rotation() as r);
	_late integer[] := array(select r from unnest(_turns) as r where _idle[r] > _now);
	_got integer := 0;
	_rows integer;
	_asked boolean := false;
	_state text;
	_lost text;
	_refused integer;
	_refusal text;
begin
	for _pass in 1 .. 2 loop
		foreach _shard in array case _pass when 1 then _turns else _late end loop
			exit when (_asked and _got >= $2) or (_pass = 2 and _got > 0);
			continue when _pass = 1 and _shard = any (_late);
			continue when not case when _got > 0 then queue_proxy.is_reached(_shard) else queue_proxy.reach(_shard) end;
			_try := 0;
			loop
				_version := queue_proxy.version();
				begin
					return query select * from queue_remote.queue_pop(_shard, _version, null, $1, $2 - _got, $3, $4, $5);
					get diagnostics _rows = row_count;
					_asked := true;
					_got := _got + _rows;
					_idle[_shard] := case when _got < $2 then _now + queue_proxy.setting_of('idle_for', 100) end;
					exit;
				exception when others then
					get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
					begin
						_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint, true);
					exception when others then
						if _got = 0 and sqlstate not like '08%' then raise; end if;
						_state := sqlstate;
						_lost := sqlerrm;
						exit;
					end;
					if _try = -2 then
						_refused := _shard;
						_refusal := _message;
					end if;
					-- Jobs in hand do not wait for a new map.
					exit when _try < 0 or (_got > 0 and _try > 1);
				end;
			end loop;
		end loop;
	end loop;
	perform queue_proxy.set_idle_until($1, _idle);
	if _got = 0 and _refused is not null then
		-- Its jobs are not passed over without a word.
		perform queue_proxy.none_reached(_refused, _refusal);
	elsif not _asked and _lost is not null then
		perform queue_proxy.raise_as(_state, _lost, null, 'Jobs that it may have claimed come back when their leases run out.');
	elsif not _asked then
		perform queue_proxy.none_reached(null, null);
	end if;
end
