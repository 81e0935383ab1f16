-- Throttled resources, one session.
set client_min_messages = warning;
create schema test_throttle;
set search_path = test_throttle, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	name text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics name = constraint_name;
	return concat_ws(' ', sqlstate, nullif(name, ''));
end $$;

create function wal_records(command text) returns integer language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, wal, costs off, timing off, summary off, format json) ' || command into plan;
	return plan->0->'Plan'->>'WAL Records';
end $$;

select throttle_create('rebuild', '1 hour');
select resource, throttle_interval, grants, last_locked, last_locker_details, earlier_grants from throttled_resource;

-- The first may, the second may not, in one transaction and in others.
begin;
select lock_throttled_resource('rebuild', 'host 1') as first, lock_throttled_resource('rebuild', 'host 2') as second;
select lock_throttled_resource('rebuild', 'host 3') as third;
commit;
select lock_throttled_resource('rebuild', 'host 4') as fourth;
select last_locker_details, last_locked between now() - interval '1 minute' and clock_timestamp() as just_now,
       earlier_grants
from throttled_resource;

-- When the interval is over, the next may.
update throttled_resource set last_locked = clock_timestamp() - interval '59 minutes';
select lock_throttled_resource('rebuild', 'host 5');
update throttled_resource set last_locked = clock_timestamp() - interval '1 hour';
select lock_throttled_resource('rebuild', 'host 6');
select last_locker_details from throttled_resource;

-- A day has 24 hours, in every time zone.
set timezone = 'Europe/Berlin';
update throttled_resource set throttle_interval = '1 day', last_locked = clock_timestamp() - interval '23 hours 59 minutes';
select lock_throttled_resource('rebuild', 'host 7');
update throttled_resource set last_locked = clock_timestamp() - interval '24 hours';
select lock_throttled_resource('rebuild', 'host 8');
-- Nor has it 23 because clocks were put forward twelve hours ago.
select set_config('timezone', format('STD0DST,%s/%s,%s/0', extract(doy from ago) - 1, extract(hour from ago), mod(extract(doy from ago) + 180, 365)), false)
	is not null as is_set
from (select (now() - interval '12 hours') at time zone 'utc') as t(ago);
select now() - interval '1 day' <> now() - interval '24 hours' as days_differ;
update throttled_resource set last_locked = clock_timestamp() - interval '23 hours 30 minutes';
select lock_throttled_resource('rebuild', 'host 8a');
reset timezone;

-- Rolled back, it is as if never asked.
select throttle_alter('rebuild', throttle_interval => '1 hour');
update throttled_resource set last_locked = '-infinity', last_locker_details = '';
begin;
select lock_throttled_resource('rebuild', 'rolled back');
rollback;
begin;
savepoint s;
select lock_throttled_resource('rebuild', 'rolled back to a savepoint');
rollback to s;
select lock_throttled_resource('rebuild', 'after the savepoint');
select lock_throttled_resource('rebuild', 'later');
rollback;
do $$
begin
	perform lock_throttled_resource('rebuild', 'in a block');
	raise division_by_zero;
exception when division_by_zero then
	assert lock_throttled_resource('rebuild', 'in the handler');
end $$;
select last_locker_details from throttled_resource;

-- An interval that is over within the transaction.
select throttle_create('short', '1 microsecond');
begin;
select lock_throttled_resource('short', 'a');
select pg_sleep(0.002);
select lock_throttled_resource('short', 'b');
commit;

-- More grants than one: never more than that many in any interval.
select throttle_create('many', '1 hour', grants => 3);
select lock_throttled_resource('many', 'call ' || n) from generate_series(1, 5) as n;
select last_locker_details, cardinality(earlier_grants) as earlier from throttled_resource where resource = 'many';
-- The oldest of the three leaves the window.
update throttled_resource
set earlier_grants[1] = earlier_grants[1] - interval '1 hour' where resource = 'many';
select lock_throttled_resource('many', 'call ' || n) from generate_series(6, 7) as n;
select cardinality(earlier_grants) as earlier,
       earlier_grants[1] <= earlier_grants[2] and earlier_grants[2] <= last_locked as ordered
from throttled_resource where resource = 'many';
-- Fewer grants.
select throttle_alter('many', grants => 2);
select lock_throttled_resource('many', 'denied');
update throttled_resource set earlier_grants[2] = earlier_grants[2] - interval '1 hour' where resource = 'many';
select lock_throttled_resource('many', 'call 8'), lock_throttled_resource('many', 'denied');
select cardinality(earlier_grants) as earlier from throttled_resource where resource = 'many';
select throttle_alter('many', grants => 1);
update throttled_resource set last_locked = last_locked - interval '2 hours' where resource = 'many';
select lock_throttled_resource('many', 'call 9'), lock_throttled_resource('many', 'denied');
select earlier_grants from throttled_resource where resource = 'many';
-- More grants: what was not remembered does not count.
select throttle_alter('many', '2 hours', 3);
select throttle_interval, grants from throttled_resource where resource = 'many';
select lock_throttled_resource('many', 'call 10'), lock_throttled_resource('many', 'call 11'),
       lock_throttled_resource('many', 'denied');

