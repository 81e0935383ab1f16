-- A job of a period is remembered when it is done, whether or not the caller that inserted it counts
-- done jobs: another caller may.
set client_min_messages = error;
create schema test_unique_period_by_others;
set search_path = test_unique_period_by_others, public;
select queue_create('jobs');
select inserted from queue_unique_insert('jobs', '"a"', period => '1 day', run_at => '2026-01-05', states => '{ready}');
select queue_complete('jobs', id, attempt) from queue_pop('jobs');
select inserted from queue_unique_insert('jobs', '"a"', period => '1 day', run_at => '2026-01-05', states => '{ready,done}');
select inserted from queue_unique_insert('jobs', '"a"', period => '1 day', run_at => '2026-01-05');
select inserted from queue_unique_insert('jobs', '"a"', period => '1 day', run_at => '2026-01-05', states => '{ready}');
-- Without a period only where the caller counts them.
select inserted from queue_unique_insert('jobs', '"b"', states => '{ready}');
select count(queue_complete('jobs', id, attempt)) from queue_pop('jobs', 10);
select inserted from queue_unique_insert('jobs', '"b"', states => '{ready,done}');
select count(queue_complete('jobs', id, attempt)) from queue_pop('jobs', 10);
select inserted from queue_unique_insert('jobs', '"b"', states => '{ready,done}');
select queue_drop('jobs');
drop schema test_unique_period_by_others cascade;
