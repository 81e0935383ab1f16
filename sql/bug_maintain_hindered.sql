-- What hinders all batches of queue_maintain is not tried with each: after a hundred in a row it stops, and the next call of the session goes on there.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_hindered;
set search_path = test_hindered, public;
select queue_create('letters');
select queue_create('jobs', max_attempts => 1, dead_queue => 'letters');
alter table jobs set (autovacuum_enabled = off);
alter table letters set (autovacuum_enabled = off);
create sequence tries;
create function try() returns trigger language plpgsql as $$ begin perform nextval('test_hindered.tries'); return null; end $$;
create function tried() returns bigint language sql as $$ select nextval('test_hindered.tries') - 1 $$;
create procedure die(job text, number int, died timestamptz) language sql as $$
	insert into jobs (payload, dead_at, attempt) select to_jsonb(job), died + n * interval '1 s', 1 from generate_series(1, number) n;
$$;
-- A column that no job has. The last try is that which is raised.
alter table letters add sender text not null;
create trigger try before insert on letters for each statement execute function try();
call die('go', 60000, '2020-01-01');
call queue_maintain('jobs');
\echo :LAST_ERROR_SQLSTATE
select tried();
select setval('tries', 1, false);
call queue_maintain();
select tried();
-- When it is gone, also what the call before has passed by is moved.
alter table letters drop sender;
call queue_maintain('jobs');
select (select count(*) from jobs) as jobs, (select count(*) from letters) as letters;
-- Jobs that are hindered one by one: the next call comes to those behind, and the one after that begins at the head.
truncate jobs, letters restart identity;
create function refuse() returns trigger language plpgsql as $$
begin
	if new.payload = '"bad"' then raise exception 'bad'; end if;
	return new;
end $$;
create trigger refuse before insert on letters for each row execute function refuse();
call die('bad', 55000, '2020-01-01');
call die('go', 100, '2020-02-02');
call queue_maintain('jobs');
select count(*) from letters;
call queue_maintain('jobs');
select count(*) from letters;
update jobs set payload = '"go"';
call queue_maintain('jobs');
select (select count(*) from jobs) as jobs, (select count(*) from letters) as letters;
-- In between some were moved: a hundred in a row were not.
truncate jobs, letters restart identity;
call die('bad', 30000, '2020-01-01');
call die('go', 1000, '2020-02-02');
call die('bad', 30000, '2020-02-03');
call die('go', 100, '2020-03-04');
call queue_maintain('jobs');
select count(*) from letters;
drop schema test_hindered cascade;
