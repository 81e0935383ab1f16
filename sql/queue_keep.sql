-- archive_keep and dead_keep: what is past its keep is hidden at once, and removed by queue_maintain.
set client_min_messages = warning;
set time zone 'UTC';
create schema test_keep;
set search_path = test_keep, public;
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

-- An archive with slots is made with the queue. The settings are in the view, and in the table's comment.
select queue_create('jobs', archive => true, archive_keep => '6 days', dead_keep => '1 day', max_attempts => 1);
select archive, archive_keep, dead_keep from queues where source = 'jobs'::regclass;
select obj_description('jobs'::regclass);
select inhrelid::regclass as slot, pg_get_expr(c.relpartbound, c.oid) from pg_inherits join pg_class c on c.oid = inhrelid
where inhparent = 'jobs_archive'::regclass order by 1;
select conrelid::regclass, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'jobs_archive'::regclass and contype = 'p';
select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'jobs_archive'::regclass order by 1;
select array_agg(attname order by attnum) from pg_attribute where attrelid = 'jobs_archive'::regclass and attnum > 0;
-- For ever is the default, and '0' says it; null leaves it as it is.
select queue_create('plain', archive => true, archive_keep => '0', dead_keep => '0');
select archive, archive_keep, dead_keep from queues where source = 'plain'::regclass;
select obj_description('plain'::regclass), relkind from pg_class where oid = 'plain_archive'::regclass;
select queue_alter('plain', dead_keep => '2 days');
select queue_alter('plain', archive_keep => '3 days');
select archive_keep, dead_keep from queues where source = 'plain'::regclass;
select queue_alter('plain', lease => '1 minute', archive_keep => '0');
select archive_keep, dead_keep from queues where source = 'plain'::regclass;
select queue_alter('plain', dead_keep => '0');
select archive_keep, dead_keep from queues where source = 'plain'::regclass;
-- Bad values, and where they mean nothing.
select error_of($$select queue_create('bad', archive => true, archive_keep => '-1 second')$$);
select error_of($$select queue_create('bad', dead_keep => '-1 second')$$);
select error_of($$select queue_create('bad', archive_keep => '1 day')$$);
select error_of($$select queue_alter('plain', archive_keep => '-1 day')$$);
select error_of($$select queue_alter('plain', dead_keep => '-1 day')$$);
-- It would come to nothing, which is for ever.
select error_of($$select queue_create('bad', archive => true, archive_keep => '1 month -30 days')$$);
select error_of($$select queue_alter('plain', dead_keep => '1 day -24 hours')$$);
create table things (id integer primary key, taken boolean not null default false);
create index on things (id) where not taken;
select queue_attach('things', 'things', 'not taken', 'id', 'taken = true');
select error_of($$select queue_alter('things', archive_keep => '1 day')$$);
select error_of($$select queue_alter('things', dead_keep => '1 day')$$);
select error_of($$select queue_create(repeat('n', 54), archive => true, archive_keep => '1 day')$$);
select to_regclass(repeat('n', 54));
-- An archive that comes later, with a keep from before, or of the same call.
select queue_create('later');
select queue_alter('later', archive_keep => '1 day');
select queue_alter('later', archive => true);
select queue_create('together');
select queue_alter('together', archive => true, archive_keep => '1 day');
select oid::regclass, relkind from pg_class where oid in ('later_archive'::regclass, 'together_archive'::regclass) order by 1;

-- What is archived goes to the slot of its period: a sixth of the keep, one day.
create function slot_of(moment timestamptz, period interval) returns integer language sql as $$
	select ((floor((extract(epoch from moment) - 946684800) / extract(epoch from period))::bigint % 8 + 8) % 8)::integer
$$;
select queue_send_many('jobs', '{1,2,3,4,5,6,7,8,9}');
select count(*) from queue_pop('jobs', 9, lease => '1 hour');
select queue_complete('jobs', 1, 1, '"one"'), queue_complete_many('jobs', '{2,3}', '{1,1}', '{2,3}'), queue_cancel('jobs', 4);
select completed from queue_complete_pop('jobs', 5, 1, result => '5');
select id, state, result, slot = slot_of(finished_at, '1 day') as placed from jobs_archive order by id;
-- Also by the functions that take a row.
select queue_send('jobs', '10');
select queue_complete_row('jobs', j) from queue_pop_rows(null::jobs) as j;
select id, slot = slot_of(finished_at, '1 day') as placed from jobs_archive where id = 10;

