-- Claims by TID from partitioned tables, and from tables with children: in the order of all, whatever
-- table has the row.
set client_min_messages = error;
create schema test_claim_partitions;
set search_path = test_claim_partitions, public;
set queue_ext.claim_path = auto;
-- Columns and their order differ between the leaves.
create table jobs (id integer, tenant integer, state integer not null default 0, note text, primary key (tenant, id)) partition by list (tenant);
create table jobs_0 partition of jobs for values in (0);
create table jobs_1 (note text, gone integer, state integer not null default 0, tenant integer not null, id integer not null);
alter table jobs_1 drop column gone;
alter table jobs attach partition jobs_1 for values in (1);
create table jobs_2 partition of jobs for values in (2, 3, 4) partition by range (id);
create table jobs_2_low partition of jobs_2 for values from (0) to (60);
create table jobs_2_high partition of jobs_2 for values from (60) to (10000);
create index on jobs (id, tenant) where state = 0;
insert into jobs (id, tenant) select g, g % 4 from generate_series(1, 100) as g;
select queue_attach('jobs', 'jobs', 'state = 0', 'id, tenant', 'state = 1, note = tenant::text', on_complete => 'state = 2');
select path, reason from queue_claim_path('jobs');
select * from queue_pop_rows(null::jobs, max_jobs => 5);
select tableoid::regclass, * from jobs where id <= 5 order by id;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 60);
select claims, locked, gone, not_pending, path from queue_claim_stats where source = 'jobs'::regclass;
begin;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 3);
savepoint s;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 3);
rollback to s;
select array_agg(id) from queue_pop_rows(null::jobs);
rollback;
select queue_complete_row('jobs', j), j.id from queue_pop_rows(null::jobs) as j;
-- A claim that moves its row to another partition.
select queue_attach('movers', 'jobs', 'state = 0', 'id, tenant', 'state = 1, tenant = 4 - tenant');
select id, tenant from queue_pop_rows(null::jobs, 'movers', 5);
select tableoid::regclass, id, tenant from jobs where id between 67 and 71 order by id;
select queue_detach('movers');
-- Partitions that go and come, also below another.
alter table jobs detach partition jobs_1;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 3);
alter table jobs_2 detach partition jobs_2_high;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 3);
alter table jobs_2 attach partition jobs_2_high for values from (60) to (10000);
alter table jobs attach partition jobs_1 for values in (1);
create table jobs_9 partition of jobs for values in (9);
insert into jobs values (1000, 9);
select array_agg(id order by id) from queue_pop_rows(null::jobs, max_jobs => 100);
insert into jobs select g, g % 2 from generate_series(2001, 2004) as g;
select array_agg(id) from queue_pop_rows(null::jobs);
drop table jobs_0;
select array_agg(id) from queue_pop_rows(null::jobs, max_jobs => 10);
-- More partitions than statements are kept: portable.
create table wide (id integer primary key, state integer not null default 0) partition by list (id);
do $$ begin
	for i in 1..80 loop
		execute format('create table test_claim_partitions.wide_%s partition of test_claim_partitions.wide for values in (%s)', i, i);
	end loop;
end $$;
create index on wide (id) where state = 0;
insert into wide select generate_series(1, 80);
select queue_attach('wide', 'wide', 'state = 0', 'id', 'state = state + 1');
select path, reason from queue_claim_path('wide');
select array_agg(id) = array(select generate_series(1, 70)) as in_order from queue_pop_rows(null::wide, max_jobs => 70);
update wide set state = 0;
select count(*) from queue_pop_rows(null::wide, max_jobs => 100);

-- A leaf with another file: its candidates are of the former one.
create table filed (id integer, region text, state integer not null default 0, primary key (region, id)) partition by list (region);
create table filed_eu partition of filed for values in ('eu');
create table filed_us partition of filed for values in ('us');
create index on filed (id, region) where state = 0;
insert into filed select g, case when g % 2 = 0 then 'eu' else 'us' end from generate_series(1, 400) as g;
select queue_attach('filed', 'filed', 'state = 0', 'id, region', 'state = 1');
select array_agg(id) from queue_pop_rows(null::filed, max_jobs => 4);
delete from filed where state = 1;
vacuum full filed_eu;
select array_agg(id) from queue_pop_rows(null::filed, max_jobs => 4);

-- A table with children has no key of all, so its order is not total.
create table parent (id integer primary key, state integer not null default 0);
create table child (primary key (id)) inherits (parent);
create table grandchild (extra text, primary key (id)) inherits (child);
create index on parent (id) where state = 0;
create index on child (id) where state = 0;
create index on grandchild (id) where state = 0;
insert into parent select g from generate_series(1, 30, 3) as g;
insert into child select g from generate_series(2, 30, 3) as g;
insert into grandchild select g from generate_series(3, 30, 3) as g;
select queue_attach('family', 'parent', 'state = 0', 'id', 'state = 1');
select path, reason from queue_claim_path('family');
select array_agg(id) from queue_pop_rows(null::parent, max_jobs => 8);
alter table grandchild no inherit child;
select array_agg(id) from queue_pop_rows(null::parent, max_jobs => 4);
alter table grandchild inherit child;
select array_agg(id order by id) from queue_pop_rows(null::parent, max_jobs => 100);
-- One that is the child of nothing any more is claimed from directly.
drop table grandchild, child;
select path from queue_claim_path('family');

-- The lock modes.
select queue_attach('rows', 'jobs', 'state = 0', 'id, tenant', claim_mode => 'transaction');
select queue_attach('locks', 'jobs', 'state = 0', 'id, tenant', claim_mode => 'session');
insert into jobs select g, case g % 3 when 0 then 1 else 9 end from generate_series(3001, 3012) as g;
begin;
select array_agg(id) from queue_pop_rows(null::jobs, 'rows', 3);
select array_agg(id) from queue_pop_rows(null::jobs, 'rows', 3);
delete from jobs where id = 3002;
commit;
select array_agg(id) from queue_pop_rows(null::jobs, 'rows', 3);
select array_agg(id) from queue_pop_rows(null::jobs, 'locks', 3);
select array_agg(id) from queue_pop_rows(null::jobs, 'locks', 3);
select pg_advisory_unlock_all();

-- A leaf that is not a heap.
create foreign data wrapper test_partitions_wrapper;
create server test_partitions_server foreign data wrapper test_partitions_wrapper;
create table mixed (id integer, state integer not null default 0) partition by list (id);
create table here partition of mixed for values in (1);
select queue_attach('mixed', 'mixed', 'state = 0', 'id', 'state = 1');
create foreign table there partition of mixed for values in (2) server test_partitions_server;
select * from queue_claim_path('mixed');
drop foreign table there;
select * from queue_claim_path('mixed');
drop foreign data wrapper test_partitions_wrapper cascade;
drop schema test_claim_partitions cascade;
