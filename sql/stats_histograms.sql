-- queue_wait_histogram, queue_run_histogram: what is measured, and in which buckets.
set client_min_messages = warning;
create schema test_stats_histograms;
set search_path = test_stats_histograms, public;
select queue_create('jobs', lease => '1 hour', archive => true) \g (format=unaligned tuples_only=on)

-- The buckets of an unused queue.
select le, jobs, total_seconds from queue_wait_histogram where source = 'jobs'::regclass order by le;

create view wait as select le, jobs, round(total_seconds) as seconds from queue_wait_histogram
where source = 'jobs'::regclass and le in (0.75, 1, 10, 'infinity') order by le;
create view run as select le, jobs, round(total_seconds) as seconds from queue_run_histogram
where source = 'jobs'::regclass and le in (0.75, 1, 10, 'infinity') order by le;

-- A job is ready from its run_at on, or from the end of its last lease. In one message of the client, here and below, as each half of a second counts.
begin \; select queue_send('jobs', '1', run_at => now() - interval '1000 seconds') > 0 as sent \;
insert into jobs (payload, run_at, leased_until, attempt) values ('2', now() - interval '3000 seconds', now() - interval '8 seconds', 1) \; commit \; select count(*) from queue_pop('jobs', 2);
select * from wait;
-- A job that has always been ready has not waited.
select queue_stats_reset('jobs');
select queue_send('jobs', '1') > 0 as sent;
update jobs set run_at = '-infinity' where attempt = 0;
select count(*) from queue_pop('jobs');
select * from wait;

-- A job runs from its claim to its end, on every way to finish it; given back it did not run.
select queue_stats_reset('jobs');
begin \; update jobs set claimed_at = clock_timestamp() - interval '100 seconds' \; commit \; begin \; select queue_complete('jobs', id, attempt) from jobs where attempt = 1 order by id limit 1 \; commit \;
select queue_fail('jobs', id, attempt, retry_in => '0') from jobs where leased_until is not null order by id limit 1;
select * from run;
select count(*) from queue_pop('jobs', 10);
begin \; update jobs set claimed_at = clock_timestamp() - interval '5 seconds' \; commit \; select count(*) from queue_complete_many('jobs', array(select id from jobs order by id limit 1),
	array(select attempt from jobs order by id limit 1));
select queue_release('jobs', id, attempt) from jobs where leased_until is not null;
select * from run;
-- By its row, which says when it was claimed.
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[2]));
select queue_fail_row('jobs', j, retry_in => '0') from queue_pop_rows(null::jobs) as j;
select queue_complete_row('jobs', j) from queue_pop_rows(null::jobs) as j;
select * from run;
select queue_alter('jobs', archive => false);
select queue_complete('jobs', id, attempt) from queue_pop('jobs', 10);
update jobs set claimed_at = null;
select * from run;

-- A caller who may not read claimed_at is served as well, before and after one who may.
create role regress_stats_worker;
grant usage on schema test_stats_histograms to regress_stats_worker;
grant select (id, attempt, leased_until, max_attempts, run_at, dead_at, leased_by, errors), update on jobs to regress_stats_worker;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[3]));
select count(*) from queue_pop('jobs', 3);
set role regress_stats_worker;
select queue_fail('jobs', min(id), 1) from jobs where leased_until is not null;
reset role;
select queue_fail('jobs', min(id), 1) from jobs where leased_until is not null;
set role regress_stats_worker;
select queue_fail('jobs', min(id), 1) from jobs where leased_until is not null;
reset role;
select s.failed, r.jobs as timed from queue_stats as s join queue_run_histogram as r using (source)
where source = 'jobs'::regclass and le = 'infinity';
drop owned by regress_stats_worker;
drop role regress_stats_worker;

-- A table of the first layout does not say when a job was claimed.
alter table jobs drop column claimed_at, drop column kind;
select queue_detach('jobs');
select queue_adopt('jobs');
select queue_send('jobs', '1') > 0 as sent;
select queue_complete('jobs', id, attempt) from queue_pop('jobs');
select w.jobs as waited, r.jobs as ran from queue_wait_histogram as w join queue_run_histogram as r using (source, le)
where source = 'jobs'::regclass and le = 'infinity';
drop schema test_stats_histograms cascade;
