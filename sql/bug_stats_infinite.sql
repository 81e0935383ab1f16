-- A job whose run_at is -infinity had an infinite age, which an interval cannot be before PostgreSQL 17: an error for
-- those who asked for the ages of all queues; and queue_health() told of jobs that were ready for -9222522934673 s.
set client_min_messages = warning;
create schema test_stats_infinite;
set search_path = test_stats_infinite, public;
set queue_ext.claim_path = auto;
create view ages as
select replace(queue, 'test_stats_infinite.', '') as queue, ready, round(extract(epoch from clock_timestamp() - oldest_ready_at) / 3600) as hours, oldest_exact
from queue_stats where queue like 'test_stats_infinite.%' order by 1;
select queue_create('late'), queue_create('always'), queue_create('mixed'), queue_create('never');
select queue_send('late', '1', run_at => now() - interval '1 hour');
select queue_send('always', '1', run_at => '-infinity');
select queue_send('never', '1', run_at => 'infinity');
select queue_send('mixed', '1', run_at => '-infinity'), queue_send('mixed', '2', run_at => now() - interval '2 hours');
select * from ages;
-- Also when workers have looked, and when the job that has no age is gone.
select payload from queue_pop('late', 1) union all select payload from queue_pop('never', 1);
select queue_send('always', '2', run_at => '-infinity'), queue_send('late', '2', run_at => now() - interval '1 hour');
select payload from queue_pop('always', 1) union all select payload from queue_pop('mixed', 1);
select * from ages;
select payload from queue_pop('mixed', 1) union all select payload from queue_pop('always', 1);
select queue, hours from ages;

-- queue_health() counts such a job from when it was made.
select queue_create('made', lease => '1 minute');
select queue_send('made', '1', run_at => '-infinity');
select finding from queue_health('made') where finding = 'ready_job_old';
update made set created_at = now() - interval '3 hours';
select finding, detail from queue_health('made') where finding = 'ready_job_old';
update made set created_at = '-infinity';
select finding, detail from queue_health('made') where finding = 'ready_job_old';
update made set run_at = 'infinity';
select finding, detail from queue_health('made') where finding = 'ready_job_old';

-- Jobs that were always claimed, or never will be, have not run for any time.
create view runs as
select replace(queue, 'test_stats_infinite.', '') as queue, jobs, total_seconds < 60 as short from queue_run_histogram
where queue like 'test_stats_infinite.%' and le = 'infinity' and jobs > 0 order by 1;
create table rows (id integer primary key, state text not null default 'new', ready_at timestamptz, claimed_at timestamptz);
create index on rows (id) where state = 'new';
select queue_attach('rows', 'rows', $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'taken'$$, on_complete => $$state = 'done'$$,
	ready_at => 'ready_at', claimed_at => 'claimed_at');
insert into rows values (1, 'new', '-infinity', '-infinity'), (2, 'new', 'infinity', 'infinity'), (3, 'new', now() - interval '4 hours', now());
select queue_complete_row('rows', j) from queue_pop_rows(null::rows, 'rows', 2) as j;
select * from ages where queue = 'rows';
select * from runs;
select queue_create('ran');
select queue_send('ran', n::text::jsonb) from generate_series(1, 4) as n;
select count(*) from queue_pop('ran', 4);
update ran set claimed_at = case when id % 2 = 0 then 'infinity' else '-infinity' end::timestamptz;
select queue_complete('ran', 1, 1), queue_complete('ran', 2, 1), queue_fail('ran', 3, 1), queue_fail('ran', 4, 1);
select * from runs;
drop schema test_stats_infinite cascade;
