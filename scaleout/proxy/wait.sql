-- Calls of procedures, which PL/Proxy does not know, and waiting: over dblink, in the caller's name.
--
-- A session that waits has a connection to each shard, on which the shard's queue_wait() runs for a
-- second at most; the first that ends wakes the caller, who pops. The others are left alone: no call
-- is cancelled, so no wake-up is lost in the middle of one, and when the session waits again they
-- still wait, or have ended and are looked at then.
--
-- Settings: queue_proxy.wait_shards (8), on how many shards a session waits at once: of more it
-- takes others each second; queue_proxy.wait_poll (20), the milliseconds between two looks at the
-- connections.

-- A call on one shard. Returns its result, if that is a number. _done: what is done on others.
create or replace function queue_proxy.call_on(_shard integer, _call text, _user text, _done text default null) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_connection constant text := 'queue_proxy_call';
	_name text := (select s.name from queue_proxy.shard s where s.shard = _shard);
	_sleep double precision := 0.001;
	_is_connected boolean := false;
	_result text;
	_state text;
	_message text;
	_detail text;
	_hint text;
begin
	perform queue_proxy.hang_up(_connection);
	begin
		perform queue_proxy.connect(_connection, queue_proxy.conninfo_of(_shard, _user));
		_is_connected := true;
		perform @dblink@.dblink_send_query(_connection, format('call %I.', s.schema) || _call)
		from queue_proxy.shard s where s.shard = _shard;
		while @dblink@.dblink_is_busy(_connection) <> 0 loop
			perform pg_sleep(_sleep);
			_sleep := least(_sleep * 2, queue_proxy.setting_of('wait_poll', 20) / 1000.0);
		end loop;
		select r into _result from @dblink@.dblink_get_result(_connection) as t(r text);
	exception when query_canceled or others then
		get stacked diagnostics _state = returned_sqlstate, _message = message_text,
			_detail = pg_exception_detail, _hint = pg_exception_hint;
	end;
	if _state = '57014' and queue_proxy.reach(_shard) then
		-- A server that hangs would not take it.
		perform @dblink@.dblink_cancel_query(_connection)
		where _connection = any (@dblink@.dblink_get_connections());
	end if;
	perform queue_proxy.hang_up(_connection);
	if _state is null then
		return case when _result ~ '^\d+$' then _result::bigint end;
	end if;
	if _state like '08%' and not _is_connected then
		perform queue_proxy.raise_as('08001', format('shard "%s" cannot be reached', _name),
			concat_ws(' ', regexp_replace(coalesce(nullif(_detail, ''), _message), '\s+$', ''), _done),
			'Nothing was done there. Try again when it is back.');
	elsif _state like '08%' or _state in ('57P01', '57P02', '57P03') then
		perform queue_proxy.note_doubt(_shard);
		perform queue_proxy.raise_as('08006', format('connection to shard "%s" was lost', _name), concat_ws(' ', _message, _done),
			'Some batches may have been committed there. Call again to complete it.');
	end if;
	perform queue_proxy.raise_as(_state, _message,
		case when _done is null and _state <> '57014' then _detail
			else concat_ws(' ', nullif(_detail, ''), format('On shard "%s".', _name), _done) end, _hint);
	return null;
end
$$;
revoke all on function queue_proxy.call_on(integer, text, text, text) from public;

-- A call on all shards, one after the other. Returns the sum of its results.
create or replace function queue_proxy.call_on_all(_call text, _user text) returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_shard integer;
	_done integer[] := '{}';
	_told text; -- of those that are done
	_result bigint;
	_sum bigint := 0;
begin
	perform queue_proxy.must_reach_all();
	loop
		_shard := queue_proxy.next_shard(_done);
		exit when _shard is null;
		_result := queue_proxy.call_on(_shard, _call, _user, 'Done on: ' || _told || '. Call again to complete it.');
		_sum := _sum + coalesce(_result, 0);
		_done := _done || _shard;
		_told := concat_ws(', ', _told, (
			select s.name || coalesce(' (' || _result || ' jobs)', '') from queue_proxy.shard s where s.shard = _shard));
	end loop;
	return _sum;
end
$$;
revoke all on function queue_proxy.call_on_all(text, text) from public;

create or replace function queue_proxy.call_of_wait(_queue text, _wait interval, _kinds text[]) returns text
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select format('queue_wait(%L, %L, %L)', _queue, _wait, _kinds)
$$;

-- For arguments that no shard takes: the first says why.
create or replace function queue_proxy.wait_on_first(_ticket bigint, _queue text, _wait interval, _kinds text[]) returns void
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
as $$
declare
	_user text := queue_proxy.redeem(_ticket);
begin
	perform queue_proxy.must_reach(0);
	perform queue_proxy.call_on(0, queue_proxy.call_of_wait(_queue, _wait, _kinds), _user);
end
$$;

-- The role is in the name: what a session has noted of the connection could be changed by others who act in it.
create or replace function queue_proxy.connection_of_wait(_shard integer, _user text) returns text
language sql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$ select format('queue_proxy_wait_%s_%s', _shard, left(md5(_user), 16)) $$;

