-- ready, scheduled and leased of queue_stats were wrong after our own functions: cancellations, schedules, last
-- attempts, and delayed jobs that had become ready. There are more jobs than a list has room for, so that the
-- numbers are those that are counted.
set client_min_messages = warning;
create schema test_stats_numbers;
set search_path = test_stats_numbers, public;
set queue_ext.claim_path = auto;
create function wait_until(moment timestamptz) returns void language plpgsql as $$
begin
	while clock_timestamp() < moment loop
		perform pg_sleep(0.001);
	end loop;
end $$;
-- What is counted, and the truth where it differs.
create function numbers(name text, out ready bigint, out scheduled bigint, out leased bigint, out truth text) language plpgsql as $$
begin
	select s.ready, s.scheduled, s.leased into ready, scheduled, leased from queue_stats s where queue = 'test_stats_numbers.' || name;
	select format('ready %s, scheduled %s, leased %s', c.ready, c.scheduled, c.leased) into truth from queue_counts(name) c
	where (c.ready, c.scheduled, c.leased) is distinct from (coalesce(numbers.ready, c.ready), coalesce(numbers.scheduled, c.scheduled), coalesce(numbers.leased, c.leased));
end $$;
create function fill(queue text, jobs integer default 700) returns bigint language sql as $$
	select count(*) from queue_send_many(queue, array_fill('1'::jsonb, array[jobs]))
$$;

-- The next pop looks at the table: no list is trusted that was made before a change of it.
create procedure doubt(queue text) language plpgsql as $$
begin
	commit;
	execute format('alter table %I alter payload set statistics 100', queue);
	commit;
end $$;

-- Cancelled: leased, scheduled, ready and dead ones, one by one and many, and from an archived queue.
create procedure cancel_all(queue text, archive boolean) language plpgsql as $$
declare
begin
	perform queue_create(queue, lease => '1 hour', archive => archive);
	perform fill(queue);
	perform queue_send_many(queue, array_fill('2'::jsonb, array[50]), run_at => 'infinity');
	perform queue_send_many(queue, array_fill('3'::jsonb, array[50]), max_attempts => 1, priority => -1);
	commit;
	raise notice 'sent: %', (select n from numbers(queue) n);
	perform queue_fail(queue, id, attempt) from queue_pop(queue, 40);
	commit;
	raise notice 'dead: %', (select n from numbers(queue) n);
	perform queue_pop(queue, 10);
	commit;
	raise notice 'leased, for the last time: %', (select n from numbers(queue) n);
	perform queue_pop(queue, 100);
	commit;
	raise notice 'leased: %', (select n from numbers(queue) n);
	execute format('select queue_cancel(%1$L, id) from %1$I where leased_until > now() and dead_at is null order by id limit 1', queue);
	commit;
	raise notice 'one of these cancelled: %', (select n from numbers(queue) n);
	execute format('select queue_cancel_many(%1$L, array_agg(id)) from (select id from %1$I where leased_until > now() order by id limit 60) as job', queue);
	commit;
	raise notice 'and 60 more: %', (select n from numbers(queue) n);
	execute format('select queue_cancel_many(%1$L, array_agg(id)) from (select id from %1$I where run_at > now() order by id limit 20) as job', queue);
	commit;
	raise notice 'and scheduled ones: %', (select n from numbers(queue) n);
	execute format('select queue_cancel_many(%1$L, array_agg(id)) from (select id from %1$I where dead_at <= now() order by id limit 30) as job', queue);
	commit;
	raise notice 'and dead ones: %', (select n from numbers(queue) n);
	execute format('select queue_cancel_many(%1$L, array_agg(id)) from (select id from %1$I where run_at <= now() and leased_until is null and dead_at is null order by id desc limit 30) as job', queue);
	commit;
	raise notice 'and ready ones: %', (select n from numbers(queue) n);
	execute format('select queue_requeue_many(%1$L, array_agg(id)) from %1$I where dead_at <= now()', queue);
	commit;
	raise notice 'the rest of the dead requeued: %', (select n from numbers(queue) n);
end $$;
set client_min_messages = notice;
call cancel_all('plain', false);
call cancel_all('kept', true);
set client_min_messages = warning;
-- A worker that may not read all columns: then it is not known.
create role regress_stats_numbers;
grant usage on schema test_stats_numbers to regress_stats_numbers;
grant select (id, attempt), delete on plain to regress_stats_numbers;
set role regress_stats_numbers;
select queue_cancel('plain', 650);
reset role;
select * from numbers('plain');
drop owned by regress_stats_numbers;
drop role regress_stats_numbers;

