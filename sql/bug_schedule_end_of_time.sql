-- A schedule whose first occurrence would be its last one is refused: the claim of that could not send
-- the next, and would fail, and so would each claim after it.
\set VERBOSITY terse
set client_min_messages = warning;
create schema test_end;
set search_path = test_end, public;
select queue_create('jobs');
\set VERBOSITY sqlstate
select queue_schedule('jobs', 'last', '293000 years', starts_at => now() + '1 second');
select queue_schedule('jobs', 'cron', cron => '0 0 1 1 *', starts_at => '294276-06-01 00:00 UTC');
select count(*) from queue_schedules where queue = 'test_end.jobs';
select count(*) from jobs;
select queue_schedule('jobs', 'far', '100000 years') > now() as later;
drop schema test_end cascade;
