-- queue_health: each finding, where it appears and where it does not.
set client_min_messages = warning;
create schema test_health;
set search_path = test_health, public;
set queue_ext.claim_path = auto;
-- What a look for jobs took is of the machine, too, so that it is left out, but where a condition takes long.
create function found(queue text) returns table (finding text, severity text, queue text)
language sql as $$ select finding, severity, queue from queue_health($1) where finding <> 'sweeps_dear' or $1 = 'tasks' order by finding $$;

-- Nothing of a new queue, with jobs that are late by a little and workers that come.
select queue_create('jobs', lease => '1 minute');
select queue_create('"Kept ""ones"""', archive => true);
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[100]));
select count(*) from queue_pop('jobs', 10);
select * from found('jobs');
select * from found('"Kept ""ones"""');
select queue_health('none');

-- Jobs that nobody takes. The patience is of five minutes; a worker has just come.
show queue_ext.health_patience;
set queue_ext.health_patience = 0;
select * from found('jobs');
select detail ~ '^Jobs are ready, and no worker has looked for one for \d+ s\.$' as detail, hint from queue_health('jobs');
select queue_pause('jobs');
select * from found('jobs');
select queue_resume('jobs');
reset queue_ext.health_patience;
-- None is ready.
select queue_create('few');
select count(*) from queue_send_many('few', '{1,2,3}');
select count(*) from queue_pop('few');
set queue_ext.health_patience = 0;
select * from found('few');
update few set run_at = 'infinity';
select * from found('few');
reset queue_ext.health_patience;
update jobs set run_at = 'infinity';

-- Ready for longer than ten leases; retried, it is ready from then on.
select queue_send('jobs', '"old"', priority => -1, run_at => now() - interval '11 minutes');
select count(*) from queue_pop('jobs', 0 + 1, lease => '1 microsecond');
select * from found('jobs');
update jobs set leased_until = now() - interval '11 minutes' where leased_until < now();
select * from found('jobs');
select detail, hint from queue_health('jobs');
select queue_pause('jobs');
select detail, hint from queue_health('jobs');
select queue_resume('jobs');
select queue_alter('jobs', lease => '2 minutes');
select * from found('jobs');
select queue_alter('jobs', lease => '1 minute');
delete from jobs;
-- Behind many leased ones, of a larger priority: the statistics know of it.
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[100]));
select queue_send('jobs', '"starved"', priority => 7, run_at => now() - interval '11 minutes');
select count(*) from queue_pop('jobs', 99);
select * from found('jobs');
select count(*) from queue_pop('jobs', 2);
select * from found('jobs');
alter table jobs alter id restart with 1;
delete from jobs;
-- One that plain SQL has deleted since, of which the statistics know nothing: the index shows that there is none.
select queue_create('emptied', lease => '1 minute');
select queue_send('emptied', '1', run_at => now() - interval '11 minutes');
select * from found('emptied');
delete from emptied;
select * from found('emptied');
select queue_drop('emptied');
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[100]));

-- Dead jobs: by the end of a lease, and by a failure. One that will be dead is not.
update jobs set dead_at = now() + interval '1 day' where id = 1;
select * from found('jobs');
update jobs set dead_at = now() - interval '1 day', leased_until = now() - interval '1 day' where id = 1;
select * from found('jobs');
update jobs set dead_at = now() - interval '2 days', leased_until = null where id = 2;
select regexp_replace(detail, 'died at .*', 'died at ...'), hint from queue_health('jobs');
update jobs set dead_at = now() - interval '2 days', leased_until = null where id > 1;
select regexp_replace(detail, 'died at .*', 'died at ...') from queue_health('jobs');
delete from jobs where id > 3;
delete from jobs where id < 3;
update jobs set dead_at = null;
select * from found('jobs');

-- A table of the layout before, and one without its index of dead jobs.
update jobs set dead_at = now() where id = 3;
drop index jobs_dead_at_idx;
select * from found('jobs');
select queue_upgrade('jobs');
select * from found('jobs');
delete from jobs;
alter table jobs drop column kind;
select finding, severity, detail, hint from queue_health('jobs');
select queue_upgrade('jobs');
select * from found('jobs');

