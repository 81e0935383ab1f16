-- A job whose worker goes on with it has no age: oldest_ready_at named it from the end of its first lease on.
set client_min_messages = warning;
create schema test_stats_heartbeat;
set search_path = test_stats_heartbeat, public;
set queue_ext.claim_path = auto;
create function wait_until(moment timestamptz) returns void language plpgsql as $$
begin
	while clock_timestamp() < moment loop
		perform pg_sleep(0.001);
	end loop;
end $$;
-- Two heartbeats, by each function, and past the ends of the leases before.
create procedure beat(queue text, heartbeat text) language plpgsql as $$
declare
	ends timestamptz;
	first interval := '100 milliseconds';
	longer interval;
	is_late boolean;
begin
	-- Again with longer leases where a heartbeat has come too late.
	loop
		is_late := false;
		perform queue_create(queue, lease => first);
		perform queue_send(queue, '1');
		commit;
		perform queue_pop(queue);
		commit;
		for longer in select * from unnest(array[2 * first, '1 hour']) loop
			execute format('select max(leased_until) from %I', queue) into ends;
			execute format(heartbeat, queue) using queue, longer;
			commit;
			is_late := is_late or clock_timestamp() >= ends;
		end loop;
		exit when not is_late;
		perform queue_drop(queue);
		commit;
		first := 4 * first;
	end loop;
	perform wait_until(ends);
end $$;
create function told(name text, out ready bigint, out leased bigint, out oldest_ready_at timestamptz, out findings text[]) language sql as $$
	select s.ready, s.leased, s.oldest_ready_at, array(select finding from queue_health(name) where finding <> 'sweeps_dear')
	from queue_stats s where queue = 'test_stats_heartbeat.' || name
$$;
set queue_ext.health_patience = 0;
call beat('one', 'select queue_extend($1, id, attempt, $2) from %I');
select * from told('one');
call beat('many', 'select queue_extend_many($1, array_agg(id), array_agg(attempt), $2) from %I');
select * from told('many');
call beat('rows', 'select queue_extend_row($1, j, $2) from %I as j');
select * from told('rows');
call beat('receipt', 'select queue_extend_receipt($1, queue_receipt($1, j), $2) from %I as j');
select * from told('receipt');
set queue_ext.claim_path = tid;
call beat('by_tid', 'select queue_extend($1, id, attempt, $2) from %I');
select * from told('by_tid');
set queue_ext.claim_path = portable;
call beat('by_statement', 'select queue_extend($1, id, attempt, $2) from %I');
select * from told('by_statement');
set queue_ext.claim_path = auto;

-- Late ones: another worker has come meanwhile, and lists the job as ready.
select queue_create('late', lease => '1 microsecond');
select queue_send('late', to_jsonb(n)) from generate_series(1, 2) as n;
select count(*) from queue_pop('late', 2);
select wait_until(max(leased_until)) from late;
select payload from queue_pop('late', lease => '1 hour');
select queue_extend('late', id, attempt, '1 hour') from late where payload = '2';
select * from told('late');
drop schema test_stats_heartbeat cascade;
