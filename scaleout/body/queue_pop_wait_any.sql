-- A connection waits for one queue, so several are asked by turns.
declare
	_until timestamptz;
begin
	if not coalesce($2 >= '0', false) then
		perform queue_proxy.wait_on_first(queue_proxy.ticket(), $1[1], $2, $17);
		return;
	end if;
	_until := clock_timestamp() + $2;
	queue := null; id := null; attempt := null; payload := null; priority := null; run_at := null; max_attempts := null;
	leased_until := null; leased_by := null; last_error := null; created_at := null; kind := null;
	loop
		select * into queue, id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
			last_error, created_at, kind
		from @schema@.queue_pop_any($1, 1, $3, $4, $17, $18);
		exit when id is not null or clock_timestamp() >= _until;
		if cardinality($1) = 1 then
			perform queue_proxy.wait_any(queue_proxy.ticket(), $1[1], _until, $17);
		else
			perform pg_sleep_until(least(_until, clock_timestamp() + interval '0.1 s'));
		end if;
	end loop;
end
