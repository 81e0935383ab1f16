-- Whether a shard can be reached, and what becomes of errors.
--
-- PL/Proxy 2.10 limits neither the time to connect nor, with one shard a call, the time to wait for
-- an answer. So before a shard is called, somebody must have connected to it in the last second, by
-- dblink, with an end to waiting: the first session that finds that second over does, and the
-- others wait for what it finds. A shard to which no connection could be made is left out for a
-- while: its circuit is open. All sessions must know of that, also of what a call found that raises
-- and is rolled back; so it is the value of a sequence, which no rollback takes back:
--
--     none or 0  unknown
--     positive   the millisecond of the epoch at which it was last reached
--     negative   left out until the millisecond that it is the negative of
--
-- A time that is further ahead than any of these functions sets it, 15 seconds, is from before the clock was set back:
-- unknown.
--
-- Settings, in milliseconds: queue_proxy.heartbeat (1000), queue_proxy.connect_timeout (2000),
-- queue_proxy.retry_after (2000). What one session sets concerns the others, too, so these two count for ten
-- seconds at most, no setting for more than a minute, and what is no number as the default.

create or replace function queue_proxy.milliseconds() returns bigint
language sql volatile parallel safe
as $$ select (extract(epoch from pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000)::bigint $$;

create or replace function queue_proxy.is_left_out(_value bigint) returns boolean
language sql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$ select -_value - queue_proxy.milliseconds() between 1 and 15000 $$;

create or replace function queue_proxy.setting_of(_name text, _default integer) returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	return least(60000, coalesce(substring(current_setting('queue_proxy.' || _name, true) from '^\d+$')::numeric, _default))::integer;
end
$$;

-- The role that calls, for functions that run with their owner's rights, which cannot see it: the public
-- function takes a ticket, in the very expression that calls the helper, and this redeems it.
create or replace function queue_proxy.ticket() returns bigint
language c volatile parallel unsafe as '$libdir/queue_ext', 'queue_ext_caller_ticket';

create or replace function queue_proxy.redeem(_ticket bigint) returns text
language c volatile parallel unsafe as '$libdir/queue_ext', 'queue_ext_redeem_ticket';
revoke all on function queue_proxy.redeem(bigint) from public;

-- The seconds that a connection may take. dblink of PostgreSQL 15 has them from the connection string; later ones do not
-- heed that, so connect_within() interrupts them.
create or replace function queue_proxy.connect_seconds() returns integer
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$ select greatest(2, least(10, ceil(queue_proxy.setting_of('connect_timeout', 2000) / 1000.0)::integer)) $$;

create or replace function queue_proxy.connect_within(_milliseconds integer, _statement text, _connection text, _conninfo text)
returns void
language c volatile parallel unsafe as '$libdir/queue_ext', 'queue_ext_connect_within';
revoke all on function queue_proxy.connect_within(integer, text, text, text) from public;

-- A connection of dblink, of that name.
create or replace function queue_proxy.connect(_connection text, _conninfo text) returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select queue_proxy.connect_within(queue_proxy.connect_seconds() * 1000, $c$select @dblink@.dblink_connect($1, $2)$c$, _connection, _conninfo)
$$;
revoke all on function queue_proxy.connect(text, text) from public;

-- A connection string for dblink: as PL/Proxy makes it, but with an end to waiting, and the encoding that dblink would else
-- ask for when it is connected, without one.
create or replace function queue_proxy.with_timeout(_conninfo text, _user text) returns text
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if _conninfo !~ '\yuser\s*=' then
		_conninfo := _conninfo || ' user=''' || replace(replace(_user, '\', '\\'), '''', '\''') || '''';
	end if;
	return _conninfo || ' client_encoding=' || getdatabaseencoding() || ' connect_timeout=' || queue_proxy.connect_seconds();
end
$$;

create or replace function queue_proxy.conninfo_of(_shard integer, _user text) returns text
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
	select queue_proxy.with_timeout(s.conninfo, _user) from queue_proxy.shard s where s.shard = _shard
$$;
revoke all on function queue_proxy.conninfo_of(integer, text) from public;

-- Ends a connection of dblink, if there is one of that name.
create or replace function queue_proxy.hang_up(_connection text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if _connection = any (@dblink@.dblink_get_connections()) then
		perform @dblink@.dblink_disconnect(_connection);
	end if;
end
$$;
revoke all on function queue_proxy.hang_up(text) from public;

-- Whether a connection can be made, by making one as the owner of these functions. What else goes wrong is not
-- of the shard, and is raised: nobody is to be left out for it.
create or replace function queue_proxy.connects(_shard integer) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	perform queue_proxy.hang_up('queue_proxy_probe');
	begin
		perform queue_proxy.connect('queue_proxy_probe', queue_proxy.conninfo_of(_shard, current_user::text));
		perform @dblink@.dblink_disconnect('queue_proxy_probe');
	exception
		when sqlclient_unable_to_establish_sqlconnection then
			perform queue_proxy.hang_up('queue_proxy_probe');
			return false;
		when query_canceled or others then
			perform queue_proxy.hang_up('queue_proxy_probe');
			raise;
	end;
	return true;
end
$$;
revoke all on function queue_proxy.connects(integer) from public;

-- Finds out whether the shard is there, unless another session has done so since the circuit had that
-- value. Anybody may call it, with any value. One session does at a time: it holds the lock of a table
-- that nobody else has rights on, in a subtransaction, whose end gives it back however that comes.
create or replace function queue_proxy.probe(_shard integer, _value bigint) returns boolean
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
as $$
declare
	_circuit regclass := (select s.circuit from queue_proxy.shard s where s.shard = _shard);
	-- Those of one session must not count for long for the others.
	_timeout integer := least(queue_proxy.setting_of('connect_timeout', 2000), 10000);
	_retry_after integer := least(queue_proxy.setting_of('retry_after', 2000), 10000);
	_now bigint;
	_is_up boolean;
begin
	if _circuit is null then return false; end if;
	if current_setting('transaction_read_only') = 'on' then
		-- It cannot tell the others.
		return queue_proxy.connects(_shard);
	end if;
	begin
		if _value < 0 then
			-- Others go on without it meanwhile.
			execute format('lock table queue_proxy.probe_%s in share update exclusive mode nowait', _shard);
		else
			perform set_config('lock_timeout', (_timeout + 2000)::text, true);
			execute format('lock table queue_proxy.probe_%s in share update exclusive mode', _shard);
		end if;
		_now := coalesce(pg_sequence_last_value(_circuit), 0);
		if (_value < 0 and (_now >= 0 or queue_proxy.is_left_out(_now))) or (_value >= 0 and _now <> _value) then
			_is_up := _now > 0;
		else
			if _value < 0 then
				perform setval(_circuit, -(queue_proxy.milliseconds() + _timeout + 1000));
			end if;
			_is_up := queue_proxy.connects(_shard);
			_now := queue_proxy.milliseconds();
			perform setval(_circuit, case when _is_up then _now else -(_now + _retry_after) end);
		end if;
		raise sqlstate 'QPROB';
	exception
		when sqlstate 'QPROB' then
			return _is_up;
		when lock_not_available then
			return coalesce(pg_sequence_last_value(_circuit), 0) > greatest(_value, 1);
		when query_canceled or others then
			-- Nobody knows any more.
			if _value < 0 then perform setval(_circuit, 1); end if;
			raise;
	end;
end
$$;

-- Whether a call may be made. Takes at most the connect timeout.
create or replace function queue_proxy.reach(_shard integer) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_value bigint := coalesce((select pg_sequence_last_value(s.circuit) from queue_proxy.shard s where s.shard = _shard), 0);
	_now bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
begin
	if _value > 0 and _value <= _now + 15000 and _now - _value < queue_proxy.setting_of('heartbeat', 1000) then
		return true;
	elsif _value < 0 and queue_proxy.is_left_out(_value) then
		return false;
	end if;
	return queue_proxy.probe(_shard, _value);
end
$$;

-- Likewise, for a caller who has jobs: does not raise.
create or replace function queue_proxy.is_reached(_shard integer) returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	return queue_proxy.reach(_shard);
exception when others then
	return false;
end
$$;

-- After a connection was lost, or not made: the next call finds out anew. Anybody may call it: a shard that was reached
-- a tenth of a second ago is not doubted.
create or replace function queue_proxy.note_doubt(_shard integer) returns void
language plpgsql volatile parallel unsafe
security definer set search_path = pg_catalog, pg_temp
as $$
begin
	perform setval(s.circuit, 1)
	from queue_proxy.shard s
	where s.shard = _shard and pg_sequence_last_value(s.circuit) > 1
		and pg_sequence_last_value(s.circuit) - queue_proxy.milliseconds() not between -99 and 15000
		and current_setting('transaction_read_only') = 'off';
end
$$;

create or replace function queue_proxy.must_reach(_shard integer) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if not queue_proxy.reach(_shard) then
		raise 'shard "%" cannot be reached', (select s.name from queue_proxy.shard s where s.shard = _shard)
			using errcode = '08001',
				hint = 'Nothing was done there. Try again when it is back.';
	end if;
end
$$;

-- For what is done on all shards: first see that all can be reached.
create or replace function queue_proxy.must_reach_all() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_down text := (
		select string_agg('"' || s.name || '"', ', ' order by s.shard)
		from queue_proxy.shard s where not queue_proxy.reach(s.shard));
begin
	if _down is not null then
		raise 'shard % cannot be reached', _down
			using errcode = '08001',
				hint = 'Nothing was done on any shard. Try again when it is back.';
	end if;
end
$$;

-- For a call that no shard took. _refused: one that does not let the role in, and what PL/Proxy said of it.
create or replace function queue_proxy.none_reached(_refused integer, _message text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if _refused is not null then
		perform queue_proxy.failed(_refused, 0, 'XX000', _message, '', '');
	end if;
	raise 'no shard can be reached'
		using errcode = '08001', hint = 'Nothing was done. Try again when one is back.';
end
$$;

create or replace function queue_proxy.raise_as(_state text, _message text, _detail text, _hint text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if _detail <> '' and _hint <> '' then
		raise exception using errcode = _state, message = _message, detail = _detail, hint = _hint;
	elsif _detail <> '' then
		raise exception using errcode = _state, message = _message, detail = _detail;
	elsif _hint <> '' then
		raise exception using errcode = _state, message = _message, hint = _hint;
	end if;
	raise exception using errcode = _state, message = _message;
end
$$;

-- What comes of the error of a call to a shard. Returns the number of the next attempt if the map
-- was another one; -1 if no connection was made, -2 if the shard does not let the role in, and the caller may go on;
-- and raises otherwise, in the words of the shard if it has answered. _done: the shards that have done it.
--
-- Why a shard refused a connection is only in its words, without SQLSTATE: those of other languages than English are
-- taken for a shard that is down.
create or replace function queue_proxy.failed(
	_shard integer, _try integer, _state text, _message text, _detail text, _hint text,
	_may_go_on boolean default false, _done integer[] default '{}'
) returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_name text := (select s.name from queue_proxy.shard s where s.shard = _shard);
	_on text := (select string_agg(s.name, ', ' order by s.shard) from queue_proxy.shard s where s.shard = any (_done));
	_parts text[];
begin
	_on := 'Done on: ' || _on || '. Call again to complete it.';
	_parts := regexp_match(_message, '^PL/Proxy function [^:]*: (?:\[[^]]*\] )?(.*)$');
	if _parts is not null then
		if _parts[1] ~ '^PQconnect.*(FATAL:  (role ".*" (is not permitted to log in|does not exist)|(no )?pg_hba\.conf |permission denied for database)|authentication failed for user|no password supplied)' then
			if _may_go_on then return -2; end if;
			perform queue_proxy.raise_as('42501', format('shard "%s" does not let role "%s" in', _name, current_user),
				concat_ws(' ', regexp_replace(_parts[1], '^\w+: |\s+$', '', 'g'), _on),
				'Nothing was done there. Look at the roles of the shard, its pg_hba.conf, and who may connect to its database.');
		elsif _parts[1] ~ '^PQconnect' then
			perform queue_proxy.note_doubt(_shard);
			if _may_go_on then return -1; end if;
			perform queue_proxy.raise_as('08001', format('shard "%s" cannot be reached', _name),
				concat_ws(' ', regexp_replace(_parts[1], '^\w+: |\s+$', '', 'g'), _on),
				'Nothing was done there. Try again when it is back.');
		elsif _state <> 'XX000' then
			perform queue_proxy.raise_as(_state, _message, _detail, _hint);
		end if;
		_message := _parts[1];
		_state := '08006';
	else
		_parts := regexp_match(_message, '^[^ ]+\(\d+\): \[.*?\] REMOTE [^:]+: (.*)$');
		if _parts is null then
			-- Not of a shard.
			perform queue_proxy.raise_as(_state, _message, _detail, _hint);
		end if;
		_message := _parts[1];
		_detail := regexp_replace(_detail, '^Remote detail: ', '');
		_hint := regexp_replace(_hint, '^Remote hint: ', '');
	end if;
	if _state like '08%' or _state in ('57P01', '57P02', '57P03') then
		perform queue_proxy.note_doubt(_shard);
		perform queue_proxy.raise_as('08006', format('connection to shard "%s" was lost', _name),
			concat_ws(' ', regexp_replace(_message, '\s+$', ''), _on),
			'Whether the call took effect is unknown. A unique insert may be repeated, and what ends a claim: done twice it is done once.');
	end if;
	if _state = '55000' and _message like 'this server is not shard %' and _try < 3 then
		-- In a long transaction PL/Proxy may not have seen the shards of a new map. What a name is that
		-- was not looked up before, is read from the catalog, and with that the news of it are taken in.
		perform to_regclass(format('queue_proxy.%s', md5(clock_timestamp()::text)));
		return _try + 1;
	end if;
	if _state = '55000' and _message = 'the shard has another version of the map' then
		if _try < 210 and current_setting('transaction_isolation') = 'read committed' then
			perform pg_sleep(least(_try, 10) * 0.01);
			return _try + 1;
		end if;
		_hint := 'The map of the shards is being changed. Try again.';
	end if;
	perform queue_proxy.raise_as(_state, _message,
		case when _on is null then _detail else concat_ws(' ', nullif(_detail, ''), format('On shard "%s".', _name), _on) end, _hint);
	return null;
end
$$;

-- Of a call that goes to several shards, each of which does what it can: the first that failed.
select queue_proxy.make_type('queue_proxy.failure', array['state text', 'message text']);

create or replace function queue_proxy.first_failure(_failure queue_proxy.failure, _state text, _message text)
returns queue_proxy.failure
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if _failure is null then
		_failure.state := _state;
		_failure.message := _message;
	end if;
	return _failure;
end
$$;

create or replace function queue_proxy.raise_partly(_failure queue_proxy.failure, _ids bigint[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	perform queue_proxy.raise_as(_failure.state, _failure.message,
		format('Done for the ids %s, on other shards.', _ids),
		'Call again for the others.');
end
$$;
