-- queue_wait_done in one session: what it returns, at once, and where it refuses to wait.
\set SHOW_CONTEXT never
create schema test_wait_done;
set search_path = test_wait_done, public;
select queue_create('jobs', archive => true, max_attempts => 1);
select queue_create('bare');
select from queue_send_many('jobs', '{1,2,3,4,5}');
select queue_send('bare', '1');

-- The time is over.
call queue_wait_done('jobs', 1, '0');
select queue_send('jobs', '6', run_at => now() + interval '1 hour');
call queue_wait_done('jobs', 6, '10 ms');
select id from queue_pop('jobs', 5, lease => '1 hour') order by id;
call queue_wait_done('jobs', 1, '10 ms');
-- Each end.
select queue_complete('jobs', 1, 1, '{"pages": 3}'), queue_complete('jobs', 2, 1), queue_fail('jobs', 3, 1, 'no'), queue_cancel('jobs', 4);
call queue_wait_done('jobs', 1);
call queue_wait_done(queue => 'jobs', id => 2, wait => '1 hour', state => 'what goes in is not looked at', result => '1');
call queue_wait_done('jobs', 3);
call queue_wait_done('jobs', 4);
-- It dies by the clock, without a commit that says so.
update jobs set leased_until = clock_timestamp() + interval '100 ms', dead_at = clock_timestamp() + interval '100 ms' where id = 5;
call queue_wait_done('jobs', 5);
-- A job that is not there: there never was one, or it has ended and is not kept.
call queue_wait_done('jobs', 99);
select queue_complete('bare', id, attempt) from queue_pop('bare');
call queue_wait_done('bare', 1);
-- In a DO block, which may commit.
do $$
declare
	state text;
	result jsonb;
begin
	call queue_wait_done('jobs', 1, '1 minute', state, result);
	raise notice '% %', state, result;
end $$;

-- It has to commit.
begin;
call queue_wait_done('jobs', 1);
rollback;
do $$ begin
	call queue_wait_done('jobs', 1);
exception when others then
	raise notice '% %', sqlstate, sqlerrm;
end $$;
-- Bad input.
call queue_wait_done(null, 1);
call queue_wait_done('jobs', null);
call queue_wait_done('jobs', 1, null);
call queue_wait_done('jobs', 1, '-1 second');
call queue_wait_done('jobs', 1, '200000000 years');
call queue_wait_done('none', 1);
create table t (id integer primary key, state integer not null default 0);
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1');
call queue_wait_done('t', 1);
create role regress_wait_done;
grant usage on schema test_wait_done to regress_wait_done;
set role regress_wait_done;
call queue_wait_done('jobs', 1);
reset role;
grant select on jobs, jobs_archive to regress_wait_done;
set role regress_wait_done;
call queue_wait_done('jobs', 1);
reset role;
drop owned by regress_wait_done;
drop role regress_wait_done;
set client_min_messages = warning;
drop schema test_wait_done cascade;
