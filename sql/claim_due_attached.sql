-- An attached queue whose "pending" waits for times that stand in the row is empty for free until the first of them has come,
-- whatever stands in front: sweeps are counted, and the intervals that there was time for. And it is never empty while a
-- row is pending.
set client_min_messages = error;
create schema test_due;
set search_path = test_due, public;
set queue_ext.claim_path = auto;
create table task (
	id bigint generated always as identity primary key,
	state text not null default 'available',
	run_at timestamptz not null default now(),
	taken_until timestamptz
);
create index on task (run_at, id) where state = 'available';
select queue_attach('task', 'task',
	pending => $$state = 'available' and run_at <= call_time and (taken_until is null or taken_until <= call_time)$$,
	order_by => 'run_at, id', on_claim => 'taken_until = call_time + lease', on_complete => $$state = 'done'$$,
	on_extend => 'taken_until = call_time + lease', on_release => 'taken_until = null, run_at = coalesce(retry_at, call_time)',
	lease => '1 hour', wake => true);
insert into task (run_at) select now() + interval '1 day' + i * interval '1 second' from generate_series(1, 3000) as i;
insert into task (taken_until) select now() + interval '1 day' from generate_series(1, 3000) as i;
insert into task (state) select 'done' from generate_series(1, 3000) as i;

create function sweeps(of_table text default 'task') returns bigint language sql
return (select sum(sweeps)::bigint from queue_claim_stats where source = to_regclass(of_table));
-- Whether so many calls of that command, each after the event and in transactions of their own, have needed few sweeps; and
-- how many of the calls found a row.
create procedure test_sweeps(event text, inout claimed bigint default 0, inout few boolean default null)
language plpgsql as $$
declare
	began timestamptz;
	before bigint;
begin
	perform queue_pop_rows(null::task, 'task');
	commit;
	began := clock_timestamp();
	before := sweeps();
	for i in 1 .. 200 loop
		execute event using i;
		commit;
		claimed := claimed + (select count(*) from queue_pop_rows(null::task, 'task'));
		commit;
		claimed := claimed + (select count(*) from queue_pop_rows(null::task, 'task'));
		commit;
	end loop;
	few := sweeps() - before <= 10 + extract(epoch from clock_timestamp() - began) * 2;
end $$;
call test_sweeps('select $1');
call test_sweeps('insert into task (run_at) values (now() + $1 * interval ''1 hour'')');
call test_sweeps('insert into task (state) values (''available'') returning $1');
call test_sweeps('update task set taken_until = now() + $1 * interval ''1 hour'' where id = (select max(id) from task)');
call test_sweeps('update task set state = ''done'' where id = (select max(id) from task where state = ''available'' and $1 > 0)');
call test_sweeps('select queue_complete_row(''task'', t) from task as t where state = ''available'' and taken_until < now() + interval ''2 hours'' and $1 > 0 limit 1');
call test_sweeps('select queue_extend_row(''task'', t, interval ''3 hours'') from task as t where state = ''available'' and taken_until < now() + interval ''2 hours'' and $1 > 0 limit 1');
call test_sweeps('select queue_release_row(''task'', t, now() + interval ''1 hour'') from task as t where state = ''available'' and taken_until < now() + interval ''2 hours'' and $1 > 0 limit 1');

-- Those that fall due one by one are claimed in the order, with few sweeps: new rows, and those whose claims end.
-- Not at once: a sweep that finds one due does not ask for the others.
create procedure test_one_by_one(event text, inout claimed bigint default 0, inout few boolean default null, inout in_order boolean default true)
language plpgsql as $$
declare
	began timestamptz;
	before bigint;
	last timestamptz := '-infinity';
	job task;
begin
	-- Again where a slow machine has looked at them when the first was due already, or has not kept pace.
	for i in 1 .. 20 loop
		update task set state = 'done' where run_at <= now();
		commit;
		began := clock_timestamp();
		before := sweeps();
		execute event;
		commit;
		perform queue_pop_rows(null::task, 'task');
		commit;
		if clock_timestamp() > began + interval '2 s' then
			perform pg_sleep(2);
			continue;
		end if;
		claimed := 0;
		last := '-infinity';
		while claimed < 200 and clock_timestamp() < began + interval '5 min' loop
			select * into job from queue_pop_rows(null::task, 'task');
			commit;
			if job.id is null then
				perform pg_sleep(0.002);
				continue;
			end if;
			claimed := claimed + 1;
			in_order := in_order and job.run_at >= last;
			last := job.run_at;
		end loop;
		few := sweeps() - before <= 20 + extract(epoch from clock_timestamp() - began) * 2;
		exit when few or clock_timestamp() < began + interval '3.1 s';
	end loop;
