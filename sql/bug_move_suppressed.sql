-- A trigger keeps dead jobs from leaving their table: queue_maintain and the looks say so, and move or remove the others.
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_suppressed;
set search_path = test_suppressed, public;
create function keep() returns trigger language plpgsql as $$
begin
	if old.payload = '"keep"' then return null; end if;
	return old;
end $$;
create function left_and_moved() returns table (kept bigint, gone bigint, letters bigint, archived bigint) language plpgsql as $$
begin
	return query select (select count(*) from jobs where payload = '"keep"'), (select count(*) from jobs where payload = '"go"'),
		(select count(*) from letters), (select count(*) from jobs_archive);
end $$;
select queue_create('letters');
select queue_create('jobs', max_attempts => 1, archive => true, dead_queue => 'letters');
create procedure die(job text, number int, died timestamptz) language sql as $$
	insert into jobs (payload, dead_at, attempt) select to_jsonb(job), died, 1 from generate_series(1, number);
$$;
alter table jobs set (autovacuum_enabled = off);
alter table letters set (autovacuum_enabled = off);
create trigger keep before delete on jobs for each row execute function keep();
-- More than a batch of them stand in front.
call die('keep', 700, '2020-01-01');
call die('go', 100, '2020-01-02');
call queue_maintain('jobs');
\echo :LAST_ERROR_SQLSTATE
-- Of the two batches that have some, all stay.
call die('go', 600, '2020-01-03');
call queue_maintain('jobs');
select * from left_and_moved();
-- Of all queues.
call queue_maintain();
-- A failure leaves its job dead, and the reason in the log.
truncate jobs, letters, jobs_archive restart identity;
select queue_send('jobs', '"keep"'), queue_send('jobs', '"go"');
\c -
set client_min_messages = log;
set search_path = test_suppressed, public;
\set SHOW_CONTEXT never
select queue_fail('jobs', id, attempt, 'no') from queue_pop('jobs', 2);
set client_min_messages = warning;
select id, payload, dead_at is not null as dead, last_error from jobs;
select * from left_and_moved();
-- Looks go on behind a batch that stays, once they have come to it in its order.
truncate jobs, letters, jobs_archive restart identity;
call die('keep', 500, '2020-01-01');
call die('go', 100, '2020-01-01');
\c -
set client_min_messages = warning;
set search_path = test_suppressed, public;
\set SHOW_CONTEXT never
create function look() returns bigint language plpgsql as $$
begin
	perform from queue_pop('jobs');
	perform queue_alter('jobs', lease => '1 hour'); -- so that the next claim looks
	return (select count(*) from letters);
end $$;
set client_min_messages = log;
select look();
set client_min_messages = warning;
select look();
select look();
select look();
-- Behind there is nothing more, so the next one begins at the head.
drop trigger keep on jobs;
select look();
-- dead_keep, with an archive and without.
truncate jobs, letters, jobs_archive restart identity;
create trigger keep before delete on jobs for each row execute function keep();
select queue_alter('jobs', dead_queue => '', dead_keep => '1 day');
call die('keep', 500, '2020-01-01');
call die('go', 100, '2020-01-02');
call queue_maintain('jobs');
\echo :LAST_ERROR_SQLSTATE
select * from left_and_moved();
select queue_alter('jobs', archive => false);
call die('go', 100, '2020-01-02');
call queue_maintain('jobs');
select kept, gone from left_and_moved();
drop trigger keep on jobs;
call queue_maintain('jobs');
select kept, gone from left_and_moved();
-- A job that a trigger of the archive suppresses would be lost.
select queue_alter('jobs', archive => true);
create function lose() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger lose before insert on jobs_archive for each row execute function lose();
call die('go', 1, '2020-01-02');
call queue_maintain('jobs');
select kept, gone from left_and_moved();
-- So would one that has expired.
truncate jobs;
select queue_alter('jobs', on_expire => 'archive');
insert into jobs (payload, expires_at) values ('"go"', '2020-01-01');
call queue_maintain('jobs');
select kept, gone from left_and_moved();
-- One that stays in its own table is told from it.
create trigger keep before delete on jobs for each row execute function keep();
insert into jobs (payload, expires_at) values ('"keep"', '2020-01-01');
call queue_maintain('jobs');
drop trigger keep on jobs;
-- So it is with expired jobs that stand in front.
drop trigger lose on jobs_archive;
truncate jobs;
select queue_alter('jobs', archive => false, on_expire => 'delete');
create trigger keep before delete on jobs for each row execute function keep();
insert into jobs (payload, expires_at) select '"keep"', '2020-01-01' from generate_series(1, 500);
insert into jobs (payload, expires_at) select '"go"', '2020-01-01' from generate_series(1, 100);
call queue_maintain('jobs');
select kept, gone from left_and_moved();
-- Who cancels the call ends it, and is told so.
create or replace function keep() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return old; end $$;
set statement_timeout = '1 s';
call queue_maintain('jobs');
reset statement_timeout;
drop schema test_suppressed cascade;
