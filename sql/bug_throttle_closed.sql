-- A last_locked of infinity closes a throttle, whatever grants are left, until it is set to another value. No infinite
-- time gets among earlier_grants, and one that is there is no grant.
set client_min_messages = warning;
create schema test_closed;
set search_path = test_closed, public;
create function calls(name text, count integer) returns text language sql as $$
	select string_agg(lock_throttled_resource(name, 'call ' || n)::text, ' ') from generate_series(1, count) as n
$$;
create function finds(name text) returns text language sql as $$
	select concat_ws(' ', case when isfinite(last_locked) then 'finite' else last_locked::text end, last_locker_details, cardinality(earlier_grants),
		(select bool_and(isfinite(g)) from unnest(earlier_grants) as g))
	from throttled_resource where resource = name
$$;
create function lives() returns setof text language plpgsql as $$
declare
	call timestamptz;
begin
	perform throttle_create('five', '1 hour', 5);
	-- Closed before its first call.
	update throttled_resource set last_locked = 'infinity', last_locker_details = 'closed' where resource = 'five';
	return next concat('closed: ', calls('five', 2), ' ', throttle_acquire('five', 'asks'), ' ', finds('five'));
	perform throttle_alter('five', throttle_interval => '2 hours', grants => 7);
	return next concat('altered: ', calls('five', 1));
	perform throttle_alter('five', throttle_interval => '1 hour', grants => 5);
	update throttled_resource set last_locked = '2000-01-01' where resource = 'five';
	return next concat('open: ', calls('five', 6), ' ', finds('five'));
	-- Closed after some calls, and with none left.
	update throttled_resource set last_locked = '-infinity', last_locker_details = '', earlier_grants = '{}' where resource = 'five';
	return next concat('two: ', calls('five', 2), ' ', finds('five'));
	update throttled_resource set last_locked = 'infinity' where resource = 'five';
	return next concat('closed: ', calls('five', 1), ' ', throttle_acquire('five', 'asks'), ' ', finds('five'));
	perform throttle_alter('five', grants => 1);
	return next concat('one: ', calls('five', 1), ' ', throttle_acquire('five', 'asks'));
	perform throttle_alter('five', grants => 5);
	update throttled_resource set last_locked = clock_timestamp() where resource = 'five';
	return next concat('open: ', calls('five', 4), ' ', finds('five'));
	-- Of earlier grants only those count that have a time; when the oldest of them is over, the next call gets through.
	call := clock_timestamp();
	update throttled_resource set last_locked = call, earlier_grants = array['-infinity', call - interval '30 minutes', 'infinity', call - interval '20 minutes', 'infinity'] where resource = 'five';
	return next concat('three: ', calls('five', 3), ' ', finds('five'));
	perform throttle_alter('five', grants => 2);
	update throttled_resource set last_locked = call, earlier_grants = array[call - interval '30 minutes', 'infinity'] where resource = 'five';
	return next concat('none: ', calls('five', 1), ' ', (throttle_acquire('five', 'asks')).retry_at = call + interval '30 minutes 1 microsecond');
	update throttled_resource set last_locked = '2000-01-01', earlier_grants = '{infinity}' where resource = 'five';
	return next concat('two: ', calls('five', 3), ' ', finds('five'));
	perform throttle_drop('five');
	-- Many in no time, which is over at once.
	perform throttle_create('fast', '1 microsecond', 2);
	update throttled_resource set last_locked = 'infinity', last_locker_details = 'closed' where resource = 'fast';
	return next concat('fast: ', calls('fast', 2), ' ', finds('fast'));
	update throttled_resource set last_locked = '2000-01-01' where resource = 'fast';
	return next concat('fast: ', calls('fast', 1), ' ', finds('fast'));
	perform throttle_drop('fast');
end $$;
begin;
select lives();
rollback;
-- By a statement, with a trigger.
begin;
create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger touch before update on throttled_resource for each row execute function touch();
select lives();
rollback;
drop schema test_closed cascade;