end $$;
call test_one_by_one('insert into task (run_at) select clock_timestamp() + interval ''2 s'' + i * interval ''5 ms'' from generate_series(1, 200) as i');
call test_one_by_one('insert into task (taken_until, run_at) select clock_timestamp() + interval ''2 s'' + i * interval ''5 ms'', now() - (300 - i) * interval ''1 s'' from generate_series(0, 199) as i');

-- More rows than the log keeps are due at once, and as many that were finished before.
do $$
declare
	until timestamptz := clock_timestamp() + interval '100 ms';
begin
	for i in 1 .. 300 loop
		insert into task (run_at, taken_until) values (now(), until);
	end loop;
	commit;
	perform queue_pop_rows(null::task, 'task');
	update task set state = 'done' where taken_until = until;
	commit;
	perform queue_pop_rows(null::task, 'task');
	commit;
	insert into task (run_at) select until from generate_series(1, 300);
	commit;
	-- None, unless the time has come already.
	perform set_config('test.claimed', (select count(*)::text from queue_pop_rows(null::task, 'task')), false);
	commit;
	perform pg_sleep(extract(epoch from until - clock_timestamp()) + 0.01);
end $$;
select sweeps() as before \gset
select count(*) + current_setting('test.claimed')::integer as count from queue_pop_rows(null::task, 'task', 1000);
select sweeps() - :before <= 10 as few;

-- However a row comes to wait for a time, it is claimed when that has come: no call returns nothing while a row is pending.
-- The steps of an event are transactions of their own.
create procedure test_due(event text, inout claimed bigint default 0, inout missed bigint default 0)
language plpgsql as $$
declare
	step text;
	began timestamptz := clock_timestamp();
	looked_at timestamptz;
	job task;
begin
	for i in 1 .. 5 loop
		perform queue_pop_rows(null::task, 'task', 100);
		commit;
		foreach step in array string_to_array(event, ' THEN ') loop
			execute replace(step, 'DUE', quote_literal(clock_timestamp() + interval '30 ms') || '::timestamptz');
			commit;
		end loop;
		loop
			looked_at := clock_timestamp();
			select * into job from queue_pop_rows(null::task, 'task');
			commit;
			exit when job.id is not null or looked_at > began + interval '2 min';
			missed := missed + (select count(*) from task where state = 'available' and run_at <= looked_at
				and coalesce(taken_until <= looked_at, true));
			commit;
			perform pg_sleep(0.002);
		end loop;
		claimed := claimed + (job.id is not null)::integer;
	end loop;
end $$;
call test_due('insert into task (run_at) values (DUE)');
call test_due('insert into task (run_at, taken_until) values (DUE - interval ''1 day'', DUE), (DUE, DUE - interval ''1 day'')');
call test_due('update task set run_at = now(), taken_until = DUE where id = (select max(id) from task)');
call test_due('do $do$ begin update task set run_at = now(), taken_until = DUE where id = (select max(id) from task); begin update task set taken_until = ''infinity'' where id = (select max(id) from task); raise division_by_zero; exception when division_by_zero then end; end $do$');
call test_due('update task set run_at = now(), taken_until = DUE where id = (select max(id) from task) THEN do $do$ begin begin update task set taken_until = ''infinity'' where id = (select max(id) from task); raise division_by_zero; exception when division_by_zero then end; end $do$');
call test_due('insert into task default values THEN select queue_pop_rows(null::task, ''task'', lease => greatest(DUE - clock_timestamp(), ''1 ms''))');
call test_due('insert into task default values THEN select queue_release_row(''task'', j, DUE) from queue_pop_rows(null::task, ''task'') as j');
call test_due('insert into task default values THEN select queue_extend_row(''task'', j, greatest(DUE - clock_timestamp(), ''1 ms'')) from queue_pop_rows(null::task, ''task'') as j');
-- Claimed by other ways than those that poll.
call test_due('insert into task default values THEN set local queue_ext.claim_path = tid; select queue_pop_rows(null::task, ''task'', lease => greatest(DUE - clock_timestamp(), ''1 ms''))');
call test_due('insert into task default values THEN set local queue_ext.claim_path = portable; select queue_pop_rows(null::task, ''task'', lease => greatest(DUE - clock_timestamp(), ''1 ms''))');
-- A completion after which the row comes again.
select queue_detach('task');
update task set state = 'done';
select queue_attach('task', 'task',
	pending => $$state = 'available' and run_at <= call_time and (taken_until is null or taken_until <= call_time)$$,
	order_by => 'run_at, id', on_claim => 'taken_until = call_time + lease',
	on_complete => $$run_at = call_time + interval '30 ms', taken_until = null$$, wake => true);