-- Grants stay in order when the clock goes back.
update throttled_resource
set last_locked = clock_timestamp() + interval '1 minute', earlier_grants = '{}' where resource = 'many';
select lock_throttled_resource('many', 'from the past');
select earlier_grants[1] = last_locked as same from throttled_resource where resource = 'many';
-- For ever.
update throttled_resource set last_locked = 'infinity', last_locker_details = 'closed' where resource = 'rebuild';
select lock_throttled_resource('rebuild', 'never');

-- A denial writes nothing: no transaction id, no WAL.
begin;
select lock_throttled_resource('rebuild', 'never');
select wal_records('select lock_throttled_resource(''rebuild'', ''never'')');
select pg_current_xact_id_if_assigned() is null as no_xid;
commit;

-- Null is null.
select lock_throttled_resource(null, 'x') as no_resource, lock_throttled_resource('rebuild', null) as no_details;

-- What cannot be.
select command, error_of('select ' || command) as error
from unnest(array[
	'lock_throttled_resource(''unknown'', ''x'')',
	'lock_throttled_resource('''', ''x'')',
	'lock_throttled_resource(''rebuild'', '''')',
	'lock_throttled_resource(''short'', ''   '')',
	'lock_throttled_resource(''unknown'', '''')',
	'throttle_create(null, ''1 hour'')',
	'throttle_create(''x'', null)',
	'throttle_create(''x'', ''1 hour'', null)',
	'throttle_create(''  '', ''1 hour'')',
	'throttle_create(''x'', ''0'')',
	'throttle_create(''x'', ''-1 hour'')',
	'throttle_create(''x'', ''300000 years'')',
	'throttle_create(''x'', ''1 hour'', 0)',
	'throttle_create(''x'', ''1 hour'', 1001)',
	'throttle_create(''rebuild'', ''1 hour'')',
	'throttle_alter(null)',
	'throttle_alter(''unknown'', ''1 hour'')',
	'throttle_alter(''rebuild'', ''0'')',
	'throttle_alter(''rebuild'', grants => -1)',
	'throttle_drop(null)',
	'throttle_drop(''rebuild'', null)',
	'throttle_drop(''unknown'')'
]) with ordinality as c(command, n)
order by n;
-- The table keeps to its rules by itself.
select command, error_of(command) as error
from unnest(array[
	'insert into throttled_resource (resource, throttle_interval) values (''x'', ''0'')',
	'insert into throttled_resource (resource, throttle_interval, last_locker_details) values (''x'', ''1 hour'', ''me'')',
	'insert into throttled_resource (resource, throttle_interval, last_locked) values (''x'', ''1 hour'', now())',
	'insert into throttled_resource (resource, throttle_interval, last_locked, last_locker_details) values (''x'', ''1 hour'', now(), ''  '')',
	'insert into throttled_resource (resource, throttle_interval, earlier_grants) values (''x'', ''1 hour'', ''{2001-01-01}'')',
	'update throttled_resource set grants = 0',
	'update throttled_resource set last_locked = now(), last_locker_details = ''x'', earlier_grants = ''{{2001-01-01}}''',
	'update throttled_resource set last_locked = now(), last_locker_details = ''x'', earlier_grants = ''{null}'''
]) with ordinality as c(command, n)
order by n;
select throttle_drop('many'), throttle_drop('many', if_exists => true);
-- A grant is one write. (With assertions the row is locked first.)
vacuum throttled_resource;
select wal_records('select lock_throttled_resource(''short'', ''once'')') - more as wal_records
from (select (current_setting('debug_assertions') = 'on')::integer as more) as assertions;
select lock_throttled_resource('short', 'long: ' || repeat('x', 10000));
select length(last_locker_details) from throttled_resource where resource = 'short';

-- Each way to make the table special: a statement does the same then.
create table fired (what text);
create function note() returns trigger language plpgsql as $$
begin
	insert into fired values (new.resource || ' ' || new.last_locker_details);
	return new;
