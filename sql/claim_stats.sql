-- queue_claim_stats: what claims on the direct path have met.
set client_min_messages = warning;
create schema test_claim_stats;
set search_path = test_claim_stats, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
create view stats as
select claims, empty_pops, fills, sweeps, locked, gone, not_pending, candidates, fill_time >= 0 as timed
from queue_claim_stats where source = 'test_claim_stats.jobs'::regclass;

-- Nothing before the first claim; an empty pop looks once.
select * from stats;
select id, attempt from queue_pop('jobs');
select * from stats;
-- What one transaction meets: two candidates that have been deleted, one that is as it
-- was. A look at the head, which the clock may bring, would take the first two away;
-- then once more.
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[300]));
create function meet(out got bigint, out claims bigint, out gone bigint, out not_pending bigint, out locked bigint, out fills bigint)
language plpgsql as $$
declare
	last bigint;
begin
	loop
		select id into last from queue_pop('jobs');
		perform queue_claim_stats_reset();
		delete from jobs where id = last + 1;
		delete from jobs where id = last + 2;
		select id - last into got from queue_pop('jobs');
		select s.claims, s.gone, s.not_pending, s.locked, s.fills into claims, gone, not_pending, locked, fills
		from stats as s where s.sweeps = 0;
		exit when found;
	end loop;
end $$;
select * from meet();
-- What is rolled back has been counted, and goes back.
select queue_claim_stats_reset();
begin;
select count(*) from queue_pop('jobs', 3);
rollback;
select claims from stats;
select count(*) from queue_pop('jobs', 2);
select claims from stats;

-- Zero again; the ring is as it was.
update jobs set run_at = 'infinity' where leased_until is not null;
select queue_claim_stats_reset();
select claims, empty_pops, fills, sweeps, locked, gone, not_pending, fill_time from queue_claim_stats
where source = 'test_claim_stats.jobs'::regclass;
select count(*) > 200 as many from queue_pop('jobs', 1000);
select claims = (select count(*) from jobs where leased_until is not null and run_at <> 'infinity') as counted, candidates from stats;
-- The portable path does not count.
set queue_ext.claim_path = portable;
select queue_send('jobs', '1');
select id from queue_pop('jobs');
select empty_pops from stats;
reset queue_ext.claim_path;

-- Anyone may look, none but superusers may reset.
create role claim_stats_user;
grant usage on schema test_claim_stats to claim_stats_user;
set role claim_stats_user;
select count(*) > 0 as visible from public.queue_claim_stats;
\set VERBOSITY sqlstate
select public.queue_claim_stats_reset();
\set VERBOSITY default
reset role;
drop owned by claim_stats_user;
drop role claim_stats_user;
-- A queue that has been dropped is not shown.
drop view stats cascade;
select queue_drop('jobs');
select count(*) from queue_claim_stats where source not in (select oid from pg_class);
drop schema test_claim_stats cascade;