-- Leases that end, again and again; a few are nothing.
select queue_send('jobs', '1', max_attempts => 1000);
create function expire(times integer) returns void language sql as $$
	select queue_pop('jobs', lease => '1 microsecond') from generate_series(1, times)
$$;
select expire(10);
select * from found('jobs');
select expire(1);
select finding, severity, regexp_replace(detail, 'since .* were', 'since ... were') as detail, hint from queue_health('jobs');
select count(*) from (select queue_send('jobs', '1') from generate_series(1, 220)) as sent;
select count(*) from queue_pop('jobs', 1000);
select * from found('jobs');
select queue_stats_reset('jobs');
select * from found('jobs');
delete from jobs;

-- A claim index that was dropped, is not of this order, or not valid.
drop index jobs_priority_run_at_id_idx;
select * from found('jobs');
create index on jobs (priority, run_at desc, id) where dead_at is null;
create index on jobs (priority, run_at, id);
create index on jobs (priority, run_at, id) where dead_at is null and id > 7;
create index on jobs (priority, run_at, id) where dead_at is not null;
select * from found('jobs');
select hint from queue_health('jobs') \gset
select replace(:'hint', ' CONCURRENTLY', '') as command \gset
:command
select * from found('jobs');

-- The wake trigger.
alter table jobs disable trigger queue_ext_wake;
select * from found('jobs');
select detail, hint from queue_health('jobs') \gset
\echo :detail
:hint
select * from found('jobs');
drop trigger queue_ext_wake on jobs;
select * from found('jobs');
select detail, replace(hint, 'public.', '') as hint from queue_health('jobs') \gset
\echo :detail
:hint
select * from found('jobs');

-- The sequence: behind the table, behind the archive, near its end, at it.
insert into jobs (id, payload) overriding system value values (200, '1');
select * from found('jobs');
select detail, hint from queue_health('jobs') \gset
\echo :detail
:hint
select * from found('jobs');
select queue_send('jobs', '1');
insert into "Kept ""ones""" (id, payload) overriding system value values (5, '1');
select queue_cancel('"Kept ""ones"""', 5);
select finding, detail, hint from queue_health('"Kept ""ones"""');
select setval('"Kept ""ones""_id_seq"', 5);
select * from found('"Kept ""ones"""');
alter table jobs alter id set maxvalue 1000;
select * from found('jobs');
alter table jobs alter id restart with 950;
select finding, severity, detail, hint from queue_health('jobs') \gset
\echo :finding :severity :detail :hint
alter table jobs alter id restart with 1000;
select queue_send('jobs', '1');
select * from found('jobs');
alter table jobs alter id set cycle;
select * from found('jobs');
alter table jobs alter id set no cycle;
:hint
select * from found('jobs');

-- The archive's size, as VACUUM has noted it.
update pg_class set relpages = 131071, reltuples = 5000000 where relname = 'Kept "ones"_archive';
select * from found('"Kept ""ones"""');
update pg_class set relpages = 131072 where relname = 'Kept "ones"_archive';
select finding, severity, detail, hint from queue_health('"Kept ""ones"""');
-- Not if it has an end.
select queue_alter('"Kept ""ones"""', archive_keep => '90 days');
select * from found('"Kept ""ones"""');
select queue_alter('"Kept ""ones"""', archive_keep => '0');
select queue_alter('"Kept ""ones"""', archive => false);
select * from found('"Kept ""ones"""');

