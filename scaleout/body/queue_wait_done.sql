-- Nothing on the proxy is told of a commit on a shard: it asks again, first soon, later ten times a second.
declare
	_until timestamptz;
	_pause double precision := 0.005;
begin
	if $3 is null then
		raise exception using errcode = '22004', message = '"wait" must not be null';
	elsif $3 < '0' then
		raise exception using errcode = '22023', message = '"wait" must not be a negative interval';
	end if;
	_until := clock_timestamp() + $3;
	loop
		select r.state, r.result into state, result from @schema@.queue_result($1, $2) as r;
		exit when state is null or state not in ('ready', 'scheduled', 'leased') or clock_timestamp() >= _until;
		perform pg_sleep(least(_pause, greatest(extract(epoch from _until - clock_timestamp()), 0)));
		_pause := least(2 * _pause, 0.1);
	end loop;
end
