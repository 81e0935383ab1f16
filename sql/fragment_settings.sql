-- A fragment means the same whatever settings the session has that pops: how it
-- reads strings, dates, numbers and NULLs, and when it changes its mind.
set client_min_messages = error;
create schema test_settings;
set search_path = test_settings, public;
create table t (id integer primary key, note text, day date, span interval, ratio float8, taken boolean not null default false);
insert into t values
	(1, 'a\b', '2020-02-01', '-1 day +02:00', 0.1::float8 + 0.2::float8),
	(2, 'a\\b', '2020-01-02', '-1 day -02:00', 0.3),
	(3, 'ab', '2019-01-01', '1 day', 3),
	(4, null, null, null, null);
select queue_attach('strings', 't', $$note = 'a\b' and note <> '\' and not taken$$, 'id', $$taken = true, note = 'c\d'$$);
select queue_attach('days', 't', $$day = '2020-02-01' and not taken$$, 'id', 'taken = true');
select queue_attach('spans', 't', $$span = '-1 day 02:00' and not taken$$, 'id', 'taken = true');
select queue_attach('ratios', 't', $$ratio = '0.30000000000000004' and not taken$$, 'id', 'taken = true');
select queue_attach('nulls', 't', $$note = null and not taken$$, 'id', 'taken = true');

create sequence jobs;

-- Sets it. False if that is no longer possible: 19 reads backslashes in one way only.
create function can_set(name text, value text) returns boolean language plpgsql as $$
begin
	perform set_config(name, value, false);
	return true;
exception when feature_not_supported or undefined_object then
	return false;
end $$;

-- One setting after the other, each with a claim that this session has not made
-- before (from what it compiled earlier), then everything anew.
create procedure pop_all(name text, value text) language plpgsql as $$
declare
	q text;
	n integer;
	popped text;
	expected text;
begin
	for n in 1..2 loop
		if not can_set(name, value) then
			exit;
		end if;
		if n = 2 then
			alter table t set (fillfactor = 90);
			alter table t reset (fillfactor);
		end if;
		foreach q in array array['strings', 'days', 'spans', 'ratios', 'nulls'] loop
			-- The number of jobs is part of a claim's statement.
			select string_agg(id || coalesce(' ' || note, ''), ', ') into popped
			from queue_pop_rows(null::t, q, nextval('jobs')::integer);
			expected := case q when 'strings' then '1 c\d' when 'nulls' then null else '1 a\b' end;
			if popped is distinct from expected then
				raise notice '% = %, %: % pops %', name, value, case n when 1 then 'kept' else 'anew' end, q, popped;
			end if;
			update t set taken = false, note = case when id = 1 then 'a' || chr(92) || 'b' else note end;
		end loop;
		perform set_config(name, (select s.reset_val from pg_settings s where lower(s.name) = pop_all.name), false);
	end loop;
	raise notice '%: tried', name;
end $$;
set client_min_messages = notice;
do $$ begin
	perform can_set('escape_string_warning', 'off');
end $$;
call pop_all('standard_conforming_strings', 'on');
call pop_all('standard_conforming_strings', 'off');
call pop_all('datestyle', 'SQL, DMY');
call pop_all('datestyle', 'SQL, MDY');
call pop_all('datestyle', 'German');
call pop_all('intervalstyle', 'sql_standard');
call pop_all('intervalstyle', 'iso_8601');
call pop_all('extra_float_digits', '-15');
call pop_all('transform_null_equals', 'on');
call pop_all('quote_all_identifiers', 'on');
call pop_all('backslash_quote', 'off');
call pop_all('array_nulls', 'off');
call pop_all('check_function_bodies', 'off');
call pop_all('bytea_output', 'escape');
call pop_all('xmloption', 'document');
call pop_all('default_transaction_isolation', 'serializable');
call pop_all('row_security', 'off');
call pop_all('plan_cache_mode', 'force_custom_plan');
call pop_all('enable_indexscan', 'off');
call pop_all('jit', 'on');
call pop_all('work_mem', '64');

-- A change of settings between compiling and preparing.
set datestyle = 'SQL, DMY';
select id from queue_pop_rows(null::t, 'days', 1);
set datestyle = 'SQL, MDY';
update t set taken = false;
select id from queue_pop_rows(null::t, 'days', 2);
reset datestyle;

-- The settings are those of before.
update t set taken = false;
do $$ begin
	perform can_set('standard_conforming_strings', 'off');
end $$;
set datestyle = 'German';
select current_setting('standard_conforming_strings') as strings \gset
select count(*) from queue_pop_rows(null::t, 'strings', 3);
select current_setting('standard_conforming_strings') = :'strings' as strings_are_as_before;
show datestyle;
show search_path;
reset standard_conforming_strings;
reset datestyle;
drop schema test_settings cascade;
