-- queue_stats: every counter, on each path of claims, and with the trigger disabled.
set client_min_messages = warning;
create schema test_stats_counters;
set search_path = test_stats_counters, public;

create view counted as
select sent, claimed, completed, failed, retried, dead, released, cancelled, expired, duplicates
from queue_stats where source = to_regclass('test_stats_counters.jobs');

-- Does all that is counted, in as many transactions as the caller runs; each queue function once for
-- one job and once for many.
create function live() returns void language plpgsql as $$
declare
	ids bigint[];
begin
	perform queue_send('jobs', '1');
	perform queue_send_many('jobs', array_fill('2'::jsonb, array[9]));
	perform queue_unique_insert('jobs', '{"u": 1}');
	perform queue_unique_insert('jobs', '{"u": 1}');
	perform queue_unique_insert_many('jobs', '{"{\"u\": 1}", "{\"u\": 2}", "{\"u\": 2}"}');
	insert into jobs (payload) values ('3'), ('4');
	select array_agg(id order by id) into ids from queue_pop('jobs', 8) where attempt = 1;
	perform queue_complete('jobs', ids[1], 1);
	perform queue_complete_many('jobs', ids[2:3], '{1,1}');
	perform queue_complete('jobs', ids[1], 1); -- has none to complete
	perform queue_fail('jobs', ids[4], 1, 'broken', retry_in => '1 hour');
	perform queue_fail_many('jobs', ids[5:6], '{1,1}', retry_in => '1 hour');
	perform queue_release('jobs', ids[7], 1, run_at => 'infinity');
	perform queue_release_many('jobs', ids[8:8], '{1}', run_at => 'infinity');
	perform queue_cancel('jobs', ids[7]);
	perform queue_cancel_many('jobs', ids[8:8]);
	-- One more is claimed and completed by its row, one fails by its row.
	execute $e$select queue_complete_row('jobs', j) from queue_pop_rows(null::jobs) as j$e$;
	execute $e$select queue_fail_row('jobs', j, retry_in => '1 hour') from queue_pop_rows(null::jobs) as j$e$;
	execute $e$select queue_release_row('jobs', j, run_at => 'infinity') from queue_pop_rows(null::jobs) as j$e$;
	-- One that fails for the last time, and one whose lease has ended.
	update jobs set run_at = now() - interval '2 hours', max_attempts = 1
	where id = (select max(id) from jobs where attempt = 0);
	perform queue_fail('jobs', id, attempt) from queue_pop('jobs');
	update jobs set run_at = now() - interval '2 hours', leased_until = now() - interval '1 hour', attempt = 3
	where id = (select max(id) from jobs where attempt = 0);
	perform queue_complete('jobs', id, attempt) from queue_pop('jobs');
end $$;

-- The sums of all buckets: of claims, and of completions and failures.
create function waits() returns bigint language sql as
$$select jobs from queue_wait_histogram where source = to_regclass('test_stats_counters.jobs') and le = 'infinity'$$;
create function runs() returns bigint language sql as
$$select jobs from queue_run_histogram where source = to_regclass('test_stats_counters.jobs') and le = 'infinity'$$;

-- The counters are 0 for a new queue, and the same on each path.
\set ON_ERROR_STOP on
select queue_create('jobs', lease => '1 hour') \g (format=unaligned tuples_only=on)
select * from counted;
set queue_ext.claim_path = direct;
select live() \g (format=unaligned tuples_only=on)
select * from counted;
select waits(), runs();
-- Dropped and created again, it begins anew.
select queue_drop('jobs');
select * from counted;
select queue_create('jobs', lease => '1 hour') \g (format=unaligned tuples_only=on)
select * from counted;
set queue_ext.claim_path = tid;
select live() \g (format=unaligned tuples_only=on)
select * from counted;
select waits(), runs();
select queue_stats_reset('jobs');
select * from counted;
set queue_ext.claim_path = portable;
truncate jobs;
select live() \g (format=unaligned tuples_only=on)
select * from counted;
select waits(), runs();
-- Without the trigger, rows that the functions insert are counted, and no others.
reset queue_ext.claim_path;
alter table jobs disable trigger queue_ext_wake;
select queue_stats_reset('jobs');
truncate jobs;
select live() \g (format=unaligned tuples_only=on)
select * from counted;
alter table jobs enable always trigger queue_ext_wake;

-- What is rolled back is not counted, and what a savepoint has before it is.
select queue_stats_reset();
truncate jobs;
begin;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[3]));
rollback;
select * from counted;
begin;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[3]));
savepoint a;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[10]));
savepoint b;
select count(*) from queue_pop('jobs', 2);
release b;
rollback to a;
select count(*) from queue_pop('jobs', 2);
savepoint c;
select count(*) from queue_pop('jobs', 1);
release c;
-- not before the commit
select * from counted;
commit;
select * from counted;
do $$
begin
	perform queue_send('jobs', '1');
	begin
		perform queue_send('jobs', '1');
		raise 'no';
	exception when raise_exception then
		perform queue_send('jobs', '1');
	end;
end $$;
select sent from counted;

-- A call that waits, and one that need not; whatever becomes of the transaction.
truncate jobs;
begin;
call queue_wait('jobs', '0');
rollback;
call queue_pop_wait('jobs', '0');
select queue_send('jobs', '1') > 0 as sent;
call queue_wait('jobs', '0');
select waits from queue_stats where source = 'jobs'::regclass;

-- Neither is what is counted while it is off; then no one sees any.
set queue_ext.track_stats = off;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[3]));
select sent from counted;
reset queue_ext.track_stats;
select sent from counted;
show queue_ext.track_stats;

-- A queue that is created, or dropped, in a transaction that is rolled back.
begin;
select queue_create('never') \g (format=unaligned tuples_only=on)
select queue_send('never', '1') \g (format=unaligned tuples_only=on)
rollback;
select count(*) from queue_stats where queue like '%never%';
begin;
select queue_drop('jobs');
rollback;
select sent from counted;
-- Detached and adopted again, it begins anew; what was counted in the transaction before that is lost.
select queue_detach('jobs');
begin;
select queue_adopt('jobs');
savepoint a;
select queue_detach('jobs');
rollback to a;
select count(*) from queue_pop('jobs', 2);
commit;
select * from counted;

-- Anyone may look, none but superusers may reset or turn it off.
create role regress_stats;
grant usage on schema test_stats_counters to regress_stats;
set role regress_stats;
select count(*) from public.queue_stats where source = 'jobs'::regclass;
select count(*) > 0 as some from public.queue_wait_histogram where source = 'jobs'::regclass;
select count(*) > 0 as some from public.queue_run_histogram where source = 'jobs'::regclass;
\set ON_ERROR_STOP off
\set VERBOSITY sqlstate
select public.queue_stats_reset();
set queue_ext.track_stats = off;
reset role;
set queue_ext.track_stats = maybe;
select queue_stats_reset('none');
select * from queue_stats_buckets(null);
\set VERBOSITY default
drop owned by regress_stats;
drop role regress_stats;
drop view counted;
drop schema test_stats_counters cascade;
