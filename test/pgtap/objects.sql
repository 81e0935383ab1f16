-- What else is in the extension: types, relations, privileges, comments.
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
\set ON_ERROR_STOP 1
begin;

create temporary view member as
select d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) as name
from pg_depend d
join pg_extension e on d.refclassid = 'pg_extension'::regclass and e.oid = d.refobjid
where d.deptype = 'e' and e.extname = 'queue_ext';

select plan(36);

select bag_eq(
	$$select relkind::text, relname::text from pg_class
	  where oid in (select objid from member where classid = 'pg_class'::regclass)$$,
	$$values ('r', 'queue_definition'), ('r', 'queue_unique_job'), ('r', 'queue_schedule_definition'), ('v', 'queues'), ('v', 'queue_schedules'), ('v', 'queue_claim_stats'), ('v', 'queue_stats'),
	         ('v', 'queue_wait_histogram'), ('v', 'queue_run_histogram'),
	         ('r', 'throttled_resource'), ('r', 'named_lock'), ('v', 'held_locks')$$,
	'the relations'
);
select bag_eq(
	$$select distinct classid::regclass::text from member$$,
	$$values ('pg_proc'), ('pg_class'), ('pg_type')$$,
	'no operator, cast, schema or else'
);

select is_empty(
	$$select name from member m where obj_description(objid, classid::regclass::name) is null
	  and not exists (select from pg_type t left join pg_class c on c.oid = t.typrelid
	                  where m.classid = 'pg_type'::regclass and t.oid = m.objid
	                    and (t.typelem <> 0 or c.relkind <> 'c'))$$,
	'everything has a comment'
);
select isnt(obj_description('queue_job'::regtype, 'pg_type'), null, 'the type queue_job has a comment');
select isnt(obj_description('queue_any_job'::regtype, 'pg_type'), null, 'the type queue_any_job has a comment');
select isnt(obj_description('queue_finding'::regtype, 'pg_type'), null, 'the type queue_finding has a comment');
select isnt(obj_description('queues'::regclass, 'pg_class'), null, 'the view queues has a comment');
select isnt(obj_description(oid, 'pg_extension'), null, 'the extension has a comment')
from pg_extension where extname = 'queue_ext';

select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'queue_job'::regclass and attnum > 0 order by attnum$$,
	$$values ('id', 'bigint'), ('attempt', 'integer'), ('payload', 'jsonb'), ('priority', 'smallint'),
	         ('run_at', 'timestamp with time zone'), ('max_attempts', 'integer'),
	         ('leased_until', 'timestamp with time zone'), ('leased_by', 'text'), ('last_error', 'text'),
	         ('created_at', 'timestamp with time zone'), ('kind', 'text')$$,
	'the type queue_job'
);
select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'queue_any_job'::regclass and attnum > 0 order by attnum$$,
	$$(select 'queue', 'text') union all
	  (select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	   where attrelid = 'queue_job'::regclass and attnum > 0 order by attnum)$$,
	'the type queue_any_job'
);
select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'queue_finding'::regclass and attnum > 0 order by attnum$$,
	$$values ('finding', 'text'), ('severity', 'text'), ('queue', 'text'), ('detail', 'text'), ('hint', 'text')$$,
	'the type queue_finding'
);
select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'queues'::regclass and attnum > 0 order by attnum$$,
	$$values ('queue', 'text'), ('source', 'regclass'), ('managed', 'boolean'), ('claim_mode', 'text'),
	         ('paused', 'boolean'), ('lease', 'interval'), ('max_attempts', 'integer'),
	         ('backoff_base', 'interval'), ('backoff_cap', 'interval'), ('archive', 'regclass'),
	         ('pending', 'text'), ('order_by', 'text'), ('on_claim', 'text'), ('on_complete', 'text'),
	         ('on_release', 'text'), ('on_fail', 'text'), ('on_extend', 'text'),
	         ('search_path', 'text'), ('created_at', 'timestamp with time zone'), ('ready_at', 'text'), ('claimed_at', 'text'),
	         ('archive_keep', 'interval'), ('dead_keep', 'interval'), ('dead_queue', 'regclass'), ('on_expire', 'text')$$,
	'the view queues'
);

select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'throttled_resource'::regclass and attnum > 0 order by attnum$$,
	$$values ('resource', 'text'), ('throttle_interval', 'interval'), ('grants', 'integer'),
	         ('last_locked', 'timestamp with time zone'), ('last_locker_details', 'text'),
	         ('earlier_grants', 'timestamp with time zone[]')$$,
	'the table throttled_resource'
);
select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'named_lock'::regclass and attnum > 0 order by attnum$$,
	$$values ('task_id', 'text'), ('held', 'boolean'), ('holder', 'text'),
	         ('held_since', 'timestamp with time zone'), ('held_until', 'timestamp with time zone'),
	         ('token', 'bigint'), ('retries_left', 'integer')$$,
	'the table named_lock'
);
select results_eq(
	$$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
	  where attrelid = 'held_locks'::regclass and attnum > 0 order by attnum$$,
	$$values ('task_id', 'text'), ('holder', 'text'), ('since', 'timestamp with time zone'),
	         ('until', 'timestamp with time zone'), ('token', 'bigint')$$,
	'the view held_locks'
);
select is_empty(
	$$select t || ' ' || p
	  from unnest(array['throttled_resource', 'named_lock']) as t,
	       unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p
	  where has_table_privilege('public', t, p)$$,
	'public has no rights on throttles and locks'
);

-- The registry is the extension's own, and so is what unique inserts remember.
select ok(not has_table_privilege('public', 'queue_unique_job', p), format('public may not %s queue_unique_job', p))
from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p;
select ok(not has_table_privilege('public', 'queue_definition', p), format('public may not %s the registry', p))
from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p;
select is_empty(
	$$select p from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p
	  where has_table_privilege('public', 'queue_schedule_definition', p)$$,
	'public has no rights on schedules'
);
select ok(has_table_privilege('public', 'queues', 'select'), 'public may read the view');
select is_empty(
	$$select p from unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as p
	  where has_table_privilege('public', 'queues', p)$$,
	'public may do nothing else with the view'
);

select is(extrelocatable, false, 'the extension cannot be moved to another schema')
from pg_extension where extname = 'queue_ext';
select bag_eq(
	$$select unnest(extconfig)::regclass::text from pg_extension where extname = 'queue_ext'$$,
	$$values ('queue_definition'), ('queue_unique_job'), ('queue_schedule_definition'), ('throttled_resource'), ('named_lock')$$,
	'the tables that are dumped with their rows'
);
select ok(superuser and not trusted and not relocatable, 'control file: for superusers')
from pg_available_extension_versions where name = 'queue_ext' and installed;

select * from finish();
rollback;
