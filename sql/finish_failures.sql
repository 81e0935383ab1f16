-- The backoff follows what has failed: claims that were released, or came before a requeue, lengthened it.
set client_min_messages = warning;
create schema test_failures;
set search_path = test_failures, public;
select queue_create('jobs', backoff_base => '7300 days', backoff_cap => '7300000 days', max_attempts => 5, lease => '1 hour');
-- How many failures the wait of each job says: up to half of it is left out at random, and no minute has passed since.
create view waits as select payload as job, released,
	1 + round(ln(extract(epoch from run_at - clock_timestamp() + interval '1 minute') / (7300 * 86400)) / ln(2) + 0.5) as failures
from jobs order by id;
-- A claim of all, and its end.
create procedure claim_and(call text, times integer default 1) language plpgsql as $$
begin
	for i in 1 .. times loop
		update jobs set run_at = '2000-01-01';
		execute format('select count(%s) from (select id, attempt, j from queue_pop_rows(null::jobs, ''jobs'', 100) as j) as claimed', call);
	end loop;
end $$;
select from queue_send_many('jobs', '{1,2}');
call claim_and('queue_release(''jobs'', id, attempt)', 10);
call claim_and('queue_fail(''jobs'', id, attempt)');
select * from waits;
call claim_and('queue_fail(''jobs'', id, attempt)');
select * from waits;
call claim_and('queue_release(''jobs'', id, attempt)');
call claim_and('queue_fail(''jobs'', id, attempt)');
select * from waits;
-- In each form.
truncate jobs;
select from queue_send_many('jobs', '{1,2,3,4}');
call claim_and('queue_release(''jobs'', id, attempt)', 3);
update jobs set run_at = '2000-01-01';
select from queue_pop('jobs', 2);
select count(*) from queue_fail_many('jobs', array(select id from jobs where leased_until is not null), array(select attempt from jobs where leased_until is not null));
select queue_fail_row('jobs', j) from queue_pop_rows(null::jobs, 'jobs') as j;
select queue_fail_receipt('jobs', queue_receipt('jobs', j)) from queue_pop_rows(null::jobs, 'jobs') as j;
select * from waits;
-- By a statement, too.
set queue_ext.claim_path = portable;
call claim_and('queue_release(''jobs'', id, attempt)', 3);
call claim_and('queue_fail(''jobs'', id, attempt)');
select * from waits;
reset queue_ext.claim_path;
-- A lease that ends is a failure.
update jobs set run_at = '2000-01-01';
select count(*) from queue_pop('jobs', 100, lease => '1 microsecond');
call claim_and('queue_fail(''jobs'', id, attempt)');
select * from waits;
call claim_and('queue_fail(''jobs'', id, attempt)');
select count(*) as dead from jobs where dead_at <= clock_timestamp();
-- A requeue begins anew.
select queue_requeue('jobs', id) from jobs order by id limit 1;
call queue_requeue_where('jobs', 'payload in (''2'', ''3'', ''4'')');
select attempt - released as charged, max_attempts - attempt as "left" from jobs;
call claim_and('queue_fail(''jobs'', id, attempt)');
select * from waits;
-- retry_in is what it says.
select clock_timestamp() as before \gset
call claim_and('queue_fail(''jobs'', id, attempt, retry_in => ''250 seconds'')');
select count(*) from jobs where run_at between :'before'::timestamptz + interval '250 seconds' and clock_timestamp() + interval '250 seconds';
-- Whoever may not read the column has all claims counted.
create role regress_failures;
grant usage on schema test_failures to regress_failures;
grant select (id, attempt, max_attempts, leased_until, leased_by, run_at, errors), update (last_error, errors, leased_until, leased_by, run_at, dead_at) on jobs to regress_failures;
update jobs set run_at = '2000-01-01', attempt = 6, released = 4, max_attempts = 100, leased_until = now() + interval '1 hour' where payload = '1';
set role regress_failures;
select queue_fail('jobs', id, 6) from jobs where leased_until is not null;
reset role;
select * from waits where job = '1';
grant select (released) on jobs to regress_failures;
update jobs set run_at = '2000-01-01', leased_until = now() + interval '1 hour' where payload = '1';
set role regress_failures;
select queue_fail('jobs', id, 6) from jobs where leased_until is not null;
reset role;
select * from waits where job = '1';
-- What an owner has written there does no harm.
update jobs set run_at = '2000-01-01', leased_until = now() + interval '1 hour', released = 2147483647 where payload = '1';
select queue_fail('jobs', id, 6) from jobs where leased_until is not null;
update jobs set run_at = '2000-01-01', leased_until = now() + interval '1 hour', attempt = 5, released = -2147483648 where payload = '2';
select queue_fail('jobs', id, attempt) from jobs where leased_until is not null;
select * from waits where job in ('1', '2');
update jobs set released = 2147483647, leased_until = now() + interval '1 hour' where payload = '1';
select queue_release('jobs', id, attempt), (select released from jobs where payload = '1') as was from jobs where payload = '1';
select released from jobs where payload = '1';
-- A table of the first layout counts all claims; from its upgrade on it tells.
select queue_create('old', backoff_base => '7300 days', backoff_cap => '7300000 days', lease => '1 hour');
select queue_detach('old');
alter table old drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
select queue_adopt('old');
select queue_send('old', '1');
select queue_release('old', id, attempt) from queue_pop('old');
select queue_release('old', id, attempt) from queue_pop('old');
select queue_fail('old', id, attempt) from queue_pop('old');
select run_at - now() > '14599 days' as waits_for_all from old;
\set VERBOSITY sqlstate
alter table old add released bigint;
select queue_upgrade('old');
alter table old drop released;
select queue_upgrade('old');
select on_release like '%released%' as counts from queues where source = 'old'::regclass;
update old set run_at = '2000-01-01';
select queue_release('old', id, attempt) from queue_pop('old');
select attempt, released from old;
drop owned by regress_failures;
drop role regress_failures;
drop schema test_failures cascade;
