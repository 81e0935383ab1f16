-- Tables that 0.1 made: they go on as they are, and queue_upgrade brings them to the layout that
-- queue_create makes now.
set queue_ext.claim_path = auto;
set client_min_messages = warning;
create schema test_queue_upgrade;
set search_path = test_queue_upgrade, public;
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/queue_0_1.sql
\set ECHO none
\set queue jobs
\i :layout
\set queue second
\i :layout
\set queue late
\i :layout
\set queue others
\i :layout
\set ECHO all
select queue_adopt('jobs'), queue_adopt('second'), queue_adopt('late'), queue_adopt('others');
create view layout as
select attrelid::regclass as relation, string_agg(format('%s %s%s', attname, format_type(atttypid, atttypmod),
	case when attcollation <> 0 then format(' collate %s', attcollation::regcollation) end), ', ' order by attname) as added,
	bool_or(attnotnull) as required
from pg_attribute
where attname in ('claimed_at', 'kind', 'released', 'result', 'errors', 'progress', 'origin', 'expires_at') and not attisdropped
	and attrelid in (select oid from pg_class where relnamespace = 'test_queue_upgrade'::regnamespace)
group by attrelid;
create view claims as
select queue, on_claim like '%, claimed_at = call_time' as says_when
from queues where queue like 'test\_queue\_upgrade.%' order by queue;
create view indexes as
select tablename, regexp_replace(indexdef, 'INDEX ("[^"]+"|\S+)', 'INDEX') as index
from pg_indexes where schemaname = 'test_queue_upgrade' and indexdef like '%(dead_at)%' order by 1, 2;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;

-- The old layout: everything works, by the same path.
table claims;
select relation, added from layout order by relation::text;
select path, reason from queue_claim_path('jobs');
select queue_send_many('jobs', '{1,2,3,4,5,6,7,8,9,10}');
select id, attempt from queue_pop('jobs', 6, lease => '1 hour', worker => 'w');
select queue_complete('jobs', 1, 1), queue_cancel('jobs', 2), queue_release('jobs', 3, 1), queue_extend('jobs', 4, 1);
select queue_fail('jobs', 5, 1, 'no luck', retry_in => '0');
select id, state, leased_by from jobs_archive order by id;

-- Over it, leases are kept.
select queue_upgrade('jobs');
-- Again: nothing to do, and nothing locked for it.
begin;
select queue_upgrade('jobs');
select relation::regclass, mode from pg_locks where pid = pg_backend_pid() and relation in ('jobs'::regclass, 'jobs_archive'::regclass);
commit;
table claims;
select relation, added, required from layout order by relation::text;
table indexes;
select path, reason from queue_claim_path('jobs');
select queue_complete('jobs', 4, 1), queue_complete('jobs', 4, 1) as stale;
select count(*) as of_old_claims, count(claimed_at) as known from jobs where attempt > 0;
select id, state, claimed_at, kind from jobs_archive order by id;

-- A claim says when it was made, by each path, and goes on being a HOT update; so is a heartbeat.
create procedure take(path text) language plpgsql as $$
declare
	before timestamptz := clock_timestamp();
	lease interval := '1 hour';
	taken bigint;
	shown boolean;
begin
	perform set_config('queue_ext.claim_path', path, true);
	select j.id into taken from queue_pop('jobs', lease => lease) as j;
	select claimed_at between before and clock_timestamp() and claimed_at = leased_until - lease into shown
	from jobs where id = taken;
	raise notice '% claims %: %', path, taken, shown;
end $$;
create view writes as
select n_tup_upd as updates, n_tup_hot_upd as hot from pg_stat_xact_user_tables where relid = 'jobs'::regclass;
set client_min_messages = notice;
begin;
select updates as updates_before, hot as hot_before from writes \gset
call take('direct');
call take('tid');
call take('portable');
select queue_extend('jobs', 8, 1);
select updates - :updates_before as updates, hot - :hot_before as hot from writes;
commit;
set client_min_messages = warning;
select payload from queue_pop_rows(null::jobs, lease => '1 hour');
select count(*) as known from jobs where claimed_at is not null;

