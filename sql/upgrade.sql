-- An installation of 0.1 that is updated has the objects of a fresh one, down to their
-- comments and privileges, and keeps its queues, throttles and locks.
set client_min_messages = warning;
\set home :DBNAME
create database test_upgrade;
\c test_upgrade
set client_min_messages = warning;
create schema "Tools";
create schema test;
set search_path = test, "Tools";

-- Each line a property of a member of the extension, or of a part of one.
create view test.member as
select classid, objid, pg_describe_object(classid, objid, 0) as name
from pg_depend
where refclassid = 'pg_extension'::regclass and deptype = 'e'
	  and refobjid = (select oid from pg_extension where extname = 'queue_ext');
create view test.shape as
select name, 'member' as property, null::text as value from member
union all
select name, 'function', pg_get_functiondef(oid) from member join pg_proc on classid = 'pg_proc'::regclass and oid = objid
union all
select name, 'privileges', acl::text
from member
cross join lateral (
	select proacl from pg_proc where classid = 'pg_proc'::regclass and oid = objid
	union all
	select relacl from pg_class where classid = 'pg_class'::regclass and oid = objid
	union all
	select typacl from pg_type where classid = 'pg_type'::regclass and oid = objid
) as a(acl)
union all
select name, 'initial privileges', format('%s %s', i.objsubid, initprivs)
from member m join pg_init_privs i on i.classoid = m.classid and i.objoid = m.objid
union all
select name, 'comment', format('%s %s', objsubid, description)
from member m join pg_description d on d.classoid = m.classid and d.objoid = m.objid
union all
select name, 'relation', concat_ws(' ', relkind, relpersistence, am.amname, reltoastrelid > 0, relreplident,
	relrowsecurity, relforcerowsecurity, reloptions, relhasrules, relhastriggers)
from member join pg_class c on classid = 'pg_class'::regclass and c.oid = objid left join pg_am am on am.oid = relam
union all
select name, 'column ' || attnum, concat_ws(' ', attname, format_type(atttypid, atttypmod), attcollation::regcollation,
	attnotnull, attidentity, attgenerated, attstorage, attisdropped, attacl,
	-- 17.12 stamps each column anew.
	(select array_agg(option) from unnest(attoptions) as option where option !~ '^pg_attver='), pg_get_expr(adbin, adrelid))
from member
join pg_attribute on classid = 'pg_class'::regclass and attrelid = objid and attnum > 0
left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select name, 'constraint ' || conname, concat_ws(' ', contype, pg_get_constraintdef(c.oid), convalidated, condeferrable,
	obj_description(c.oid, 'pg_constraint'))
from member join pg_constraint c on classid = 'pg_class'::regclass and conrelid = objid
union all
select name, 'index', concat_ws(' ', pg_get_indexdef(indexrelid), indisprimary, indisvalid,
	obj_description(indexrelid, 'pg_class'))
from member join pg_index on classid = 'pg_class'::regclass and indrelid = objid
union all
select name, 'view', pg_get_viewdef(c.oid)
from member join pg_class c on classid = 'pg_class'::regclass and c.oid = objid and relkind = 'v'
union all
select name, 'trigger', pg_get_triggerdef(t.oid)
from member join pg_trigger t on classid = 'pg_class'::regclass and tgrelid = objid
union all
select name, 'type', concat_ws(' ', typtype, typname, typcategory, format_type(typbasetype, typtypmod))
from member join pg_type t on classid = 'pg_type'::regclass and t.oid = objid
union all
select name, 'owner', pg_get_userbyid(refobjid)
from member m join pg_shdepend d on d.classid = m.classid and d.objid = m.objid and d.deptype = 'o'
union all
select extname, 'version', concat_ws(' ', extversion, extrelocatable, extnamespace::regnamespace,
	obj_description(e.oid, 'pg_extension'))
from pg_extension e where extname = 'queue_ext'
union all
select extname, 'dumped', format('%s %s', t.oid::regclass, t.condition)
from pg_extension e cross join lateral unnest(extconfig, extcondition) as t(oid, condition)
where extname = 'queue_ext';

-- 0.1, under the library that there is now.
create extension queue_ext schema "Tools" version '0.1';
select queue_create('emails', lease => '7 minutes', max_attempts => 3, archive => true);
create table items (id integer primary key, taken boolean not null default false);
create index on items (id) where not taken;
insert into items values (1), (2);
select queue_attach('work', 'items', 'not taken', 'id', 'taken = true');
select queue_send_many('emails', '{1,2,3}');
select id, attempt from queue_pop('emails', lease => '1 hour');
select * from queue_unique_insert('emails', '4', states => '{done,ready}');
-- A queue that the library of 0.1 has made.
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/queue_0_1.sql
\set queue letters
\set ECHO none
\i :layout
\set ECHO all
insert into queue_definition (name, source, managed, claim_mode, lease, max_attempts, backoff_base, backoff_cap, archived, archive,
	pending, order_by, on_claim, on_complete, on_release, on_fail, on_extend, search_path)
select 'letters', 'letters', managed, claim_mode, lease, max_attempts, backoff_base, backoff_cap, true, 'letters_archive',
	pending, order_by, replace(on_claim, ', claimed_at = call_time', ''), on_complete, replace(on_release, ', released = least(coalesce(released, 0), 2147483646) + 1', ''), replace(replace(regexp_replace(on_fail, ', errors = .*', ''), ' and retry', ''), ' or not retry', ''),
	replace(on_extend, ', progress = coalesce(new_progress, progress)', ''), search_path
from queue_definition where name = 'emails';
select queue_send_many('letters', '{1,2,3}');
select id, attempt from queue_pop('letters', lease => '1 hour');
select throttle_create('front page', '100 years');
select lock_throttled_resource('front page', 'before');
select mutex_acquire('import');
\c

-- In a session that has used it, and in one that has not.
set search_path = test, "Tools";
select id from queue_pop('emails', lease => '1 hour');
select id, attempt from queue_pop('letters', lease => '1 hour');
alter extension queue_ext update;
select id from queue_pop('emails', lease => '1 hour');
select queue_upgrade();
select id, attempt from queue_pop('letters', lease => '1 hour');
select queue_complete_many('letters', '{1,2,3}', '{1,1,1}');
\c
set search_path = test, "Tools";
select queue_complete('emails', 1, 1), queue_complete('emails', 2, 1);
select id, state from emails_archive order by id;
select id, state, claimed_at is not null as known from letters_archive order by id;
select queue, lease, max_attempts, archive from queues order by queue;
select id from queue_pop_rows(null::items);
select id, attempt from queue_pop('emails', max_jobs => 2, lease => '1 hour');
select queue_complete('emails', 4, 1);
select * from queue_unique_insert('emails', '4', states => '{done,ready}');
select lock_throttled_resource('front page', 'after');
select mutex_acquire('import'), mutex_release('import');
create table updated as select * from shape;
select count(*) > 100 as are_many from updated;

drop extension queue_ext;
create extension queue_ext schema "Tools";
select 'only if updated' as difference, u.* from (select * from updated except all select * from shape) as u
union all
select 'only if fresh', f.* from (select * from shape except all select * from updated) as f
order by 1, 2, 3;

-- What has been updated cannot go back.
\set VERBOSITY sqlstate
alter extension queue_ext update to '0.1';

\c :home
drop database test_upgrade;
