-- The owner of throttled_resource may drop its constraints, and write what they forbid: of
-- that nothing is read as if they were there still.
set client_min_messages = warning;
begin;
alter table throttled_resource drop constraint throttled_resource_grants_check,
	drop constraint throttled_resource_earlier_grants_check, drop constraint throttled_resource_last_locker_details_check;
insert into throttled_resource (resource, throttle_interval, grants, last_locked, earlier_grants) values
	('none', '1 hour', 0, now(), '{}'),
	('negative', '1 hour', -2000000000, now(), '{}'),
	('least', '1 hour', -2147483648, now(), '{}'),
	('square', '1 hour', 3, now(), '{{2020-01-01, 2020-01-02}, {2020-01-03, 2020-01-04}}'),
	('nulls', '1 hour', 3, now(), '{null, 2020-01-01, null}'),
	('null first', '1 hour', 3, now(), array[null, '2020-01-01', now()]),
	('shifted', '1 hour', 3, now(), '[5:6]={2020-01-01, 2020-01-02}'),
	('many', '1 hour', 2000000000, now(), '{2020-01-01}'),
	('last', '1 hour', 1, 'infinity', '{2020-01-01}');
create function try(resource text) returns text language plpgsql as $$
begin
	return lock_throttled_resource(resource, 'me');
exception when others then
	return sqlstate;
end $$;
select resource, try(resource) from throttled_resource order by resource;
rollback;