-- It is the time of the last claim: what ends the claim leaves it, and so does a requeue.
create temporary table before as select id, claimed_at from jobs;
select queue_release('jobs', id, attempt), queue_send('jobs', '11', max_attempts => 1)
from jobs where claimed_at is not null order by id limit 1;
select queue_fail('jobs', id, attempt, 'no', retry_in => '1 day') from jobs where leased_until is not null and claimed_at is not null order by id limit 1;
select count(*) as same from jobs join before using (id, claimed_at);
update jobs set run_at = 'infinity' where attempt = 0 and max_attempts > 1 or leased_until is null and attempt > 0;
select id, attempt from queue_pop('jobs', lease => '0.01 s');
select queue_fail('jobs', 11, 1, 'dead');
select attempt, dead_at <= clock_timestamp() as dead, claimed_at < dead_at as claimed_before from jobs where id = 11;
create temporary table dead as select claimed_at from jobs where id = 11;
select queue_requeue('jobs', 11);
select dead_at, claimed_at = (table dead) as same from jobs where id = 11;
select id, attempt from queue_pop('jobs');
select claimed_at > (table dead) as later from jobs where id = 11;
create temporary table last as select claimed_at from jobs where id = 11;
update jobs set kind = 'mail' where id = 11;
select queue_complete('jobs', 11, 2);
select state, claimed_at = (table last) as same, claimed_at < finished_at as before, kind from jobs_archive where id = 11;
-- In a batch, with the next pop, and of a job that never was claimed.
select queue_send_many('jobs', '{12,13,14,15}');
select count(*) from queue_pop('jobs', 2);
select queue_complete_many('jobs', '{12,13}', '{1,1}');
select id, attempt from queue_pop('jobs');
select completed, id from queue_complete_pop('jobs', 14, 1);
select queue_cancel('jobs', 10);
select id, state, claimed_at < finished_at as claimed from jobs_archive where id in (10, 12, 13, 14) order by id;

-- An index that is there already serves: so the big tables can have it before.
create index concurrently by_death on second (dead_at) where dead_at is not null;
select queue_upgrade('test_queue_upgrade.second');
select indexrelid::regclass from pg_index where indrelid = 'second'::regclass and indexrelid::regclass::text ~ 'dea';

-- Rolled back, it has not been; also where the transaction has used the new layout.
begin;
select queue_upgrade('late');
select relation::regclass, string_agg(mode, ', ' order by mode) as modes from pg_locks
where pid = pg_backend_pid() and relation in ('late'::regclass, 'late_archive'::regclass) group by relation order by relation;
select queue_send('late', '1');
select id, attempt from queue_pop('late', lease => '1 hour');
select claimed_at is not null as known from late;
rollback;
table claims;
begin;
select queue_send('late', '2');
savepoint s;
select queue_upgrade('late');
select id, attempt from queue_pop('late', lease => '1 hour');
rollback to s;
select id, attempt from queue_pop('late', lease => '1 hour');
select queue_complete('late', 2, 1);
commit;
table claims;
select id from late_archive;
select path from queue_claim_path('late');

-- A column of one's own in the way. Nothing is changed then.
alter table late add kind text;
select error_of('select queue_upgrade(''late'')');
alter table late rename kind to sort;
alter table late_archive add claimed_at date;
select error_of('select queue_upgrade(''late'')');
select relation, added from layout where relation::text like 'late%';
alter table late_archive drop claimed_at;
-- One of the very type is taken for the queue's.
alter table late add claimed_at timestamptz;
select id, attempt from queue_pop('late');
select queue_send('late', '3');
select id, attempt from queue_pop('late', lease => '1 hour');
select count(claimed_at) as known from late;

-- All of one's own: not those of others, nor attached ones.
create role regress_upgrade;
grant create on schema test_queue_upgrade to regress_upgrade;
grant usage on schema test_queue_upgrade to regress_upgrade;
alter table others owner to regress_upgrade;
alter table others_archive owner to regress_upgrade;
create table things (id integer primary key, taken boolean not null default false);
create index on things (id) where not taken;
select queue_attach('things', 'things', 'not taken', 'id', 'taken = true');
select queue_create('"New Queue"');
select error_of('select queue_upgrade(''things'')');
select error_of('select queue_upgrade(''none'')');
select error_of('select queue_upgrade(''a b'')');
begin read only;
select error_of('select queue_upgrade()');
rollback;
set role regress_upgrade;
select error_of('select queue_upgrade(''late'')');
select * from queue_upgrade();
select * from queue_upgrade();
reset role;
table claims;
select queue_upgrade() intersect select queue from claims;
select queue_upgrade() intersect select queue from claims;
table claims;
table indexes;

