-- throttle_acquire: lock_throttled_resource that says when to try again.
set client_min_messages = warning;
create schema test_acquire;
set search_path = test_acquire, public;

-- One grant: the next may come when the interval is over, and not before.
select throttle_create('hourly', '1 hour');
select * from throttle_acquire('hourly', 'one');
select a.acquired, a.retry_at = t.last_locked + interval '1 hour 1 microsecond' as when_it_is_over, last_locker_details
from throttle_acquire('hourly', 'two') as a, throttled_resource as t where resource = 'hourly';
update throttled_resource set last_locked = clock_timestamp() - interval '59 minutes' where resource = 'hourly';
select acquired, retry_at between now() and now() + interval '1 minute' as in_a_minute from throttle_acquire('hourly', 'two');
update throttled_resource set last_locked = clock_timestamp() - interval '1 hour' where resource = 'hourly';
select * from throttle_acquire('hourly', 'two');
-- In one transaction, and after a savepoint that is rolled back.
update throttled_resource set last_locked = '-infinity', last_locker_details = '' where resource = 'hourly';
begin;
savepoint a;
select acquired from throttle_acquire('hourly', 'one');
select acquired, retry_at > now() + interval '59 minutes' as later from throttle_acquire('hourly', 'two');
rollback to a;
select * from throttle_acquire('hourly', 'two');
commit;
-- At retry_at the call is granted.
create procedure ask_again(resource text, inout acquired boolean default null) language plpgsql as $$
declare
	answer record;
begin
	loop
		answer := throttle_acquire(resource, 'first');
		commit;
		exit when not answer.acquired;
	end loop;
	while clock_timestamp() < answer.retry_at loop
		perform pg_sleep(extract(epoch from answer.retry_at - clock_timestamp()));
	end loop;
	acquired := (throttle_acquire(resource, 'again')).acquired;
end $$;
select throttle_create('often', '200 milliseconds');
call ask_again('often');

-- Several: when the grant that stands so many before the next is older than the interval.
select throttle_create('three', '1 hour', 3);
select acquired from generate_series(1, 3) as n, throttle_acquire('three', 'call ' || n);
update throttled_resource set last_locked = now() - interval '10 minutes',
	earlier_grants = array[now() - interval '50 minutes', now() - interval '30 minutes'] where resource = 'three';
select acquired, retry_at = t.last_locked + interval '20 minutes 1 microsecond' as in_ten_minutes
from throttle_acquire('three', 'call 4') as a, throttled_resource as t where resource = 'three';
select throttle_alter('three', grants => 2);
select acquired, retry_at = t.last_locked + interval '40 minutes 1 microsecond' as in_thirty_minutes
from throttle_acquire('three', 'call 4') as a, throttled_resource as t where resource = 'three';
select throttle_alter('three', grants => 4);
select * from throttle_acquire('three', 'call 4');

-- By a statement, with a trigger; the answers are the same.
create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger touch before update on throttled_resource for each row execute function touch();
select throttle_alter('three', grants => 3);
update throttled_resource set last_locked = now() - interval '10 minutes',
	earlier_grants = array[now() - interval '50 minutes', now() - interval '30 minutes'] where resource = 'three';
select acquired, retry_at = t.last_locked + interval '20 minutes 1 microsecond' as in_ten_minutes
from throttle_acquire('three', 'call 4') as a, throttled_resource as t where resource = 'three';
update throttled_resource set last_locked = clock_timestamp() - interval '1 hour', earlier_grants = '{}' where resource = 'three';
select * from throttle_acquire('three', 'call 4');
select acquired, retry_at = t.last_locked + interval '1 hour 1 microsecond' as when_it_is_over
from throttle_acquire('hourly', 'four') as a, throttled_resource as t where resource = 'hourly';
drop trigger touch on throttled_resource;

-- What a worker does with it: a job goes back until its partner can be asked again.
select queue_create('calls', lease => '1 hour');
select from queue_send_many('calls', '{1,2}');
select queue_release('calls', j.id, j.attempt, run_at => a.retry_at) as released, a.acquired
from queue_pop('calls') as j, throttle_acquire('hourly', 'job ' || j.id) as a;
select run_at = (select last_locked + interval '1 hour 1 microsecond' from throttled_resource where resource = 'hourly') as waits, attempt < max_attempts as tried_again
from calls order by id limit 1;

-- An enum; bad input.
create type page as enum ('hourly');
select acquired, retry_at > now() from throttle_acquire('hourly'::page, 'enum');
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;
select error_of(format('select throttle_acquire(%s)', arguments))
from unnest(array['''none'', ''x''', 'null, ''x''', '''hourly'', null', '''hourly'', '' ''', 'null::test_acquire.page, ''x''']) as arguments;
begin read only;
select error_of('select throttle_acquire(''hourly'', ''x'')');
rollback;
delete from throttled_resource where resource in ('hourly', 'three', 'often');
drop schema test_acquire cascade;
