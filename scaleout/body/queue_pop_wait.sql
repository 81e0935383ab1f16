-- What a shard says while it is waited for is a hint: the job is claimed by a pop.
declare
	_until timestamptz;
begin
	if not coalesce($2 >= '0' and $1 is not null, false) then
		perform queue_proxy.wait_on_first(queue_proxy.ticket(), $1, $2, $16);
		return;
	end if;
	_until := clock_timestamp() + $2;
	id := null; attempt := null; payload := null; priority := null; run_at := null; max_attempts := null;
	leased_until := null; leased_by := null; last_error := null; created_at := null; kind := null;
	loop
		select * into id, attempt, payload, priority, run_at, max_attempts, leased_until, leased_by,
			last_error, created_at, kind
		from @schema@.queue_pop($1, 1, $3, $4, $16);
		exit when id is not null or clock_timestamp() >= _until;
		perform queue_proxy.wait_any(queue_proxy.ticket(), $1, _until, $16);
	end loop;
end
