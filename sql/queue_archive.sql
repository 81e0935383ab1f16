-- archive => true: finished jobs move to the archive table.
set client_min_messages = warning;
create schema test_archive;
set search_path = test_archive, public;
select queue_create('jobs', archive => true, max_attempts => 2);
select count(*) from queue_send_many('jobs', '{1,2,3,4,5,6,7}', priority => 3);
update jobs set last_error = 'before', run_at = '2001-01-01', created_at = '2001-01-02';
select count(*) from queue_pop('jobs', 4, worker => 'ada');

select queue_complete('jobs', 1, 1), queue_complete('jobs', 1, 1), queue_complete('jobs', 2, 2);
select queue_complete_many('jobs', '{3,2,99}', '{1,1,1}');
select queue_cancel('jobs', 4), queue_cancel('jobs', 5);
select queue_cancel_many('jobs', '{7,6,99}');
select id,
       attempt,
       max_attempts,
       priority,
       state,
       leased_by,
       last_error,
       payload,
       run_at = '2001-01-01' and created_at = '2001-01-02' as times_kept,
       finished_at between now() - interval '1 hour' and clock_timestamp() as finished_now
from jobs_archive
order by id;
select count(*) as left_behind from jobs;

-- All or nothing.
select queue_send('jobs', '8');
begin;
select id, attempt from queue_pop('jobs');
select queue_complete('jobs', 8, 1);
rollback;
select (select count(*) from jobs) as jobs, (select count(*) from jobs_archive where id = 8) as archived;

-- The dead stay in the queue; purged jobs are gone for good.
update jobs set max_attempts = 1;
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 8, 1);
select dead from queue_counts('jobs');
select queue_purge('jobs');
select count(*) as archived from jobs_archive;

-- Columns of the user's own, in either table, in any order.
alter table jobs drop column last_error, add column last_error text, add column note text;
alter table jobs_archive add column kept_until date default '2030-01-01';
select queue_send('jobs', '9');
select id, attempt from queue_pop('jobs');
select queue_complete('jobs', 9, 1);
select id, kept_until from jobs_archive where id = 9;

-- The archive table is missing.
select queue_send('jobs', '10');
select id, attempt from queue_pop('jobs');
drop table jobs_archive;
\set VERBOSITY sqlstate
select queue_complete('jobs', 10, 1);
select queue_complete_many('jobs', '{10}', '{1}');
select queue_cancel('jobs', 10);
select queue_cancel_many('jobs', '{10}');
select count(*) as jobs from jobs;
select queue_extend('jobs', 10, 1);
-- The first way out.
select queue_alter('jobs', archive => true);
select queue_complete('jobs', 10, 1);
select id, state from jobs_archive;
-- The second.
drop table jobs_archive;
select queue_alter('jobs', archive => false);
select queue_send('jobs', '11');
select queue_cancel('jobs', 11);

drop schema test_archive cascade;
