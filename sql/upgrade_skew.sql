-- The extension's tables are not as the library expects them: of an older version, of a
-- newer one, or changed by hand. It works, or says what to run; and reads no column by a
-- number that is another's.
set client_min_messages = warning;
create schema test_skew;
set search_path = test_skew, public;
select queue_create('jobs');
select queue_send('jobs', '1');
select throttle_create('skew', '1 hour');
create function outcome(call text) returns text language plpgsql as $$
declare
	message text;
	detail text;
	hint text;
begin
	execute 'select ' || call;
	return 'done';
exception when others then
	get stacked diagnostics message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
	-- The library's version changes with each release.
	return concat_ws(' | ', sqlstate, message, regexp_replace(detail, 'session has version \d+\.\d+\.\d+\.', 'session has version X.Y.Z.'), hint);
end $$;
-- What the call does after the change, which is undone.
create function after(change text, call text, version text default null) returns text language plpgsql as $$
declare
	result text;
begin
	execute change;
	if version is not null then
		update pg_extension set extversion = version where extname = 'queue_ext';
	end if;
	result := outcome(call);
	raise exception using errcode = 'XX999', message = result;
exception when sqlstate 'XX999' then
	return sqlerrm;
end $$;

-- An older version, a newer one, and the library's own.
select after('alter table queue_definition rename on_extend to on_stretch', 'queue_pop(''jobs'')', '0.0');
select after('alter table queue_definition rename on_extend to on_stretch', 'queue_pop(''jobs'')', '0.1000');
select after('alter table queue_definition rename on_extend to on_stretch', 'queue_pop(''jobs'')', '1000.0');
select after('alter table queue_definition rename on_extend to on_stretch', 'queue_pop(''jobs'')');

-- Each change of the registry, met by calls of all kinds.
select change,
	   split_part(after('alter extension queue_ext drop view queues; drop view queues; alter table queue_definition '
						|| change, call), ' | ', 1) as outcome,
	   call
from unnest(array[
	'drop created_at',
	'drop pending',
	'rename name to title',
	'alter claim_mode drop not null',
	'alter pending type varchar(1000)',
	'add later text',
	'add later text not null default ''x'''
]) with ordinality as c(change, place)
cross join unnest(array[
	'queue_pop(''jobs'')',
	'queue_send(''jobs'', ''2'')',
	'queue_create(''more'')',
	'queue_alter(''jobs'', lease => ''1 hour'')',
	'queue_drop(''jobs'')',
	'queue_pop_rows(null::jobs)'
]) with ordinality as d(call, place_2)
order by place, place_2;

-- The other tables.
select change,
	   split_part(after('alter extension queue_ext drop view held_locks; drop view held_locks; alter ' || change, call),
				  ' | ', 1) as outcome,
	   call
from (values
	('table queue_unique_job rename job to id', 'queue_unique_insert(''jobs'', ''3'', states => ''{done}'')'),
	('table queue_unique_job rename job to id', 'queue_purge(''jobs'', ''done'')'),
	('table queue_unique_job rename job to id', 'queue_unique_insert(''jobs'', ''3'')'),
	('table queue_unique_job alter expires_at type timestamp', 'queue_unique_insert(''jobs'', ''3'', states => ''{done}'')'),
	('table queue_unique_job add later text', 'queue_unique_insert(''jobs'', ''3'', states => ''{done}'')'),
	('index queue_unique_job_digest_idx rename to other_idx', 'queue_unique_insert(''jobs'', ''3'', states => ''{done}'')'),
	('table throttled_resource rename grants to allowed', 'lock_throttled_resource(''skew'', ''x'')'),
	('table throttled_resource drop constraint throttled_resource_pkey, alter resource drop not null', 'lock_throttled_resource(''skew'', ''x'')'),
	('table throttled_resource alter throttle_interval drop not null', 'throttle_alter(''skew'', grants => 2)'),
	('table throttled_resource add later text', 'lock_throttled_resource(''skew'', ''x'')'),
	('table named_lock alter token type integer', 'mutex_acquire(''skew'')'),
	('table named_lock rename retries_left to tries', 'mutex_acquire(''skew'')'),
	('table named_lock add later text', 'mutex_acquire(''skew'')')
) as c(change, call);

-- What an older library writes into a table with more columns.
begin;
alter table queue_unique_job add later text, add later_too integer;
select inserted from queue_unique_insert('jobs', '4', states => '{done}');
select later, later_too from queue_unique_job where source = 'jobs'::regclass;
rollback;

-- All is as it was.
select id from queue_pop('jobs');
select throttle_drop('skew');
drop schema test_skew cascade;
