-- Nothing depends on a session's settings: the same calls, made under each of many settings,
-- give the same results and leave the same rows, whether the queues are created under the
-- setting or were in use before it. Those that may matter are listed with what differs.
set client_min_messages = error;
create schema test_setting_table;
set search_path = test_setting_table, public;

create table results (setting text, is_anew boolean, n integer generated always as identity, call text, result text);

-- Seconds, whatever the style.
create function seconds(span interval) returns text immutable language sql as $$ select extract(epoch from span)::text $$;
create function moment(at timestamptz) returns text immutable language sql as $$ select case when isfinite(at) then extract(epoch from at)::bigint::text else 'never' end $$;

create procedure note(setting text, is_anew boolean, call text) language plpgsql as $$
declare
	result text;
begin
	begin
		execute 'select string_agg(c::text, '' '') from (select ' || call || ') as c' into result;
	exception when others then
		result := sqlstate || ' ' || sqlerrm;
	end;
	insert into results (setting, is_anew, call, result) values (setting, is_anew, call, result);
end $$;

create procedure make_all() language plpgsql as $$
begin
	perform queue_create('jobs', lease => make_interval(hours => 1), max_attempts => 2, backoff_base => make_interval(mins => 10),
		backoff_cap => make_interval(days => 1, hours => 2), archive => true);
	create table t (id integer primary key, day date, span interval, at timestamptz, ratio float8, note text, bytes bytea, state text not null default 'new');
	perform queue_attach('t', 't',
		pending => $f$state = 'new' and day >= '2020-03-02' and span > '1 day -1 hour' and at < '2021-01-01 12:00+00' and ratio < 0.30000000000000004
			and note ~ 'a\d' and bytes <> '\x61' and (note <> null) is not true$f$,
		order_by => 'day desc, id',
		on_claim => $f$state = 'taken', day = '2020-12-31', span = '1 day -1 hour'$f$,
		on_release => $f$state = 'new', note = 'a1\b''c'$f$,
		on_fail => $f$state = 'failed', at = '2020-05-04 03:02:01+00', ratio = 0.1 + 0.2$f$,
		on_extend => $f$state = 'extended', bytes = '\x6162'$f$,
		on_complete => $f$state = 'done'$f$);
	perform throttle_create('test_setting', make_interval(days => 1, hours => -2), 2);
end $$;
create procedure drop_all() language plpgsql as $$
begin
	perform queue_drop('jobs'), queue_detach('t'), throttle_drop('test_setting');
	drop table t;
	delete from named_lock where task_id like 'test_setting%';
end $$;

create procedure call_all(setting text, is_anew boolean) language plpgsql as $$
declare
	call text;
