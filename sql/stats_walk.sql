-- queue_stats after each step of a random walk: what it says to be exact is so, a job that it names is ready, and
-- what is counted is the number of rows.
set client_min_messages = warning;
create schema test_stats_walk;
set search_path = test_stats_walk, public;
set queue_ext.claim_path = auto;
select queue_create('walk', lease => '1 hour', kinds => true, backoff_base => '20 milliseconds', backoff_cap => '20 milliseconds');

-- What is untrue. Times come meanwhile: so the truth is taken before it, and after.
create function lie() returns text language plpgsql as $$
declare
	before timestamptz := clock_timestamp();
	said record;
	after timestamptz;
	truth record;
begin
	select * into said from queue_stats where source = 'walk'::regclass;
	after := clock_timestamp();
	select count(*) filter (where ready_since <= before) as ready_before, count(*) filter (where ready_since <= after) as ready_after,
		bool_or(ready_since <= after and run_at = said.oldest_ready_at) as is_ready,
		min(ready_since) filter (where ready_since <= before) as oldest,
		count(*) filter (where leased_until is null and dead_at is null and run_at > before) as scheduled_before,
		count(*) filter (where leased_until is null and dead_at is null and run_at > after) as scheduled_after,
		count(*) filter (where leased_until is not null) as leased, count(*) filter (where leased_until is not null and dead_at <= after) as died
	into truth from (select *, case when dead_at is null then greatest(run_at, leased_until) end as ready_since from walk) as job;
	return case
		when said.oldest_ready_at is not null and truth.is_ready is not true then format('%s is not ready', said.oldest_ready_at)
		-- A job whose lease has ended may count from its run_at on.
		when said.oldest_exact and truth.oldest < said.oldest_ready_at then format('the oldest is %s, not %s', truth.oldest, said.oldest_ready_at)
		when said.oldest_exact and said.oldest_ready_at is null and truth.ready_before > 0 then format('%s are ready, and not none', truth.ready_before)
		when said.ready_exact and said.ready not between least(truth.ready_before, truth.ready_after) and greatest(truth.ready_before, truth.ready_after)
			then format('%s are ready, not %s', truth.ready_after, said.ready)
		when said.scheduled not between truth.scheduled_after and truth.scheduled_before then format('%s are scheduled, not %s', truth.scheduled_after, said.scheduled)
		-- Nobody acts when a job dies with its lease.
		when said.leased not between truth.leased - truth.died and truth.leased then format('%s are leased, not %s', truth.leased, said.leased)
	end;
end $$;
create function any_of(condition text, jobs integer) returns table (id bigint, attempt integer) language plpgsql as $$
begin
	return query execute format('select id, attempt from walk where %s order by random() limit %s', condition, jobs);
end $$;
create procedure walk(seed float8, steps integer) language plpgsql as $$
declare
	last text[] := '{}';
	step text;
	untrue text;
	said record;
	exact integer := 0;
	named integer := 0;
begin
	perform setseed(seed);
	for i in 1 .. steps loop
		step := (array['send', 'send', 'send', 'send', 'many', 'pop', 'pop', 'pop', 'pop many', 'drain', 'complete', 'complete', 'complete',
			'fail', 'release', 'expire', 'pop kind', 'portable', 'cancel', 'purge', 'untracked', 'requeue', 'roll back', 'in one', 'wait'])[1 + floor(random() * 25)];
		case step
			when 'send' then
				perform queue_send('walk', to_jsonb(i), priority => floor(random() * 4)::integer, kind => chr(97 + floor(random() * 3)::integer),
					run_at => clock_timestamp() + case when random() < 0.3 then make_interval(secs => random() * 0.05) else '0' end,
					max_attempts => 1 + floor(random() * 3)::integer);
			when 'many' then
				perform queue_send_many('walk', array_fill('0'::jsonb, array[floor(random() * 300)::integer]), priority => floor(random() * 4)::integer);
			when 'pop' then perform queue_pop('walk', 1 + floor(random() * 4)::integer);
			when 'pop many' then perform queue_pop('walk', 1 + floor(random() * 200)::integer);
			when 'drain' then perform queue_pop('walk', 10000);
			when 'pop kind' then perform queue_pop('walk', 1 + floor(random() * 4)::integer, kinds => array[chr(97 + floor(random() * 3)::integer)]);
			when 'portable' then
				perform set_config('queue_ext.claim_path', 'portable', true);
				perform queue_pop('walk', 1 + floor(random() * 4)::integer);
			when 'complete' then perform queue_complete('walk', id, attempt) from any_of('leased_until is not null', 6);
			when 'fail' then perform queue_fail('walk', id, attempt) from any_of('leased_until is not null', 2);
			when 'release' then perform queue_release('walk', id, attempt) from any_of('leased_until is not null', 2);
			when 'expire' then
				perform queue_extend('walk', id, attempt, '1 microsecond') from any_of('leased_until is not null', 2);
			when 'cancel' then perform queue_cancel('walk', id) from any_of('true', 2);
			when 'purge' then
				if random() < 0.2 then
					perform queue_purge('walk', (array['ready', 'scheduled', 'leased', 'dead', null])[1 + floor(random() * 5)]);
				end if;
			when 'untracked' then
				if random() < 0.2 then
					perform set_config('queue_ext.track_stats', 'off', true);
					perform queue_pop('walk', 2), queue_send('walk', '0');
				end if;
			when 'requeue' then perform queue_requeue('walk', id) from any_of('dead_at <= now()', 2);
			when 'roll back' then
				perform queue_pop('walk', 3), queue_send('walk', '0');
				rollback;
			when 'in one' then
				perform queue_send('walk', '0', priority => -1);
				perform queue_pop('walk', 2);
			when 'wait' then perform pg_sleep(0.003);
		end case;
		-- A look that only the statistics need comes a second after the last one; after a change of the table, at once.
		if i % 10 = 0 then
			alter table walk alter payload set statistics 100;
		end if;
		commit;
		last := (last || step)[greatest(1, cardinality(last) - 12):];
		untrue := lie();
		if untrue is not null then
			raise warning 'seed %, step %, after %: %', seed, i, last, untrue;
			return;
		end if;
		select oldest_exact, oldest_ready_at is not null as is_named into said from queue_stats where source = 'walk'::regclass;
		exact := exact + said.oldest_exact::integer;
		named := named + said.is_named::integer;
	end loop;
	-- It does not say nothing.
	if exact < steps / 20 or named < steps / 5 then
		raise warning 'of % steps it was exact after %, and named a job after %', steps, exact, named;
	end if;
end $$;
-- QUEUE_EXT_WALK_STEPS is the length of each walk.
\set steps 100
\getenv steps QUEUE_EXT_WALK_STEPS
call walk(0.1, :steps);
call walk(0.2, :steps);
call walk(0.3, :steps);
drop schema test_stats_walk cascade;
