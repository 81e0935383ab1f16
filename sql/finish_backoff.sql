-- How long a failed job waits.
set client_min_messages = warning;
create schema test_backoff;
set search_path = test_backoff, public;
select queue_create(
	'jobs',
	max_attempts => 1000,
	backoff_base => '10 seconds',
	backoff_cap => '100 seconds'
);

-- Doubling from base to cap, less up to a half at random.
create procedure fail_after(attempts integer) language plpgsql as $$
begin
	perform queue_send('jobs', '1');
	update jobs set attempt = attempts - 1;
	perform queue_pop('jobs');
	perform queue_fail('jobs', id, attempts) from jobs;
end $$;
create table wait (attempt integer, wait interval, wait_after_the_call interval);
do $$
declare
	began timestamptz;
begin
	for n in 1..6 loop
		for i in 1..50 loop
			began := clock_timestamp();
			call fail_after(n);
			insert into wait select attempt, run_at - began, run_at - clock_timestamp() from jobs;
			perform queue_purge('jobs');
		end loop;
	end loop;
end $$;
select attempt,
       expected,
       bool_and(wait >= expected / 2) as at_least_half,
       bool_and(wait_after_the_call <= expected) as at_most_all,
       count(distinct wait) > 25 as jitter,
       max(wait) - min(wait) > expected / 4 as spread
from wait
join (values (1, interval '10 seconds'), (2, '20 seconds'), (3, '40 seconds'), (4, '80 seconds'),
             (5, '100 seconds'), (6, '100 seconds')) as bounds(attempt, expected) using (attempt)
group by attempt, expected
order by attempt;

-- The largest numbers do not overflow.
call fail_after(999);
select attempt, run_at - clock_timestamp() between '10 seconds' and '100 seconds' as capped from jobs;
select queue_purge('jobs');
select queue_alter('jobs', backoff_base => '1 microsecond', backoff_cap => '1 microsecond');
call fail_after(999);
select run_at <= clock_timestamp() as at_once from jobs;
select queue_purge('jobs');
select queue_alter('jobs', backoff_base => '1 microsecond', backoff_cap => '150000 years');
call fail_after(999);
select run_at > now() + interval '1000 years' as far_away from jobs;
select queue_purge('jobs');
-- A base above the cap is the cap.
select queue_alter('jobs', backoff_base => '1 day', backoff_cap => '1 minute');
call fail_after(1);
select run_at - clock_timestamp() between '1 second' and '1 minute' as capped from jobs;
select queue_purge('jobs');

-- retry_in says it instead.
select queue_send('jobs', '1') as id \gset
select attempt from queue_pop('jobs');
select queue_fail('jobs', :id, 1, retry_in => '1 day');
select run_at - clock_timestamp() between '23 hours' and '1 day' as a_day from jobs;
update jobs set run_at = now();
select attempt from queue_pop('jobs');
select queue_fail('jobs', :id, 2, retry_in => '0');
select attempt from queue_pop('jobs');
select queue_fail_many('jobs', array[:id], '{3}', retry_in => '1 day') = :id as failed;
select run_at - clock_timestamp() between '23 hours' and '1 day' as a_day from jobs;
update jobs set run_at = now();
select attempt from queue_pop('jobs');
select queue_fail_many('jobs', array[:id], '{4}') = :id as failed;
select run_at - clock_timestamp() between '1 second' and '1 minute' as capped from jobs;

-- A month is thirty days.
select queue_alter('jobs', max_attempts => 1000, backoff_base => '2 months', backoff_cap => '1 year');
update jobs set run_at = now(), leased_until = null, max_attempts = 1000, attempt = 0;
select attempt from queue_pop('jobs');
select queue_fail('jobs', :id, 1);
select run_at - clock_timestamp() between '29 days' and '60 days' as months from jobs;

-- A job that is dead keeps its run_at.
update jobs set max_attempts = 5, attempt = 4, run_at = '2001-01-01';
select attempt from queue_pop('jobs');
select queue_fail('jobs', :id, 5, 'the end', '1 day');
select run_at = '2001-01-01' as kept, dead_at <= clock_timestamp() as dead, last_error from jobs;

drop schema test_backoff cascade;
