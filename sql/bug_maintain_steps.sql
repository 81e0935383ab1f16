-- What hinders one step of queue_maintain keeps no other one from running; it is raised, or told, when all have run.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_steps;
set search_path = test_steps, public;
create function keep() returns trigger language plpgsql as $$
begin
	if old.payload = '"keep"' then return null; end if;
	return old;
end $$;
create function fail() returns trigger language plpgsql as $$ begin raise exception 'no %', tg_op; end $$;
create function left_of(queue text, out dead bigint, out expired bigint, out archived text) language plpgsql as $$
begin
	execute format('select count(*) filter (where dead_at is not null), count(*) filter (where expires_at is not null),
		(select string_agg(state || '' '' || payload, '', '' order by id) from %2$I) from %1$I', queue, queue || '_archive')
		into dead, expired, archived;
end $$;
create procedure fill(queue text) language plpgsql as $$
begin
	execute format('truncate %1$I, %2$I restart identity', queue, queue || '_archive');
	execute format('insert into %I (payload, dead_at, expires_at) values (''"keep"'', ''2020-01-01'', null), (''"late"'', null, ''2020-01-01'')', queue);
	-- Of a slot that has come round again, so that rows are deleted.
	execute format('insert into %I (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
		values (100, now(), now(), ''2020-01-01'', 1, 1, 3, 0, ''completed'', ''"old"''), (101, now(), now(), now(), 1, 1, 3, 0, ''completed'', ''"new"'')',
		queue || '_archive');
end $$;
-- A dead job that a trigger keeps, for dead_keep.
select queue_create('jobs', archive => true, archive_keep => '1 day', dead_keep => '1 day');
select queue_alter('jobs', on_expire => 'archive');
create trigger keep before delete on jobs for each row execute function keep();
call fill('jobs');
call queue_maintain('jobs');
select * from left_of('jobs');
call fill('jobs');
call queue_maintain();
select * from left_of('jobs');
drop trigger keep on jobs;
-- An archived job, that is not deleted.
call fill('jobs');
create trigger fail before delete on jobs_archive for each row execute function fail();
call queue_maintain('jobs');
select * from left_of('jobs');
call fill('jobs');
call queue_maintain();
select * from left_of('jobs');
-- Both, and an expired job: the first is raised, or told.
create trigger keep before delete on jobs for each row execute function keep();
create trigger fail before delete on jobs for each row when (old.expires_at is not null) execute function fail();
call fill('jobs');
call queue_maintain('jobs');
\set VERBOSITY default
call queue_maintain();
select * from left_of('jobs');
drop schema test_steps cascade;