call test_due('insert into task default values THEN select queue_complete_row(''task'', j) from queue_pop_rows(null::task, ''task'') as j where DUE is not null');
-- Of the transaction's own rows.
update task set state = 'done';
begin;
insert into task (run_at) values (clock_timestamp() + interval '30 ms');
select count(*) as early from queue_pop_rows(null::task, 'task') \gset
select pg_sleep(0.1);
select :early + count(*) as found from queue_pop_rows(null::task, 'task');
rollback;

-- Of a row that was there before the first sweep.
select queue_detach('task');
update task set run_at = clock_timestamp() + interval '300 ms', state = 'available', taken_until = null where id = 1;
select queue_attach('task', 'task', pending => $$state = 'available' and run_at <= call_time$$,
	order_by => 'id', on_claim => $$state = 'taken'$$, wake => true);
do $$
declare
	looked_at timestamptz;
	job task;
begin
	loop
		looked_at := clock_timestamp();
		select * into job from queue_pop_rows(null::task, 'task');
		exit when job.id is not null;
		if exists (select from task where id = 1 and run_at <= looked_at) then
			raise exception 'a row is pending, and not found';
		end if;
		perform pg_sleep(0.01);
	end loop;
end $$;
drop table task;

-- Which conditions tell of their times: then polls are for free. Whichever it is, a row is claimed as soon as it is pending.
create table moment (
	id integer primary key,
	done boolean not null default false,
	divisor integer not null default 0,
	at timestamptz,
	local_at timestamp,
	day date not null default current_date
);
create procedure test_form(pending text, shift interval default '0', tells boolean default true, inout few boolean default null,
	inout missed bigint default 0, inout claimed bigint default 0)
language plpgsql as $$
declare
	began timestamptz;
	before bigint;
	looked_at timestamptz;
	begun timestamptz;
	is_claimed boolean;
	is_pending boolean;
begin
	truncate moment;
	perform queue_attach('moment', 'moment', pending, order_by => 'id', on_claim => 'done = true', lease => '1 hour', wake => true);
	insert into moment (id, at, local_at)
		select i, now() + interval '3 days', now() at time zone 'UTC' + interval '3 days' from generate_series(1, 50) as i;
	insert into moment (id, at, local_at) values
		(-1, 'infinity', 'infinity'), (-2, '294200-01-01', '294200-01-01'), (-3, null, null);
	commit;
	perform queue_pop_rows(null::moment, 'moment');
	commit;
	began := clock_timestamp();
	before := sweeps('moment');
	for i in 1 .. 100 loop
		perform queue_pop_rows(null::moment, 'moment');
		commit;
	end loop;
	few := not tells or sweeps('moment') - before <= 10 + extract(epoch from clock_timestamp() - began) * 2;
	-- One is pending in a moment.
	update moment set at = time, local_at = time at time zone 'UTC'
		from (select clock_timestamp() + interval '30 ms' + shift) as t (time) where id = 20;
	commit;
	loop
		looked_at := clock_timestamp();
		begun := now();
		select count(*) > 0 into is_claimed from queue_pop_rows(null::moment, 'moment');
		commit;
		exit when is_claimed or looked_at > began + interval '2 min';
		execute format('select %s from moment where id = 20',
			regexp_replace(replace(regexp_replace(pending, 'call_time|clock_timestamp\(\)', quote_literal(looked_at) || '::timestamptz', 'g'),
				'lease', 'interval ''1 hour'''), 'now\(\)|current_timestamp', quote_literal(begun) || '::timestamptz')) into is_pending;
		missed := missed + is_pending::integer;
		commit;
		perform pg_sleep(0.002);
	end loop;
	-- And others always were.
	update moment set at = '-infinity', local_at = '-infinity' where id between 21 and 30;
	update moment set at = '4000-01-01 BC', local_at = '4000-01-01 BC' where id between 31 and 40;
	commit;
	claimed := is_claimed::integer + (select count(*) from queue_pop_rows(null::moment, 'moment', 100));
	commit;
	perform queue_detach('moment');
