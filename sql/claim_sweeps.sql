-- However a row becomes claimable behind the claims' backs, it is handed out: at
-- once, or, where nobody says so, by the next look at the queue's head.
set client_min_messages = error;
create schema test_sweeps;
set search_path = test_sweeps, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');

-- The ids of the next n jobs, in order.
create function next(n integer default 1) returns bigint[] language sql volatile
return (select array_agg(id) from queue_pop('jobs', n));
-- The next job, once it is that one: of other jobs that come first, none is kept.
create function next_look(wanted bigint) returns bigint language plpgsql as $$
declare
	job queue_job;
begin
	for i in 1 .. 600 loop
		select * into job from queue_pop('jobs');
		exit when job.id = wanted;
		perform queue_release('jobs', job.id, job.attempt), pg_sleep(0.2);
	end loop;
	return job.id;
end $$;
-- Jobs that rank after all others, so that there is always a next candidate.
select count(*) from queue_send_many('jobs', array_fill('"last"'::jsonb, array[40]), 100);
select next();

-- queue_send, with a better place than what has been read.
select queue_send('jobs', '"better"', -1) as sent;
select next();
-- Release, failure, a new life for the dead.
select queue_release('jobs', 41, 1);
select next();
select queue_fail('jobs', 41, 2, 'x', '0');
select next();
update jobs set max_attempts = 3 where id = 41;
select queue_fail('jobs', 41, 3, 'x', '0');
select state from (select case when dead_at <= clock_timestamp() then 'dead' end as state from jobs where id = 41) as j;
select queue_requeue('jobs', 41);
select next();
select queue_release_many('jobs', '{41}', '{4}');
select next();
select queue_fail_many('jobs', '{41}', '{5}', retry_in => '0');
select next();

-- A rollback, and a rollback to a savepoint.
select queue_release('jobs', 41, 6);
begin;
select next();
rollback;
select next();
select queue_release('jobs', 41, 7);
begin;
savepoint s;
select next();
rollback to s;
select next();
commit;
-- A call that fails.
select queue_release('jobs', 41, 8);
do $$ begin
	perform queue_pop('jobs'), 1 / 0;
exception when division_by_zero then
	null;
end $$;
select next();
-- What a transaction has sent itself.
begin;
select queue_send('jobs', '"own"', -2) as sent;
select next();
rollback;
select queue_complete('jobs', 41, 9);

-- A lease runs out; a job's time comes.
select queue_send('jobs', '"brief"', -1) as sent;
select id from queue_pop('jobs', lease => '1 microsecond');
select next();
select queue_complete('jobs', 43, 2);
select queue_send('jobs', '"later"', -1, clock_timestamp() + interval '20 ms') as sent;
select pg_sleep(0.3);
select next();
select queue_complete('jobs', 44, 1);

-- Plain DML: the next look at the head is a tenth of a second away, or twenty times what the last one took.
insert into jobs (payload, priority) values ('"inserted"', -1) returning id;
select pg_sleep(1.2);
select next_look(45);
update jobs set leased_until = null where id = 45;
select pg_sleep(1.2);
select next_look(45);
select queue_complete('jobs', 45, 2);
copy jobs (payload, priority) from stdin;
"copied"	-1
\.
select pg_sleep(1.2);
select next_look(46);
select queue_complete('jobs', 46, 1);
-- A job that is the only one is found at once all the same.
select count(*) from queue_pop('jobs', 100);
select next();
insert into jobs (payload) values ('"alone"') returning id;
select next();
select queue_complete('jobs', 47, 1);
insert into jobs (payload) select '1' from generate_series(1, 3) returning id;
select next();

-- All candidates move, or go.
vacuum full jobs;
select next();
cluster jobs using jobs_pkey;
select next();
select next();
truncate jobs;
select next();
insert into jobs (payload) select '1' from generate_series(1, 4) returning id;
select next();
reindex table jobs;
select next();
alter table jobs alter payload set statistics 10;
select next();
alter table jobs add note text default 'new';
select next();
select next();
-- Rows at the places of those that have gone.
delete from jobs;
vacuum jobs;
insert into jobs (payload) select '2' from generate_series(1, 3) returning id;
select next(), next();
select next(2);

-- Another queue of the name; another extension of the name.
select queue_drop('jobs');
select queue_create('jobs');
select queue_send_many('jobs', '{1,2}');
select next();
select queue_drop('jobs');
create table rows_t (id integer primary key, state integer not null default 0);
create index on rows_t (id) where state = 0;
select queue_attach('rows', 'rows_t', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', on_fail => 'state = 0');
insert into rows_t select generate_series(1, 5);
select id from queue_pop_rows(null::rows_t);
select queue_release_row('rows', '(1,1)'::rows_t);
select id from queue_pop_rows(null::rows_t);
select queue_fail_row('rows', '(1,1)'::rows_t);
select id from queue_pop_rows(null::rows_t);
-- Only what is pending now is handed out, by whatever is pending now.
update rows_t set state = 1 where id = 2;
delete from rows_t where id = 3;
select id from queue_pop_rows(null::rows_t);
select queue_detach('rows');
select queue_attach('rows', 'rows_t', 'state = 1', 'id desc', 'state = 2');
select id from queue_pop_rows(null::rows_t, max_jobs => 2);
drop table rows_t;
create table rows_t (id integer primary key, state integer not null default 1);
insert into rows_t select generate_series(1, 3);
select queue_attach('rows', 'rows_t', 'state = 1', 'id desc', 'state = 2');
select id from queue_pop_rows(null::rows_t);
drop extension queue_ext cascade;
create extension queue_ext schema public;
select queue_attach('rows', 'rows_t', 'state = 1', 'id desc', 'state = 2');
select id from queue_pop_rows(null::rows_t, max_jobs => 5);
select id from queue_pop_rows(null::rows_t);

drop schema test_sweeps cascade;
