-- An index on an expression, which the owner of the extension had made on the table of schedules, ended the server at
-- the next write to it; see bug_own_table_index.
\set VERBOSITY sqlstate
set client_min_messages = warning;
create schema test_own_schedule;
set search_path = test_own_schedule, public;
select queue_create('q');
create function seen(value bigint) returns bigint immutable language plpgsql as $$ begin return value + 1; end $$;
-- It is inserted, changed and moved on.
begin;
create index on queue_schedule_definition ((priority + 1));
create index on queue_schedule_definition (test_own_schedule.seen(job));
create index odd on queue_schedule_definition (priority) where priority % 2 = 1;
select queue_schedule('q', 's', every => '1 hour', starts_at => '2000-01-01', payload => '1', priority => 1::smallint) is not null as made;
select queue_schedule('q', 's', every => '1 hour', starts_at => '2000-01-01', payload => '2', priority => 2::smallint) is not null as changed;
update q set run_at = now();
select payload from queue_pop('q');
set local enable_seqscan = off;
set local enable_bitmapscan = off;
select name from queue_schedule_definition where priority % 2 = 1;
select name from queue_schedule_definition where priority + 1 = 3;
select seen(job) = job + 1 as moved_on from queue_schedule_definition where seen(job) = (select max(id) + 1 from q);
select queue_unschedule('q', 's');
rollback;
begin;
alter table queue_schedule_definition add check (priority <> 3);
select queue_schedule('q', 's', every => '1 hour', priority => 3::smallint);
rollback;
begin;
alter table queue_schedule_definition add check (priority <> 3);
select queue_schedule('q', 's', every => '1 hour', priority => 2::smallint) is not null as made;
select queue_schedule('q', 's', every => '1 hour', priority => 3::smallint);
rollback;
drop schema test_own_schedule cascade;
