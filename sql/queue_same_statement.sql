-- A setting that was changed counted only from the next statement on: a pause and
-- a resume in one statement left the queue paused.
set client_min_messages = warning;
create schema test_same_statement;
set search_path = test_same_statement, public;
select queue_create('jobs');
select queue_send_many('jobs', '{1,2}');
select queue_pause('jobs') as pause, queue_resume('jobs') as resume, queue_pause('jobs') as again;
select paused from queues where source = 'jobs'::regclass;
select queue_resume('jobs');
select queue_alter('jobs', archive => true);
select id, attempt from queue_pop('jobs');
select queue_alter('jobs', lease => '1 day') as alter, queue_extend('jobs', 1, 1) as extended;
select leased_until > now() + interval '23 hours' as a_day from jobs where id = 1;
select queue_alter('jobs', archive => false) as alter, queue_complete('jobs', 1, 1) as completed;
select count(*) as archived from jobs_archive;
drop schema test_same_statement cascade;
