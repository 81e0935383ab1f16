-- Triggers of one queue fail: queue_maintain() tells, and maintains the others; and queue_maintain(queue)
-- raises the error.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_hostile;
create role regress_maintained;
create schema test_maintain authorization regress_hostile;
grant create, usage on schema test_maintain to regress_maintained;
set search_path = test_maintain, public;
set role regress_hostile;
select queue_create('a', dead_keep => '1 hour');
select queue_create('b', archive => true, archive_keep => '1 hour');
create function fail() returns trigger language plpgsql as $$
begin
	raise exception 'no % by %', tg_op, current_user using errcode = '22012';
end $$;
create trigger fail before delete on a for each row execute function fail();
insert into a (payload, dead_at) values ('1', now() - interval '1 day');
insert into b_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
values (1, now(), now(), now() - interval '1 day', 1, 1, 3, 0, 'completed', '1'),
       (2, now(), now(), now(), 1, 1, 3, 0, 'completed', '1'),
       (3, now(), now(), now() - interval '1 day', 1, 1, 4, 0, 'completed', '1');
create trigger fail before delete on b_archive for each row execute function fail();
set role regress_maintained;
select queue_create('c', dead_keep => '1 hour');
insert into c (payload, dead_at) select n::text::jsonb, now() - interval '1 day' from generate_series(1, 2500) n;
reset role;
\set VERBOSITY sqlstate
call queue_maintain();
select count(*) from a;
select id from b_archive order by 1;
select count(*) from c;
call queue_maintain('a');
-- A trigger that is deferred to the end of the transaction would not run as the owner: it fires with the statement.
create constraint trigger late after delete on c deferrable initially deferred for each row execute function fail();
insert into c (payload, dead_at) values ('1', now() - interval '1 day');
call queue_maintain('c');
select count(*) from c;
create or replace function fail() returns trigger language plpgsql as $$ begin return null; end $$;
call queue_maintain('c');
select count(*) from c;
-- So it does for the archive.
create constraint trigger late after delete on b_archive deferrable initially deferred for each row execute function fail();
create or replace function fail() returns trigger language plpgsql as $$ begin return old; end $$;
call queue_maintain('b');
select id from b_archive order by 1;
-- What a trigger raises is no cancel, whatever its SQLSTATE, and no deadlock: the other queues are maintained, and the other steps done.
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = tg_argv[0]; end $$;
drop trigger fail on a;
create trigger refuse before delete on a for each row when (old.dead_at is not null) execute function refuse('57014');
create trigger refuse before delete on c for each row execute function refuse('57014');
insert into a (payload, dead_at) values ('1', now() - interval '1 day');
insert into c (payload, dead_at) values ('1', now() - interval '1 day');
call queue_maintain();
drop trigger refuse on a;
create trigger refuse before delete on a for each row when (old.dead_at is not null) execute function refuse('40P01');
select queue_alter('a', on_expire => 'delete');
insert into a (payload, expires_at) values ('1', '2020-01-01');
call queue_maintain('a');
select count(*) from a where dead_at is null;
drop schema test_maintain cascade;
drop role regress_hostile, regress_maintained;