create or replace function queue_proxy.end_waits(_shard integer) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	perform queue_proxy.hang_up(c)
	from unnest(@dblink@.dblink_get_connections()) as c
	where starts_with(c, format('queue_proxy_wait_%s_', _shard));
end
$$;
revoke all on function queue_proxy.end_waits(integer) from public;

-- Waits until a shard has answered, a second is over, or it is _until; true: a shard says that
-- there is a job.
create or replace function queue_proxy.wait_any(_ticket bigint, _queue text, _until timestamptz, _kinds text[]) returns boolean
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
as $$
declare
	_user text := queue_proxy.redeem(_ticket);
	_slice_end timestamptz := least(_until, clock_timestamp() + interval '1 second');
	_wait interval;
	_what text := md5(concat_ws(',', _queue, array_to_string(_kinds, ',', 'null'), _user));
	_shard integer;
	_connection text;
	_is_open boolean;
	_on integer[] := '{}';
	_ended timestamptz;
	_sleep double precision := 0.001;
	_tried integer[] := '{}';
	_failed integer;
	_detail text;
	_why text;
begin
	for _shard in select r from queue_proxy.rotation() as r limit queue_proxy.setting_of('wait_shards', 8) loop
		_tried := _tried || _shard;
		continue when not queue_proxy.reach(_shard);
		_connection := queue_proxy.connection_of_wait(_shard, _user);
		begin
			_is_open := coalesce(_connection = any (@dblink@.dblink_get_connections()), false);
			if not _is_open or current_setting('queue_proxy.waits_' || _shard, true) is distinct from _what then
				-- What there is waits for something else, or as another role.
				perform queue_proxy.end_waits(_shard);
				_is_open := false;
			end if;
			if not _is_open then
				perform queue_proxy.connect(_connection, queue_proxy.conninfo_of(_shard, _user));
				perform set_config('queue_proxy.waits_' || _shard, _what, false);
				perform set_config('queue_proxy.wait_ends_' || _shard, '', false);
			end if;
			if current_setting('queue_proxy.wait_ends_' || _shard, true) = '' then
				_wait := greatest(_slice_end - clock_timestamp(), interval '0');
				perform @dblink@.dblink_send_query(_connection,
					(select format('call %I.', s.schema) from queue_proxy.shard s where s.shard = _shard)
					|| queue_proxy.call_of_wait(_queue, _wait, _kinds));
				perform set_config('queue_proxy.wait_ends_' || _shard, (clock_timestamp() + _wait)::text, false);
			end if;
			_on := _on || _shard;
		exception when others then
			get stacked diagnostics _detail = pg_exception_detail;
			_failed := _shard;
			_why := coalesce(nullif(_detail, ''), sqlerrm);
			perform queue_proxy.forget_wait(_shard);
		end;
	end loop;
	if cardinality(_on) = 0 and _failed is not null
		and not exists (select from queue_proxy.shard s where s.shard <> all (_tried) and queue_proxy.reach(s.shard))
	then
		perform queue_proxy.raise_as('08001',
			format('shard "%s" cannot be reached', (select s.name from queue_proxy.shard s where s.shard = _failed)),
			regexp_replace(_why, '\s+$', ''), 'Nothing was done. Try again when it is back.');
	elsif cardinality(_on) = 0 then
		if not exists (select from queue_proxy.shard s where queue_proxy.reach(s.shard)) then
			perform queue_proxy.none_reached(null, null);
		end if;
		perform pg_sleep(greatest(0, extract(epoch from least(_slice_end, clock_timestamp() + interval '0.1 s') - clock_timestamp())));
		return false;
	end if;
	loop
		foreach _shard in array _on loop
			_connection := queue_proxy.connection_of_wait(_shard, _user);
			if @dblink@.dblink_is_busy(_connection) = 0 then
				_ended := nullif(current_setting('queue_proxy.wait_ends_' || _shard), '')::timestamptz;
				begin
					perform * from @dblink@.dblink_get_result(_connection) as t(status text);
					perform * from @dblink@.dblink_get_result(_connection) as t(status text);
					perform set_config('queue_proxy.wait_ends_' || _shard, '', false);
				exception when others then
					perform queue_proxy.forget_wait(_shard);
					-- A pop says what has become of the shard.
					if sqlstate like '08%' or sqlstate in ('57P01', '57P02', '57P03') then return false; end if;
					raise;
				end;
				return clock_timestamp() < _ended - interval '5 ms' or _until <= _ended;
			end if;
		end loop;
		exit when clock_timestamp() >= _slice_end;
		perform pg_sleep(_sleep);
		_sleep := least(_sleep * 2, queue_proxy.setting_of('wait_poll', 20) / 1000.0);
	end loop;
	return false;
end
$$;

create or replace function queue_proxy.forget_wait(_shard integer) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	perform queue_proxy.end_waits(_shard);
	perform queue_proxy.note_doubt(_shard);
end
$$;
revoke all on function queue_proxy.forget_wait(integer) from public;