-- Slower ways of claiming, and why.
create function log() returns trigger language plpgsql as 'begin return new; end';
create trigger log before update on jobs for each row execute function log();
select finding, severity, detail, hint from queue_health('jobs');
drop trigger log on jobs;
select * from found('jobs');
create table tasks (id bigint primary key, state text not null default 'new', at timestamptz);
create index on tasks (id) where state = 'new';
create function is_night() returns boolean language plpgsql as 'begin return true; end';
select queue_attach('nightly', 'tasks', pending => $$state = 'new' and is_night()$$, order_by => 'id', on_claim => $$state = 'busy'$$);
select finding, severity, detail, hint from queue_health('nightly');
-- An attached queue may do without the trigger, but not without its index, nor without its column.
select queue_attach('tasks', 'tasks', pending => $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'busy', at = call_time$$);
select * from found('tasks');
select queue_detach('tasks');
select queue_attach('tasks', 'tasks', pending => $$state = 'new'$$, order_by => 'id', on_claim => $$state = 'busy', at = call_time$$, wake => true);
select * from found('tasks');
alter table tasks disable trigger queue_ext_wake;
select * from found('tasks');
alter table tasks enable always trigger queue_ext_wake;
drop index tasks_id_idx;
select * from found('tasks');
create index on tasks (id) where state = 'new';
select * from found('tasks');
alter table tasks drop column at;
select finding, severity, detail, hint from queue_health('tasks');
-- The other queue of the table does not need it.
select finding from queue_health('nightly');
select queue_detach('tasks');
drop function is_night();
select * from found('nightly');
select queue_detach('nightly');

-- Dear sweeps.
create function is_easy(id bigint) returns boolean language plpgsql immutable as 'begin perform pg_sleep(0.06); return true; end';
select queue_attach('tasks', 'tasks', pending => $$state = 'new' and is_easy(id)$$, order_by => 'id', on_claim => $$state = 'busy'$$);
select * from found('tasks');
insert into tasks values (1), (2);
select id from queue_pop_rows(null::tasks);
select finding, severity, regexp_replace(detail, '\d+ ms', '... ms') as detail, hint from queue_health('tasks');

-- Queues of others: what they need is told, what is in them is not.
create role regress_health_user;
create role regress_health_reader;
grant usage on schema test_health to regress_health_user, regress_health_reader;
grant select on jobs to regress_health_reader;
update jobs set dead_at = now() - interval '1 day';
drop index jobs_priority_run_at_id_idx4;
set role regress_health_user;
select * from found('jobs');
set role regress_health_reader;
select * from found('jobs');
reset role;
alter table jobs enable row level security;
set role regress_health_reader;
select * from found('jobs');
reset role;
select * from found('jobs');
-- All queues: the same, and of tables that another session may have locked, nothing.
select finding, severity, queue from queue_health() where queue like 'test_health.%' and queue <> 'test_health.few' order by queue, finding;
-- The functions of a queue's owner do not run as the caller: here a claim's condition that the planner
-- evaluates, and that asks who does.
create table whose (id bigint primary key, done boolean not null default false);
alter table whose owner to regress_health_user;
create function nobody() returns boolean language sql immutable as 'select true';
select queue_attach('whose', 'whose', pending => 'not done and nobody()', order_by => 'id', on_claim => 'done = true');
create or replace function nobody() returns boolean language plpgsql immutable as
	'begin raise exception ''called by %'', current_user; end';
grant regress_health_user to regress_health_reader;
set role regress_health_reader;
select finding, severity, detail, hint from queue_health('whose');
select current_user, current_setting('lock_timeout');
-- A superuser is not of the owner's role, and does not run them.
reset role;
select finding, severity, detail, hint from queue_health('whose');
-- In a transaction that is read-only, and at every isolation level.
begin transaction isolation level serializable read only;
select finding, queue from queue_health('jobs') order by 1;
rollback;

-- The extension's objects are older than the library.
begin;
select finding, severity from queue_health() where finding like 'extension%';
update pg_extension set extversion = '0.1' where extname = 'queue_ext';
select finding, severity, queue, regexp_replace(detail, '\d+\.\d+\.\d+', '...') as detail, hint from queue_health() where finding like 'extension%';
-- A queue alone has nothing of it.
select count(*) from queue_health('jobs') where finding like 'extension%';
rollback;

drop schema test_health cascade;
drop role regress_health_user, regress_health_reader;