end $$;
create function lives() returns setof text language plpgsql as $$
begin
	update throttled_resource set last_locked = '-infinity', last_locker_details = '', earlier_grants = '{}',
		throttle_interval = '1 hour', grants = 1 where resource = 'rebuild';
	return next concat('grants: ', lock_throttled_resource('rebuild', 'one'));
	return next concat('denies: ', lock_throttled_resource('rebuild', 'two'));
	perform throttle_alter('rebuild', grants => 3);
	return next concat('three: ', (select string_agg(lock_throttled_resource('rebuild', n::text)::text, ' ')
		from generate_series(1, 4) as n));
	update throttled_resource set earlier_grants[1] = earlier_grants[1] - interval '1 hour' where resource = 'rebuild';
	return next concat('slides: ', (select string_agg(lock_throttled_resource('rebuild', n::text)::text, ' ')
		from generate_series(5, 6) as n));
	return next concat('kept: ', cardinality(earlier_grants), ' ', last_locker_details) from throttled_resource where resource = 'rebuild';
	perform throttle_alter('rebuild', grants => 1);
	update throttled_resource set last_locked = now() - interval '1 day' where resource = 'rebuild';
	return next concat('one: ', lock_throttled_resource('rebuild', 'one'));
	return next concat('kept: ', cardinality(earlier_grants), ' ', last_locker_details) from throttled_resource where resource = 'rebuild';
	return next concat('unknown: ', error_of('select lock_throttled_resource(''unknown'', ''x'')'));
end $$;
select lives();
create trigger note after update on throttled_resource for each row execute function note();
select lives();
select count(*) from fired;
begin isolation level repeatable read;
select lives();
rollback;
begin isolation level serializable;
select lives();
rollback;
drop trigger note on throttled_resource;
select lives();
begin isolation level serializable;
select lives();
rollback;
create function note_ok(text) returns boolean language sql immutable as $$ select $1 <> 'forbidden' $$;
alter table throttled_resource add constraint mine check (test_throttle.note_ok(last_locker_details));
update throttled_resource set last_locked = now() - interval '1 day' where resource = 'rebuild';
select error_of('select lock_throttled_resource(''rebuild'', ''forbidden'')');
select lives();
alter table throttled_resource drop constraint mine;
-- A constraint of plain functions is tested as it is.
alter table throttled_resource add constraint mine check (last_locker_details <> 'forbidden');
update throttled_resource set last_locked = now() - interval '1 day' where resource = 'rebuild';
select error_of('select lock_throttled_resource(''rebuild'', ''forbidden'')');
select lives();
alter table throttled_resource drop constraint mine;
-- A rule that does something else.
create rule nothing as on update to throttled_resource do instead nothing;
select lock_throttled_resource('short', 'x');
drop rule nothing on throttled_resource;
-- More indexes, so that a grant needs new entries.
create index by_time on throttled_resource (last_locked);
select lives();
select last_locked > now() - interval '1 hour' as found from throttled_resource
where last_locked = (select max(last_locked) from throttled_resource where last_locked < 'infinity');
drop index by_time;
alter table throttled_resource rename column last_locked to locked_last;
alter table throttled_resource rename column locked_last to last_locked;
reindex table throttled_resource;
select lives();

-- Row security.
create role regress_throttle;
grant usage on schema test_throttle to regress_throttle;
grant select, insert, update, delete on throttled_resource to regress_throttle;
alter table throttled_resource enable row level security;
create policy short on throttled_resource to regress_throttle using (resource = 'short');
set role regress_throttle;
select lock_throttled_resource('short', 'x');
select error_of('select lock_throttled_resource(''rebuild'', ''x'')');
select error_of('select throttle_create(''mine'', ''1 hour'')');
reset role;
drop policy short on throttled_resource;
alter table throttled_resource disable row level security;

-- Rights on the table are rights on the throttles.
create view calls as
select call, n from unnest(array[
	'lock_throttled_resource(''short'', ''x'')',
	'lock_throttled_resource(''unknown'', ''x'')',
	'throttle_alter(''short'')',
	'throttle_create(''new'', ''1 hour'')',
	'throttle_drop(''new'')'
]) with ordinality as c(call, n);
grant select on calls to regress_throttle;
revoke all on throttled_resource from regress_throttle;
set role regress_throttle;
select call, error_of('select ' || call) from calls order by n;
reset role;
grant select, update on throttled_resource to regress_throttle;
set role regress_throttle;
select call, error_of('select ' || call) from calls order by n;
reset role;
grant insert on throttled_resource to regress_throttle;
set role regress_throttle;
select call, error_of('select ' || call) from calls order by n;
reset role;
grant delete on throttled_resource to regress_throttle;
revoke update on throttled_resource from regress_throttle;
grant update (last_locked, last_locker_details, earlier_grants) on throttled_resource to regress_throttle;
set role regress_throttle;
select call, error_of('select ' || call) from calls order by n;
reset role;
revoke all on throttled_resource from regress_throttle;
-- A SECURITY DEFINER function lends its owner's rights.
create function lock_short() returns boolean language sql security definer set search_path = public, pg_temp
as $$ select lock_throttled_resource('short', 'on behalf') $$;
set role regress_throttle;
select lock_short();
reset role;

select count(*) from (select throttle_drop(resource) from throttled_resource) as t;
drop schema test_throttle cascade;
drop role regress_throttle;