-- Schedules.
select queue_create('recurring', lease => '1 hour');
select fill('recurring');
select count(queue_schedule('recurring', 'first', '1 hour', payload => '1', starts_at => now() + '1 hour'));
select count(queue_schedule('recurring', 'second', '1 hour', payload => '1', starts_at => now() + '2 hours'));
select * from numbers('recurring');
select count(queue_schedule('recurring', 'first', '1 hour', payload => '1', starts_at => now() + '3 hours'));
select * from numbers('recurring');
select queue_unschedule('recurring', 'second');
select * from numbers('recurring');
select queue_unschedule('recurring', 'first');
select * from numbers('recurring');
select count(queue_schedule('recurring', 'now', '1 hour', payload => '1', priority => -1));
select queue_unschedule('recurring', 'now');
select * from numbers('recurring');
select count(queue_schedule('recurring', 'now', '1 hour', payload => '1', priority => -1));
select count(*) from queue_pop('recurring');
select * from numbers('recurring');

-- Last attempts, after a look that has found nothing.
select queue_create('last', lease => '1 hour');
select queue_send('last', '1', max_attempts => 1), queue_send('last', '2');
select count(*) from queue_pop('last', 2);
select * from numbers('last');
select count(*) from queue_pop('last');
select * from numbers('last');
select queue_complete('last', 1, 1);
select * from numbers('last');
select queue_complete('last', 2, 1);
select * from numbers('last');
select queue_create('once', lease => '1 hour', max_attempts => 1);
select fill('once', 3);
select count(*) from queue_pop('once', 3);
select count(*) from queue_pop('once');
select * from numbers('once');
select queue_fail('once', 1, 1), queue_release('once', 2, 1);
select * from numbers('once');
-- One that has died with its lease is noticed by the next look; requeued, by that, too.
select queue_extend('once', 3, 1, '1 microsecond');
select wait_until(dead_at + '1 microsecond') from once where id = 3;
select queue_requeue('once', 3);
select * from numbers('once');
select count(*) from queue_pop('once', 10);
call doubt('once');
select count(*) from queue_pop('once');
select * from numbers('once');

-- Delayed jobs, of which one has become ready and was claimed.
select queue_create('delayed', lease => '1 hour');
select queue_send('delayed', '1', run_at => clock_timestamp() + '500 milliseconds');
select wait_until(run_at) from delayed;
select count(*) from queue_pop('delayed');
select * from numbers('delayed');
select queue_send('delayed', '2', run_at => clock_timestamp() + '500 milliseconds'), queue_send('delayed', '3', run_at => 'infinity');
select wait_until(run_at) from delayed where payload = '2';
select count(*) from queue_pop('delayed');
select * from numbers('delayed');
call doubt('delayed');
select count(*) from queue_pop('delayed');
select * from numbers('delayed');
-- The first one is cancelled.
select queue_send('delayed', '4', run_at => clock_timestamp() + '1 hour');
select queue_cancel('delayed', id) from delayed where payload = '4';
select * from numbers('delayed');

-- One that has died with its lease, and is finished after a look that did not count it as leased any more: then the
-- numbers are not known, and not too small.
create procedure finish_dead(action text, path text, archive boolean default false) language plpgsql as $$
declare
	job record;
begin
	perform set_config('queue_ext.claim_path', path, true);
	perform queue_create('died', lease => '1 hour', max_attempts => 1, archive => archive);
	perform queue_send('died', '1');
	commit;
	perform set_config('queue_ext.claim_path', path, true);
	perform queue_extend('died', id, attempt, '1 microsecond') from queue_pop('died');
	commit;
	select * into job from died;
	perform wait_until(job.dead_at + '1 microsecond');
	call doubt('died');
	perform queue_pop('died');
	commit;
	perform set_config('queue_ext.claim_path', path, true);
	execute action using job.id, job.attempt;
	commit;
	perform queue_send_many('died', array['1', '2', '3']::jsonb[]);
	commit;
	perform queue_pop('died', 2);
	commit;
	raise notice '%, %: %', action, path, (select n from numbers('died') n);
	perform queue_pop('died', 10);
	call doubt('died');
	perform queue_pop('died');
	commit;
	raise notice 'after a look: %', (select n from numbers('died') n);
	perform queue_drop('died');