-- And by bulk repairs.
select queue_send('together', '1');
call queue_cancel_where('together', 'true');
select state, slot = slot_of(finished_at, '4 hours') as placed from together_archive;

-- Moves what is in the archive, to when and where it would have been archived.
create procedure age(queue text, ids bigint[], by interval, period interval) language plpgsql as $$
begin
	execute format('update %I set finished_at = finished_at - $2, slot = test_keep.slot_of(finished_at - $2, $3) where id = any ($1)', queue || '_archive')
		using ids, by, period;
end $$;
create function kept(queue text, out ids bigint[], out hidden bigint[]) language plpgsql as $$
begin
	execute format('select array_agg(id order by id) filter (where (queue_result(%L, id)).state is not null),'
		' array_agg(id order by id) filter (where (queue_result(%L, id)).state is null) from %I', queue, queue, queue || '_archive')
		into ids, hidden;
end $$;
-- Within the keep, at its edge, and past it.
call age('jobs', '{1}', '6 days 1 hour', '1 day');
call age('jobs', '{2}', '6 days -1 hour', '1 day');
call age('jobs', '{3}', '3 days', '1 day');
call age('jobs', '{4}', '7 days', '1 day');
select * from kept('jobs');
select * from queue_result('jobs', 1);
-- Slots whose jobs have all expired are truncated. That of the edge has one that has not.
select (select slot from jobs_archive where id = 1) = (select slot from jobs_archive where id = 2) as together \gset
select pg_relation_filenode('jobs_archive_' || slot) as before, slot as expired from jobs_archive where id = 4 \gset
call queue_maintain('jobs');
select pg_relation_filenode('jobs_archive_' || :expired) <> :before as truncated;
select ids from kept('jobs');
select count(*) = :'together'::boolean::integer as tail_is_left from jobs_archive where id = 1;
-- Nothing more to do, and nothing done.
select pg_relation_filenode('jobs_archive_' || :expired) as before \gset
call queue_maintain('jobs');
select pg_relation_filenode('jobs_archive_' || :expired) = :before as untouched;

-- Ten periods without it: a slot has come round again. Its expired rows are deleted, batch by batch, others stay.
insert into jobs_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
select 1000 + n, now(), now(), moment, 1, 1, slot_of(moment, '1 day'), 0, 'completed', '0'
from generate_series(0, 2599) as n, lateral (select now() - '8 days'::interval * (1 + n % 2) - n * '1 microsecond'::interval) as t(moment);
select count(distinct slot) as slots, count(*) as jobs from jobs_archive where id >= 1000;
select ids from kept('jobs');
call queue_maintain('jobs');
select count(*) as left_behind from jobs_archive where finished_at < now() - interval '7 days';
select ids from kept('jobs');
-- A clock that went back, or a keep that was changed: rows are where nobody expects them. What counts is their time.
update jobs_archive set slot = (slot + 3) % 8 where id in (2, 3, 5);
call queue_maintain('jobs');
select ids from kept('jobs');
select queue_alter('jobs', archive_keep => '4 days');
select ids from kept('jobs');
call queue_maintain('jobs');
select id from jobs_archive where id in (2, 3, 5) order by id;
select queue_alter('jobs', archive_keep => '0');
call age('jobs', '{3}', '1000 days', '1 day');
call queue_maintain('jobs');
select ids from kept('jobs');
select queue_send('jobs', '11');
select queue_complete('jobs', id, attempt) from queue_pop('jobs');
select id, slot from jobs_archive where id = 11;
select queue_alter('jobs', archive_keep => '6 days');
call queue_maintain('jobs');
select ids from kept('jobs');