begin
	delete from jobs;
	delete from jobs_archive;
	delete from queue_unique_job;
	perform throttle_drop('test_setting'), throttle_create('test_setting', make_interval(days => 1, hours => -2), 2);
	delete from t;
	delete from named_lock where task_id like 'test_setting%';
	perform setval('jobs_id_seq', 1, false);
	insert into t (id, day, span, at, ratio, note, bytes)
	select i, make_date(2020, 3, 1) + i, make_interval(hours => 22 + i), to_timestamp(1577836800 + i), i / 40.0, 'a' || i, convert_to('a' || i, 'UTF8')
	from generate_series(0, 14) as i;
	foreach call in array array[
		'queue_send(''jobs'', ''{"a": 1}'', 3, to_timestamp(1577836800))',
		'queue_send_many(''jobs'', array[''"b"'', ''null'']::jsonb[], run_at => to_timestamp(1577836801))',
		'id, inserted from queue_unique_insert(''jobs'', ''{"a": 1, "b": 1.50}'', ''{b}'', make_interval(hours => 7), run_at => to_timestamp(1577836802))',
		'id, inserted from queue_unique_insert(''jobs'', ''{"a": 2, "b": 1.5}'', ''{b}'', make_interval(hours => 7), run_at => to_timestamp(1577840000))',
		'id, inserted from queue_unique_insert(''jobs'', ''{"b": 1.5}'', ''{b}'', make_interval(hours => 7), run_at => to_timestamp(1577870000))',
		'queue_unique_key(''jobs'', ''{"b": 1.5}'', ''{b}'', make_interval(days => 1), to_timestamp(1577836802))',
		'queue_unique_insert_row((40, make_date(2020, 3, 9), make_interval(hours => 30), to_timestamp(1577836800), 0.1, ''a9'', ''ab'', ''new'')::t, ''{day,span,at,ratio,note}'')::text is not null',
		'inserted from queue_unique_insert_row((41, make_date(2020, 3, 9), make_interval(hours => 30), to_timestamp(1577836800), 0.1, ''a9'', ''cd'', ''new'')::t, ''{day,span,at,ratio,note}'')',
		'inserted from queue_unique_insert_row((42, make_date(2020, 3, 9), make_interval(hours => 30), to_timestamp(1577836800), 0.1, ''a9'', ''cd'', ''new'')::t, ''{note}'', among => ''state = ''''done'''' and day < ''''2020-03-10'''''')',
		'id || '' '' || attempt || payload::text || moment(run_at) from queue_pop(''jobs'', 2, make_interval(mins => 90)) as j',
		'id || '' '' || attempt from queue_pop(''jobs'')',
		'queue_fail(''jobs'', 2, 1, ''e'''''' || chr(92)), queue_release(''jobs'', 3, 1, to_timestamp(4102444800)), queue_extend(''jobs'', 4, 1, make_interval(days => 40))',
		'queue_complete(''jobs'', 1, 1), queue_complete(''jobs'', 4, 1)',
		'queue_cancel(''jobs'', 3)',
		'queue_counts(''jobs'')',
		'string_agg(concat_ws('' '', id, attempt, payload, priority, run_at > now(), max_attempts, leased_by, last_error, unique_key), '', '' order by id) from jobs',
		'string_agg(id::text, '' '' order by id) from jobs_archive',
		'concat_ws('' '', id, day - make_date(2020, 1, 1), seconds(span), state) from queue_pop_rows(null::t, ''t'', 3) as j',
		'id from queue_pop_rows(null::t, max_jobs => 2) as j',
		'queue_complete_row(''t'', j) from t as j where state = ''taken'' and id = 40',
		'queue_release_row(''t'', j) from t as j where state = ''taken'' and id = 11',
		'queue_fail_row(''t'', j) from t as j where state = ''taken'' and id = 10',
		'(queue_extend_row(''t'', j)).state from t as j where state = ''taken'' and id = 9',
		'string_agg(concat_ws('' '', id, day - make_date(2020, 1, 1), seconds(span), moment(at), ratio = 0.1 + 0.2, encode(convert_to(note, ''UTF8''), ''hex''), encode(bytes, ''hex''), state), '', '' order by id) from t where state <> ''new'' or id = 11',
		'lock_throttled_resource(''test_setting'', ''x''), lock_throttled_resource(''test_setting'', ''x''), lock_throttled_resource(''test_setting'', ''x'')',
		'mutex_acquire(''test_setting1''), mutex_acquire(''test_setting1''), mutex_release(''test_setting1'')',
		'timeout_acquire(''test_setting2'', make_interval(days => 1, hours => -2)), timeout_acquire(''test_setting2'', make_interval(days => 1, hours => -2))',
		'queue_is_held(''t''::regclass, ''1'')',
		'fnv_lock_key(chr(92) || ''x''), fnv1_64(convert_to(chr(92), ''UTF8'')), fnv_lock_key(chr(233))',
		'concat_ws('' '', seconds(lease), seconds(backoff_base), seconds(backoff_cap)) from queues where source in (''jobs''::regclass, ''t''::regclass) order by lease',
		'queue_pause(''jobs''), queue_pause(''jobs'')',
		'queue_pop(''jobs'', 9)',
		'queue_resume(''jobs'')',
		'queue_purge(''jobs'', ''scheduled'')',
		'queue_pop(''none'')',
		'queue_send(''jobs'', ''1'', 40000)',
		'throttle_create(''test_setting'', make_interval(hours => 1))',
		'queue_pop(''jobs'', lease => make_interval(mins => -1))'
	] loop
		call note(setting, is_anew, call);
	end loop;
end $$;

-- If not all is tried, each setting is, before the queues are made or after.
\set sample 1
\getenv sample QUEUE_EXT_SAMPLE
set setting.sample = :sample;
-- Under the setting; nothing if the server does not have it so.
create procedure try(setting text, value text, n integer) language plpgsql as $$
declare
	before text := current_setting(setting, true);
	is_anew boolean;
begin
	foreach is_anew in array '{f,t}'::boolean[] loop
		continue when current_setting('setting.sample') <> '1' and setting !~ '\.' and is_anew = (n % 2 = 0);
		if is_anew then
			call drop_all();
		end if;
		begin
			perform set_config(setting, value, false);
		exception when feature_not_supported or undefined_object or invalid_parameter_value then
			if is_anew then
				call make_all();
			end if;
			continue;
		end;
		if is_anew then
			call make_all();
		end if;
		call call_all(setting || ' = ' || value, is_anew);
		perform set_config(setting, before, false);
	end loop;
end $$;
call make_all();
call call_all('none', false);
do $$
declare
	one text[];
	n integer := 0;
begin
	foreach one slice 1 in array array[
		['search_path', 'test_setting_table, public, pg_temp'], ['search_path', 'test_setting_table, pg_catalog, public'],
		['datestyle', 'SQL, DMY'], ['datestyle', 'German'], ['datestyle', 'Postgres, MDY'], ['datestyle', 'ISO, YMD'],
		['intervalstyle', 'sql_standard'], ['intervalstyle', 'iso_8601'], ['intervalstyle', 'postgres_verbose'],
		['timezone', 'Asia/Kathmandu'], ['timezone', 'America/Los_Angeles'], ['timezone', 'Pacific/Kiritimati'],
		['timezone_abbreviations', 'India'],
		['extra_float_digits', '-15'], ['extra_float_digits', '3'], ['bytea_output', 'escape'], ['xmloption', 'document'], ['xmlbinary', 'hex'],
		['lc_monetary', 'C'], ['lc_messages', 'C'], ['array_nulls', 'off'], ['transform_null_equals', 'on'], ['quote_all_identifiers', 'on'],
		['standard_conforming_strings', 'off'], ['backslash_quote', 'off'], ['row_security', 'off'], ['check_function_bodies', 'off'],
		['plan_cache_mode', 'force_custom_plan'], ['plan_cache_mode', 'force_generic_plan'], ['enable_indexscan', 'off'], ['enable_seqscan', 'off'],
		['enable_sort', 'off'], ['enable_nestloop', 'off'], ['enable_hashagg', 'off'], ['from_collapse_limit', '1'], ['join_collapse_limit', '1'],
		['geqo_threshold', '2'], ['jit', 'on'], ['jit_above_cost', '0'], ['work_mem', '64'], ['constraint_exclusion', 'on'],
		['max_parallel_workers_per_gather', '0'], ['parallel_setup_cost', '0'], ['parallel_leader_participation', 'off'], ['cursor_tuple_fraction', '1'],
		['default_toast_compression', 'pglz'], ['default_table_access_method', 'heap'], ['default_with_oids', 'off'], ['ignore_checksum_failure', 'on'],
		['synchronous_commit', 'off'], ['session_replication_role', 'replica'], ['session_replication_role', 'local'], ['lo_compat_privileges', 'on'],
		['gin_fuzzy_search_limit', '1'], ['temp_buffers', '100'], ['commit_delay', '1'], ['track_activities', 'off'], ['track_counts', 'off'],
		['track_functions', 'all'], ['event_triggers', 'off'], ['restrict_nonsystem_relation_kind', 'foreign-table'],
		['client_encoding', 'LATIN1'], ['default_statistics_target', '1'], ['statement_timeout', '600000'], ['wal_compression', 'on'],
		['queue_ext.claim_path', 'portable'], ['queue_ext.definition_cache_size', '64kB']
	] loop
		n := n + 1;
		perform set_config('jit', (one[1] = 'jit_above_cost')::text, false);
		call try(one[1], one[2], n);
	end loop;
end $$;
call drop_all();

-- What differs from what comes without.
select r.setting, r.is_anew, r.call, r.result, d.result as without
from results as r join results as d on d.setting = 'none' and d.call = r.call
where r.result is distinct from d.result
order by r.n;
-- Nothing was left out.
select setting, count(*) as calls from results group by setting having count(*) <> count(distinct is_anew) * (select count(*) from results where setting = 'none');
\pset format unaligned
\pset tuples_only on
select call || E'\n  ' || coalesce(result, 'nothing') from results where setting = 'none' order by n;
\pset tuples_only off
drop schema test_setting_table cascade;
