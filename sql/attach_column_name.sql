-- A column that the user added had the name of one that a statement of ours used,
-- and the name was ambiguous.
set client_min_messages = warning;
create schema test_column_name;
set search_path = test_column_name, public;
select queue_create('jobs', archive => true, backoff_base => '1 day', backoff_cap => '1 day');
alter table jobs
	add column candidate_id bigint,
	add column receipt_id bigint,
	add column receipt_attempt integer,
	add column receipt_error text,
	add column receipt_retry_at timestamptz,
	add column state text,
	add column finished_at timestamptz,
	add column t text,
	add column r text,
	add column p text,
	add column call_time timestamptz default '2001-01-01',
	add column lease interval default '1 year',
	add column worker text,
	add column error text,
	add column retry_at timestamptz;
select queue_send('jobs', '1');
select queue_send_many('jobs', '{2,3,4,5,6,7}');
select id, attempt, leased_until < now() + interval '1 hour' as lease, leased_by
from queue_pop('jobs', 7, worker => 'ada');
select queue_extend('jobs', 1, 1), queue_release('jobs', 1, 1), queue_fail('jobs', 2, 1, 'broken'),
       queue_complete('jobs', 3, 1), queue_cancel('jobs', 2), queue_requeue('jobs', 1);
select queue_extend_many('jobs', '{4,5,6,7}', '{1,1,1,1}');
select queue_release_many('jobs', '{4}', '{1}');
select queue_fail_many('jobs', '{5}', '{1}', '{broken}');
select queue_complete_many('jobs', '{6}', '{1}');
select queue_cancel_many('jobs', '{7}');
select queue_requeue_many('jobs', '{5}');
select * from queue_counts('jobs');
select queue_purge('jobs');
select id, state, last_error from jobs_archive order by id;
drop schema test_column_name cascade;