-- The dead: past their keep they go to the archive, for as long as that keeps them.
select queue_send_many('jobs', '{12,13,14}');
select count(*) from queue_pop('jobs', 3, lease => '1 hour');
select count(*) from queue_fail_many('jobs', '{12,13,14}', '{1,1,1}', '{no,no,no}');
update jobs set dead_at = dead_at - interval '1 day -1 hour' where id = 12;
update jobs set dead_at = dead_at - interval '1 day 1 hour' where id in (13, 14);
call queue_maintain('jobs');
select id from jobs where dead_at is not null and dead_at < now() order by id;
select id, state, last_error, finished_at > now() - interval '1 hour' as now, slot = slot_of(finished_at, '1 day') as placed from jobs_archive where id > 11 order by id;
select id, (queue_result('jobs', id)).state from unnest('{12,13}'::bigint[]) as id;
select queue_requeue('jobs', 13), queue_requeue('jobs', 12);
-- Without an archive they are deleted; more than a batch of them.
select queue_create('mortal', dead_keep => '1 hour');
insert into mortal (payload, dead_at, attempt) select to_jsonb(n), now() - interval '1 minute' * (50 + 10 * (n % 3)), 25 from generate_series(1, 3300) as n;
select dead from queue_counts('mortal');
call queue_maintain('mortal');
select count(*) as dead, bool_and(dead_at > now() - interval '1 hour') as kept from mortal;
-- An archive that was switched off does not get them; one that is missing keeps them where they are.
select queue_alter('mortal', archive => true);
update mortal set dead_at = '2001-01-01' where id = (select min(id) from mortal);
drop table mortal_archive;
call queue_maintain('mortal');
select count(*) from mortal where dead_at = '2001-01-01';
select queue_alter('mortal', archive => false);
call queue_maintain('mortal');
select count(*) from mortal where dead_at = '2001-01-01';

-- An archive without slots: what has expired is deleted, by batches.
select queue_send('plain', '1');
select queue_complete('plain', id, attempt) from queue_pop('plain');
insert into plain_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
select 10 + n, now(), now(), now() - interval '10 minutes' * n, 1, 1, 0, 'completed', '0' from generate_series(1, 5000) as n;
call queue_maintain('plain');
select count(*) from plain_archive;
select queue_alter('plain', archive_keep => '10000 minutes');
select count(*) as read from plain_archive, queue_result('plain', id) where queue_result.state is not null;
call queue_maintain('plain');
select count(*) from plain_archive;
-- queue_upgrade gives it slots, with what it has of its own.
create role regress_keep;
create role "regress_keep 2";
grant select, insert on plain_archive to regress_keep with grant option;
grant select (id, state) on plain_archive to "regress_keep 2";
grant delete on plain_archive to public;
-- It gets no others, such as the default privileges of today, or those that the owner has taken from itself.
revoke truncate on plain_archive from current_user;
alter default privileges in schema test_keep grant select, references on tables to "regress_keep 2";
alter table plain_archive add column note text default 'none', add constraint positive check (id > 0);
comment on column plain_archive.note is 'of one''s own';
select 'plain_archive'::regclass::oid as old \gset
select queue_upgrade('plain');
select queue_upgrade('plain');
select count(*) as tables, bool_or(oid = :old) as old from pg_class where relname ~ '^plain_archive' and relkind in ('r', 'p');
select archive from queues where source = 'plain'::regclass;
select count(*), count(distinct slot) between 6 and 7 as spread, bool_and(slot = slot_of(finished_at, '100000 seconds')) as placed,
	bool_and(note = 'none') as noted from plain_archive where finished_at < now() - interval '5 seconds';
select grantee::regrole, privilege_type, is_grantable from pg_class, aclexplode(relacl)
where oid = 'plain_archive'::regclass and grantee <> relowner order by 1, 2;
select string_agg(privilege_type, ' ' order by privilege_type) from pg_class, aclexplode(relacl)
where oid = 'plain_archive'::regclass and grantee = relowner and privilege_type <> 'MAINTAIN';
select count(*) from pg_class, aclexplode(relacl) where relname ~ '^plain_archive_\d' and grantee <> relowner;
alter default privileges in schema test_keep revoke select, references on tables from "regress_keep 2";
select attname, regexp_replace(attacl::text, '/[^,}"]+', '', 'g') as acl from pg_attribute where attrelid = 'plain_archive'::regclass and attacl is not null order by attname;
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'plain_archive'::regclass and contype <> 'n' order by conname;
select col_description('plain_archive'::regclass, attnum) from pg_attribute where attrelid = 'plain_archive'::regclass and attname = 'note';
select queue_send('plain', '2');
select queue_complete('plain', id, attempt, '2') from queue_pop('plain');
select id, result, note, (queue_result('plain', id)).state from plain_archive where id = 2;
-- One in a publication stays as it is.
select queue_create('published', archive => true);
select queue_alter('published', archive_keep => '1 hour');
set client_min_messages = error;
create publication regress_keep for table published_archive;
set client_min_messages = warning;
select queue_upgrade('published');
select count(*) from pg_publication_tables where pubname = 'regress_keep' and tablename = 'published_archive';
drop publication regress_keep;
select queue_upgrade('published');
-- One with a trigger, policies or rules, or with a column slot, stays as it is, and works.
create table odd_note (id bigint);
create function note() returns trigger language plpgsql as $$ begin insert into odd_note values (old.id); return null; end $$;
select queue_create('odd', archive => true);
select queue_alter('odd', archive_keep => '1 hour');
create trigger noted after delete on odd_archive for each row execute function note();
select queue_upgrade('odd');
select relkind from pg_class where oid = 'odd_archive'::regclass;
insert into odd_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
values (1, now(), now(), now() - interval '2 hours', 1, 1, 0, 'completed', '0');
-- The trigger runs as the owner, with the path of the statement: so it must name its tables.
\set VERBOSITY sqlstate
call queue_maintain('odd');
\set VERBOSITY default
create or replace function note() returns trigger language plpgsql as $$ begin insert into test_keep.odd_note values (old.id); return null; end $$;
call queue_maintain('odd');
select * from odd_note;
select count(*) from odd_archive;
drop trigger noted on odd_archive;
alter table odd_archive add column slot text;
select queue_upgrade('odd');
alter table odd_archive drop column slot;
create view odd_view as select id from odd_archive;
select error_of($$select queue_upgrade('odd')$$);
drop view odd_view;
select queue_upgrade('odd');

