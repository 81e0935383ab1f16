-- A day of a lease, of a retry and of a timeout is 24 hours, also where the session's clock is put forward or back in
-- between: in half a year it is so somewhere.
set client_min_messages = warning;
create schema test_interval_zone;
set search_path = test_interval_zone, public;
set timezone = 'Europe/Berlin';
create table t (id integer primary key, since timestamptz, until timestamptz);
create index on t (id) where since is null;
select queue_attach('t', 't', 'since is null', 'id', 'since = call_time, until = call_time + lease', on_extend => 'since = call_time, until = call_time + lease',
	on_fail => 'since = call_time, until = retry_at');
select queue_create('jobs');
create table lengths as select n * 30 as days from generate_series(1, 11) as n;
create view wrong as
select 'managed' as what, id, leased_until - claimed_at as length from jobs where leased_until is distinct from claimed_at + id * 30 * interval '24 hours'
union all
select 'attached', id, until - since from t where until is distinct from since + id * 30 * interval '24 hours';

create procedure try_all() language plpgsql as $$
declare
	path text;
	days integer;
	length interval;
	found record;
	began timestamptz;
begin
	foreach path in array array['direct', 'tid', 'portable'] loop
		perform set_config('queue_ext.claim_path', path, true);
		delete from t;
		delete from jobs;
		alter table jobs alter id restart;
		insert into t select l.days / 30 from lengths as l;
		perform queue_send_many('jobs', array_agg('1'::jsonb)) from lengths;
		for days in select l.days from lengths as l order by 1 loop
			length := make_interval(days => days);
			perform queue_pop('jobs', lease => length), queue_pop_rows(null::t, lease => length);
		end loop;
		for found in table wrong loop
			raise info '% %: %', path, found.what, found.length;
		end loop;
		-- By queues of their own lease, by heartbeats, and by a failure.
		for days in select l.days from lengths as l order by 1 loop
			length := make_interval(days => days);
			perform queue_alter('jobs', lease => length);
			perform queue_extend_row('t', t, lease => length) from t where id = days / 30;
			began := clock_timestamp();
			perform queue_extend('jobs', id, attempt, lease => length) from jobs where id = days / 30;
			select leased_until - began as length into found from jobs where id = days / 30;
			if found.length not between days * interval '24 hours' and days * interval '24 hours' + interval '1 minute' then
				raise info '% extend: %', path, found.length;
			end if;
			began := clock_timestamp();
			perform queue_fail('jobs', id, attempt, retry_in => length) from jobs where id = days / 30;
			select run_at - began as length into found from jobs where id = days / 30;
			if found.length not between days * interval '24 hours' and days * interval '24 hours' + interval '1 minute' then
				raise info '% fail: %', path, found.length;
			end if;
		end loop;
		for found in select * from wrong where what = 'attached' loop
			raise info '% % extended: %', path, found.what, found.length;
		end loop;
	end loop;
end $$;
\set VERBOSITY terse
call try_all();
-- Timeouts, by the direct way and by a statement.
create view wrong_timeouts as
select task_id, held_until - held_since as length from named_lock
where task_id like 'interval zone %' and held_until is distinct from held_since + substring(task_id from '\d+')::integer * interval '24 hours';
begin;
select count(*) from lengths where timeout_acquire('interval zone ' || days, make_interval(days => days));
table wrong_timeouts;
select count(*) from lengths where mutex_release('interval zone ' || days);
create function same() returns trigger language plpgsql as 'begin return new; end';
create trigger same before update on named_lock for each row execute function same();
select count(*) from lengths where timeout_acquire('interval zone ' || days, make_interval(days => days));
table wrong_timeouts;
rollback;
drop schema test_interval_zone cascade;
reset timezone;
