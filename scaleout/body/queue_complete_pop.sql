-- The next job comes from the shard of the one that is done, by one call, most of the time; now and
-- then by rotation, so that no shard waits for another to be empty.
declare
	_shard integer;
	_version bigint;
	_try integer := 0;
	_message text;
	_detail text;
	_hint text;
begin
	if $2 is not null and $3 is not null and random() < 1 / 16.0 then
		completed := @schema@.queue_complete($1, $2, $3, $7);
	elsif $2 is not null or $3 is not null then
		loop
			select * into _shard, _version from queue_proxy.place_of_id($2);
			begin
				select * into completed, id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
					last_error, created_at, kind
				from queue_remote.queue_complete_pop(_shard, _version, null, $1, $2, $3, $4, $5, $6, $7);
				exit;
			exception when others then
				get stacked diagnostics _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
				_try := queue_proxy.failed(_shard, _try, sqlstate, _message, _detail, _hint);
			end;
		end loop;
	end if;
	if id is null and completed is distinct from false then
		begin
			select * into id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
				last_error, created_at, kind
			from @schema@.queue_pop($1, 1, $4, $5, $6);
		exception when others then
			-- That the job is done must be told.
			if completed is null then raise; end if;
		end;
	end if;
end
