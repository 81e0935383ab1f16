-- queue_create, and what it makes.
set client_min_messages = warning;
create schema test_create;
set search_path = test_create, public;

select queue_create('jobs');
select queue_create(
	queue => 'tuned',
	lease => '5 minutes',
	max_attempts => 3,
	backoff_base => '10 seconds',
	backoff_cap => '1 day',
	archive => true
);
select queue,
       source,
       managed,
       claim_mode,
       paused,
       lease,
       max_attempts,
       backoff_base,
       backoff_cap,
       archive,
       created_at <= now() as created_before
from queues
where queue like 'test_create.%'
order by queue;

-- The description of the pending rows.
\x
select pending, order_by, on_claim, on_complete, on_release, on_fail, on_extend
from queues
where source = 'jobs'::regclass;
\x

-- The tables.
select a.attname as column,
       format_type(a.atttypid, a.atttypmod) as type,
       a.attnotnull as not_null,
       a.attidentity as identity,
       pg_get_expr(d.adbin, d.adrelid) as default
from pg_attribute a
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid = 'tuned'::regclass and a.attnum > 0
order by a.attnum;
select attname as column, format_type(atttypid, atttypmod) as type, attnotnull as not_null
from pg_attribute
where attrelid = 'tuned_archive'::regclass and attnum > 0
order by attnum;
select conrelid::regclass as table, contype as type, pg_get_constraintdef(oid) as definition
from pg_constraint
where connamespace = 'test_create'::regnamespace and contype <> 'n'
order by conrelid::regclass::text, contype;

-- The claim index, and that of unique inserts.
select pg_get_indexdef(indexrelid) as definition
from pg_index
where indrelid = 'jobs'::regclass and not indisprimary
order by 1;

-- The storage parameters, the TOAST table's too.
select unnest(c.reloptions) as option from pg_class c where c.oid = 'jobs'::regclass;
select unnest(t.reloptions) as toast_option
from pg_class c
join pg_class t on t.oid = c.reltoastrelid
where c.oid = 'jobs'::regclass;

-- The tables belong to the caller, not to the extension.
select count(*) as owned
from pg_class
where oid in ('jobs'::regclass, 'tuned'::regclass, 'tuned_archive'::regclass)
  and relowner = current_user::regrole;
select count(*) as members
from pg_depend
where classid = 'pg_class'::regclass
  and objid in ('jobs'::regclass, 'tuned'::regclass, 'tuned_archive'::regclass)
  and deptype = 'e';

-- What an aborted transaction created is not there.
begin;
select queue_create('aborted');
select queue_send('aborted', '1');
rollback;
\set VERBOSITY sqlstate
select queue_send('aborted', '1');
begin;
savepoint s;
select queue_create('aborted');
rollback to s;
select queue_pop('aborted');
rollback;
select queue_create('aborted');

-- Bad input.
select queue_create('jobs');
select queue_create('test_create.jobs');
select queue_create('tuned_archive');
create table taken ();
create table taken_archive ();
select queue_create('taken');
select queue_create('no_such_schema.jobs');
select queue_create('pg_catalog.jobs');
select queue_create(null);
select queue_create('bad', lease => null);
select queue_create('bad', lease => '0');
select queue_create('bad', lease => '-1 second');
select queue_create('bad', lease => '1 month -30 days');
select queue_create('bad', max_attempts => null);
select queue_create('bad', max_attempts => 0);
select queue_create('bad', max_attempts => 1000001);
select queue_create('bad', backoff_base => null);
select queue_create('bad', backoff_base => '0');
select queue_create('bad', backoff_cap => null);
select queue_create('bad', backoff_cap => '-1 day');
select queue_create('bad', archive => null);
select count(*) as bad from queues where queue = 'test_create.bad';
select to_regclass('bad') as bad_table;

drop schema test_create cascade;