end $$;
call test_form('not done and at <= call_time');
call test_form('not done and call_time > at');
call test_form('at < call_time and done = false and local_at is not null');
call test_form('not done and at < call_time - interval ''1 hour''', '-1 hour');
call test_form('not done and at + 2 * interval ''1 hour'' < call_time + interval ''1 minute''', '-119 minutes');
call test_form('not done and local_at <= call_time at time zone ''UTC''');
call test_form('not done and local_at <= call_time at time zone ''utc'' - interval ''1 hour''', '-1 hour');
call test_form('not done and coalesce(at, ''infinity'') <= call_time');
call test_form('not done and (at <= call_time or local_at < call_time at time zone ''UTC'')');
call test_form('not done and local_at at time zone ''UTC'' <= call_time');
call test_form('at <= call_time and not done and divisor < 5');
call test_form('not done and (divisor = 0 or 1 / divisor > 5) and at <= call_time');
call test_form('not done and (divisor <> 0 and 1 / divisor > 5 or at <= call_time)');
call test_form('(divisor <> 0 and (1 / divisor > 5 and at <= call_time)) or (not done and at <= call_time)');
-- These do not.
call test_form('not done and at < call_time - interval ''1 day''', '-1 day', false);
call test_form('not done and at < call_time - lease', '-1 hour', false);
call test_form('not done and at <= now()', tells => false);
call test_form('not done and at <= current_timestamp', tells => false);
call test_form('not done and at <= clock_timestamp()', tells => false);
call test_form('not done and not (at > call_time)', tells => false);
call test_form('not done and local_at <= call_time at time zone ''Asia/Tokyo''', '9 hours', false);
call test_form('not done and extract(epoch from at) <= extract(epoch from call_time)', tells => false);
call test_form('not done and at <= call_time and exists (select from pg_class)', tells => false);
call test_form('not done and at <= call_time and not day > current_date', tells => false);

-- What the clock's comparison guards is not asked earlier, nor is what stands in a nested guard, nor a value of another comparison.
create table guarded (
	id integer primary key,
	at timestamptz not null,
	payload jsonb not null default '{}',
	divisor integer not null default 0,
	done boolean not null default false
);
-- Rows to come are asked for and told of where nothing was written in the transaction.
create procedure test_guard(pending text, inout claimed bigint default 0) language plpgsql as $$
begin
	truncate guarded;
	perform queue_attach('guarded', 'guarded', pending, order_by => 'id', on_claim => 'done = true', wake => true);
	insert into guarded (id, at, payload) values (1, 'infinity', '{"weight": "x"}');
	commit;
	claimed := (select count(*) from queue_pop_rows(null::guarded, 'guarded'));
	commit;
	insert into guarded (id, at, payload, divisor) values (2, '-infinity', '{"weight": "1"}', 1);
	commit;
	claimed := claimed + (select count(*) from queue_pop_rows(null::guarded, 'guarded', 5));
	commit;
	insert into guarded (id, at, payload) values (3, 'infinity', '{"weight": "x"}');
	commit;
	claimed := claimed + (select count(*) from queue_pop_rows(null::guarded, 'guarded'));
	commit;
	perform queue_detach('guarded');
end $$;
call test_guard('not done and at <= call_time and (payload ->> ''weight'')::integer > 0');
call test_guard('not done and (divisor <> 0 and at <= call_time) and 100 / divisor > 5');
call test_guard('not done and at <= call_time and (at <= call_time or 1 / divisor > 0)');
call test_guard('not done and at <= call_time and ''2000-01-01''::timestamptz + make_interval(secs => 1 / divisor) <= call_time');

-- A cast that nobody has written counts.
create type moment_of as (at timestamptz);
create function time_of(moment_of) returns timestamptz immutable leakproof language sql return $1.at;
create cast (moment_of as timestamptz) with function time_of(moment_of) as implicit;
create table cast_t (id integer primary key, w moment_of, day date, done boolean not null default false);
create index on cast_t (id) where not done;
insert into cast_t values (1, row('2000-01-01')::moment_of, '2000-01-01'), (2, row('infinity')::moment_of, 'infinity');
select queue_attach('cast_t', 'cast_t', pending => 'not done and w <= call_time', order_by => 'id', on_claim => 'done = true', wake => true);
select id from queue_pop_rows(null::cast_t, 'cast_t', 5);
select id from queue_pop_rows(null::cast_t, 'cast_t', 5);
select queue_detach('cast_t');
update cast_t set done = false;
select queue_attach('cast_t', 'cast_t', pending => 'not done and timestamp_le(day, call_time at time zone ''UTC'')', order_by => 'id', on_claim => 'done = true', wake => true);
select id from queue_pop_rows(null::cast_t, 'cast_t', 5);
select id from queue_pop_rows(null::cast_t, 'cast_t', 5);

drop schema test_due cascade;
