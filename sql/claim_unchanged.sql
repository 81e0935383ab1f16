-- An attached queue without the trigger: while no transaction has written since a sweep found nothing,
-- nothing is pending, and a pop does not read the table.
set client_min_messages = error;
create schema test_claim_unchanged;
set search_path = test_claim_unchanged, public;
set queue_ext.claim_path = auto;
create table jobs (id integer primary key, state integer not null default 0);
create index on jobs (id) where state = 0;
insert into jobs select generate_series(1, 3);
select queue_attach('jobs', 'jobs', 'state = 0', 'id', 'state = 1');
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 10);
select count(*) from queue_pop_rows(null::jobs);
select queue_claim_stats_reset();
-- Some of these read the table, if other sessions of the server write.
do $$ begin
	for i in 1..500 loop
		perform queue_pop_rows(null::test_claim_unchanged.jobs);
	end loop;
end $$;
select empty_pops, sweeps < 250 as few_sweeps from queue_claim_stats where source = 'jobs'::regclass;
-- What is written is found, whoever has written it.
insert into jobs values (4);
select id from queue_pop_rows(null::jobs);
select count(*) from queue_pop_rows(null::jobs);
begin;
select count(*) from queue_pop_rows(null::jobs);
update jobs set state = 0 where id = 2;
select id from queue_pop_rows(null::jobs);
rollback;
select count(*) from queue_pop_rows(null::jobs);
begin;
insert into jobs values (5);
prepare transaction 'test_claim_unchanged';
select count(*) from queue_pop_rows(null::jobs);
select count(*) from queue_pop_rows(null::jobs);
commit prepared 'test_claim_unchanged';
select id from queue_pop_rows(null::jobs);
-- The clock makes rows pending without a write, and so does another caller.
create table timed (id integer primary key, due timestamptz, who text, state integer not null default 0);
create index on timed (id) where state = 0;
select queue_attach('timed', 'timed', 'state = 0 and due <= call_time', 'id', 'state = 1');
select queue_attach('own', 'timed', 'state = 0 and who = worker', 'id', 'state = 1');
insert into timed values (1, '2999-12-31', 'ann');
select count(*) from queue_pop_rows(null::timed, 'timed');
select queue_claim_stats_reset();
do $$ begin
	for i in 1..10 loop
		perform queue_pop_rows(null::test_claim_unchanged.timed, 'timed');
	end loop;
end $$;
select sweeps >= 10 as each_looks from queue_claim_stats where queue = 'test_claim_unchanged.timed';
select count(*) from queue_pop_rows(null::timed, 'own', worker => 'bob');
select count(*) from queue_pop_rows(null::timed, 'own', worker => 'bob');
select id from queue_pop_rows(null::timed, 'own', worker => 'ann');
drop schema test_claim_unchanged cascade;