-- Rights: who may delete the jobs may do what the owner has set; nothing else is done.
select queue_create('others', archive => true, archive_keep => '1 hour');
grant usage on schema test_keep to regress_keep, "regress_keep 2";
grant select, delete on others to regress_keep;
grant select, update on others to "regress_keep 2";
insert into others_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
values (1, now(), now(), now() - interval '2 hours', 1, 1, 3, 0, 'completed', '0');
set role "regress_keep 2";
\set VERBOSITY sqlstate
call queue_maintain('others');
call queue_maintain('things');
call queue_maintain('none');
call queue_maintain('a b');
\set VERBOSITY default
call queue_maintain();
reset role;
select count(*) from others_archive;
set role regress_keep;
call queue_maintain();
reset role;
select count(*) from others_archive;
-- Not where it could not commit, or may not write.
\set VERBOSITY sqlstate
begin;
call queue_maintain('others');
rollback;
select error_of($$call queue_maintain('others')$$) like '2D000%' as refused;
set default_transaction_read_only = on;
call queue_maintain('others');
reset default_transaction_read_only;
\set VERBOSITY default
-- At every isolation level.
insert into others_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
values (1, now(), now(), now() - interval '2 hours', 1, 1, 3, 0, 'completed', '0');
set default_transaction_isolation = 'serializable';
call queue_maintain('others');
reset default_transaction_isolation;
select count(*) from others_archive;
-- A role that the policies of its own table bind does not truncate what it cannot see.
alter table others owner to regress_keep;
alter table others_archive owner to regress_keep;
alter table others_archive_3 owner to regress_keep;
alter table others_archive_3 enable row level security, force row level security;
create policy seen on others_archive_3 using (id = 1);
insert into others_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
select n, now(), now(), now() - interval '1 hour' * n, 1, 1, 3, 0, 'completed', '0' from generate_series(0, 2) as n;
set role regress_keep;
call queue_maintain('others');
reset role;
select id from others_archive order by id;

-- The table alone is left, or the archive alone: queue_adopt knows the keep by the comment.
select queue_detach('jobs'), queue_adopt('jobs');
select archive, archive_keep, dead_keep from queues where source = 'jobs'::regclass;
select queue_send('jobs', '15');
select queue_complete('jobs', id, attempt) from queue_pop('jobs') where payload = '15';
select queue_detach('jobs');
drop table jobs_archive;
select queue_adopt('jobs');
select relkind from pg_class where oid = 'jobs_archive'::regclass;
select queue_detach('jobs');
comment on table jobs is 'queue of queue_ext: {"lease": "1 s", "max_attempts": 1, "backoff_base": "1 s", "backoff_cap": "1 s", "archive": true, "archive_keep": "-1 s"}';
\set VERBOSITY sqlstate
select queue_adopt('jobs');
\set VERBOSITY default
comment on table jobs is null;
select queue_adopt('jobs');
select archive, archive_keep, dead_keep from queues where source = 'jobs'::regclass;

-- The slots go with the queue.
select queue_drop('jobs');
select count(*) from pg_class where relname ~ '^jobs_archive';
drop schema test_keep cascade;
drop role regress_keep, "regress_keep 2";