-- The archive may lag behind, or not be one's own: what both have is kept.
\set ECHO none
\set queue old
\i :layout
\set ECHO all
select queue_adopt('old');
alter table old_archive owner to regress_upgrade;
grant insert, select on old_archive to current_user;
select queue_upgrade('old');
select relation, added from layout where relation::text like 'old%';
select queue_upgrade('old');
select queue_send('old', '1');
select queue_complete('old', id, attempt) from queue_pop('old');
select id, state from old_archive;
alter table old_archive owner to current_user;
-- A session that has the statement learns of the change.
select queue_send('old', '2');
select id, attempt from queue_pop('old');
select queue_upgrade('old');
select queue_complete('old', 2, 1);
select id, claimed_at < finished_at as claimed from old_archive order by id;
select queue_alter('old', archive => false);
alter table old_archive drop kind;
select queue_upgrade('old');
drop table old_archive;
select queue_upgrade('old');

-- Privileges on single columns: who could claim, send and complete still can.
\set ECHO none
\set queue granted
\i :layout
\set ECHO all
select queue_adopt('granted');
create role "regress_upgrade 2";
grant usage on schema test_queue_upgrade to "regress_upgrade 2";
grant select (id, run_at, created_at, leased_until, dead_at, attempt, max_attempts, priority, leased_by, last_error, payload, unique_key),
	insert (payload, priority, run_at, max_attempts) on granted to "regress_upgrade 2";
grant update (attempt, leased_until, leased_by, dead_at) on granted to public;
grant delete on granted to "regress_upgrade 2";
grant select (leased_by) on granted to regress_upgrade with grant option;
grant select (id, priority, leased_by, last_error), insert on granted_archive to "regress_upgrade 2";
set role "regress_upgrade 2";
select queue_send_many('granted', '{1,2}');
select id, attempt from queue_pop('granted', lease => '1 hour');
reset role;
select queue_upgrade('granted');
select attname, regexp_replace(attacl::text, '/[^,}"]+', '', 'g') as acl from pg_attribute
where attrelid in ('granted'::regclass, 'granted_archive'::regclass) and attname in ('claimed_at', 'kind', 'released', 'result', 'errors', 'progress', 'origin', 'expires_at')
order by attrelid, attname;
set role "regress_upgrade 2";
select id, attempt from queue_pop('granted', lease => '1 hour');
select queue_complete_many('granted', '{1,2}', '{1,1}');
reset role;
select id, claimed_at is not null as known from granted_archive order by id;

-- One dead job is found by its id, not among all dead ones, also where the statistics know of no dead ones.
select queue_create('many');
alter table many set (autovacuum_enabled = off);
create view read as
select coalesce(idx_tup_fetch, 0) as rows from pg_stat_xact_user_tables where relid = 'many'::regclass;
insert into many (payload) select '1' from generate_series(1, 10000);
vacuum analyze many;
update many set dead_at = '2020-01-01' where id <= 200;
begin;
select rows as rows_before from read \gset
select queue_requeue('many', 7);
select queue_requeue_many('many', '{8,9}');
select rows - :rows_before as rows from read;
select id from many where dead_at is null and id <= 200 order by id;
rollback;

-- queue_adopt knows both layouts.
select queue_detach('jobs'), queue_detach('"New Queue"'), queue_detach('others');
drop index others_dead_at_idx;
alter table "New Queue" alter kind type text collate "default";
select queue_adopt('jobs'), queue_adopt('"New Queue"'), queue_adopt('others');
table claims;
table indexes;

set client_min_messages = error;
drop schema test_queue_upgrade cascade;
drop role regress_upgrade;
drop role "regress_upgrade 2";
