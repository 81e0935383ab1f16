-- No statement of a queue reads its whole table or sorts it, whatever the statistics say: a
-- queue is empty one minute and holds many rows the next.
set client_min_messages = warning;
create schema test_plan;
set search_path = test_plan, public;
select queue_create('jobs', archive => true, lease => '1 hour');
alter table jobs set (autovacuum_enabled = off);
create view scans as
select coalesce(sum(seq_scan), 0) as scans, coalesce(sum(seq_tup_read + idx_tup_fetch), 0) as rows
from pg_stat_xact_user_tables
where schemaname = 'test_plan' and relname = 'jobs';
create procedure live(round integer) language plpgsql as $$
declare
	ids bigint[];
begin
	perform queue_send('jobs', '1');
	perform queue_send_many('jobs', '{2,3,4,5,6,7,8,9}');
	select array_agg(id) into ids from (
		select id from queue_pop('jobs')
		union all select id from queue_pop('jobs', 2)
		union all select id from queue_pop('jobs', 4)
	) as popped;
	assert array_length(ids, 1) = 7;
	assert queue_extend('jobs', ids[1], 1);
	assert queue_release('jobs', ids[1], 1, now() + interval '1 hour');
	assert queue_fail('jobs', ids[2], 1, retry_in => '1 hour');
	assert queue_complete('jobs', ids[3], 1);
	assert queue_cancel('jobs', ids[1]);
	assert not queue_requeue('jobs', ids[2]);
	perform queue_extend_many('jobs', ids[4:7], '{1,1,1,1}');
	perform queue_release_many('jobs', ids[4:4], '{1}', now() + interval '1 hour');
	perform queue_fail_many('jobs', ids[5:5], '{1}', retry_in => '1 hour');
	perform queue_complete_many('jobs', ids[6:6], '{1}');
	perform queue_cancel_many('jobs', ids[7:7]);
	perform queue_requeue_many('jobs', ids[4:5]);
end $$;

-- Planned on an empty table, of which there are no statistics.
begin;
select scans as scans_before, rows as rows_before from scans \gset
call live(1);
select scans - :scans_before as sequential_scans, rows - :rows_before < 1000 as few_rows from scans;
commit;
-- Analysed while it is empty.
delete from jobs;
vacuum analyze jobs;
begin;
select scans as scans_before, rows as rows_before from scans \gset
call live(2);
select scans - :scans_before as sequential_scans, rows - :rows_before < 1000 as few_rows from scans;
commit;
-- Now it holds many rows, and nobody has told the planner.
insert into jobs (payload, run_at)
select to_jsonb(n), now() - interval '1 day' + n * interval '1 millisecond' from generate_series(1, 20000) as n;
begin;
select scans as scans_before, rows as rows_before from scans \gset
call live(3);
select scans - :scans_before as sequential_scans, rows - :rows_before < 1000 as few_rows from scans;
commit;
-- A new plan, with every setting against us.
set enable_indexscan = off;
set enable_nestloop = off;
alter table jobs set (fillfactor = 71);
begin;
select scans as scans_before, rows as rows_before from scans \gset
call live(4);
select scans - :scans_before as sequential_scans, rows - :rows_before < 1000 as few_rows from scans;
commit;
-- Planned again, since the search path or the role is another.
begin;
select payload is not null as popped from queue_pop('test_plan.jobs');
select scans as scans_before, rows as rows_before from scans \gset
set local search_path = public, test_plan;
select payload is not null as popped from queue_pop('test_plan.jobs');
select scans - :scans_before as sequential_scans, rows - :rows_before < 1000 as few_rows from scans;
rollback;
create role regress_queue_plan;
grant usage on schema test_plan to regress_queue_plan;
grant select, update on jobs, scans to regress_queue_plan;
alter table jobs enable row level security;
create policy everything on jobs using (true);
begin;
select payload is not null as popped from queue_pop('jobs');
select scans as scans_before, rows as rows_before from scans \gset
set local role regress_queue_plan;
select payload is not null as popped from queue_pop('jobs');
select scans - :scans_before as sequential_scans, rows - :rows_before < 1000 as few_rows from scans;
rollback;
drop owned by regress_queue_plan;
drop role regress_queue_plan;
alter table jobs disable row level security;
reset enable_indexscan;
reset enable_nestloop;

-- The settings that pin the plan hold for planning alone.
create function show_settings() returns trigger language plpgsql as $$
begin
	raise warning '%', (
		select string_agg(setting, ' ')
		from pg_settings
		where name in ('enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin', 'enable_mergejoin')
	);
	return null;
end $$;
create trigger show_settings after update on jobs execute function show_settings();
alter table jobs set (fillfactor = 72);
select count(*) from queue_pop('jobs');
show enable_seqscan;

drop schema test_plan cascade;