end $$;
set client_min_messages = notice;
call finish_dead('select queue_complete(''died'', $1, $2)', 'auto');
call finish_dead('select queue_complete(''died'', $1, $2)', 'portable');
call finish_dead('select queue_complete_many(''died'', array[$1], array[$2])', 'auto');
call finish_dead('select queue_complete_many(''died'', array[$1], array[$2])', 'portable');
call finish_dead('select queue_complete(''died'', $1, $2)', 'auto', true);
call finish_dead('select queue_complete_many(''died'', array[$1], array[$2])', 'auto', true);
call finish_dead('select queue_complete_row(''died'', job) from died job', 'auto');
call finish_dead('select queue_complete_row(''died'', job) from died job', 'portable');
call finish_dead('select queue_complete_receipt(''died'', queue_receipt(''died'', job)) from died job', 'auto');
call finish_dead('select queue_complete_receipt(''died'', queue_receipt(''died'', job)) from died job', 'portable');
call finish_dead('select queue_complete_pop(''died'', $1, $2)', 'auto');
call finish_dead('select queue_fail(''died'', $1, $2)', 'auto');
call finish_dead('select queue_fail_many(''died'', array[$1], array[$2])', 'auto');
call finish_dead('select queue_fail_row(''died'', job) from died job', 'auto');
call finish_dead('select queue_release(''died'', $1, $2)', 'auto');
call finish_dead('select queue_release_row(''died'', job) from died job', 'auto');
call finish_dead('select queue_extend(''died'', $1, $2)', 'auto');
call finish_dead('select queue_extend_row(''died'', job) from died job', 'auto');
call finish_dead('select queue_cancel(''died'', $1)', 'auto');
call finish_dead('select queue_cancel(''died'', $1)', 'auto', true);
-- Removed by the maintenance, for good or into the archive.
create procedure maintain_dead(archive boolean) language plpgsql as $$
begin
	perform queue_create('died', lease => '1 hour', max_attempts => 1, archive => archive, dead_keep => '1 microsecond');
	perform queue_send_many('died', array['1', '2']::jsonb[]);
	commit;
	perform queue_pop('died', 2);
	commit;
	perform queue_pop('died');
	commit;
	raise notice 'leased: %', (select n from numbers('died') n);
	perform queue_extend('died', id, attempt, '1 microsecond') from died where id = 1;
	commit;
	perform wait_until(dead_at + '2 microseconds') from died where id = 1;
	call queue_maintain('died');
	raise notice 'removed: %', (select n from numbers('died') n);
	perform queue_pop('died');
	commit;
	raise notice 'after a look: %', (select n from numbers('died') n);
	perform queue_drop('died');
end $$;
call maintain_dead(false);
call maintain_dead(true);
-- The same where a savepoint has finished the job, and the transaction another one before that.
create procedure cancel_dead() language plpgsql as $$
begin
	perform queue_create('died', lease => '1 hour', max_attempts => 1);
	perform queue_send_many('died', array['1', '2']::jsonb[]);
	commit;
	perform queue_pop('died', 2);
	commit;
	perform queue_pop('died');
	commit;
	raise notice 'leased: %', (select n from numbers('died') n);
	perform queue_extend('died', id, attempt, '1 microsecond') from died where id = 1;
	commit;
	perform wait_until(dead_at + '2 microseconds') from died where id = 1;
	perform queue_cancel('died', 2);
	begin
		perform queue_cancel('died', 1);
	exception when division_by_zero then
		null;
	end;
	commit;
	raise notice 'cancelled: %', (select n from numbers('died') n);
	perform queue_pop('died');
	commit;
	raise notice 'after a look: %', (select n from numbers('died') n);
	perform queue_drop('died');
end $$;
call cancel_dead();
set client_min_messages = warning;
-- Their columns may have other names by now.
select queue_create('renamed', dead_keep => '1 hour');
insert into renamed (payload, dead_at) values ('1', '2000-01-01');
alter table renamed rename leased_until to lease_end;
call queue_maintain('renamed');
select count(*) from renamed;
-- Plain SQL removes jobs, of which nothing tells: the next sweep counts the rest.
select queue_create('removed');
select count(queue_send('removed', '1', run_at => now() + interval '1 day')) from generate_series(1, 5);
select count(*) from queue_pop('removed');
delete from removed where id <= 4;
call doubt('removed');
select count(*) from queue_pop('removed');
select * from numbers('removed');
truncate removed;
call doubt('removed');
select count(*) from queue_pop('removed');
select * from numbers('removed');
-- A job dies with its lease, beside more jobs than a sweep reads to know what is to come.
select queue_create('dying', lease => '1 hour');
select count(*) from queue_send_many('dying', array_fill('1'::jsonb, array[700]), run_at => now() + interval '1 day');
select count(*) from queue_pop('dying');
select queue_send('dying', '2', max_attempts => 1) > 0 as sent;
select payload from queue_pop('dying');
select queue_extend('dying', id, attempt, '1 ms') from dying where dead_at is not null;
select wait_until(dead_at + interval '1 ms') from dying where dead_at is not null;
call doubt('dying');
select count(*) from queue_pop('dying');
select * from numbers('dying');
drop schema test_stats_numbers cascade;
