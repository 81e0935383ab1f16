declare
	_until timestamptz;
begin
	if not coalesce($2 >= '0' and $1 is not null, false) then
		perform queue_proxy.wait_on_first(queue_proxy.ticket(), $1, $2, $3);
		return;
	end if;
	_until := clock_timestamp() + $2;
	loop
		exit when queue_proxy.wait_any(queue_proxy.ticket(), $1, _until, $3) or clock_timestamp() >= _until;
	end loop;
end
