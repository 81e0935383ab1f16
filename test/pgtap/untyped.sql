-- sql/api_untyped.sql calls every function with untyped parameters, with the fewest
-- arguments and with all: a function without such a call fails here. Rows are of
-- the table tasks, enums of the type kind.
\set QUIET 1
\pset format unaligned
\pset tuples_only true
\pset pager off
\set ON_ERROR_STOP 1
\set calls `cat sql/api_untyped.sql`
begin;

create temporary view form as
select distinct p.proname, n as arguments,
       format('%s(%s)', p.proname, (
	select string_agg('$' || i || case when type = 'anyelement'::regtype then '::tasks' when type = 'anyarray'::regtype then '::tasks[]' when type = 'anyenum'::regtype then '::kind' else '' end, ', ' order by i)
	from unnest(p.proargtypes) with ordinality as a(type, i) where i <= n)) as call
from pg_proc p
join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
join pg_extension e on d.refclassid = 'pg_extension'::regclass and e.oid = d.refobjid
cross join unnest(array[p.pronargs - p.pronargdefaults, p.pronargs]) as n
where e.extname = 'queue_ext' and p.prorettype <> 'trigger'::regtype and p.prokind <> 'p';

select plan(count(*)::integer) from form;
select ok(position(call in :'calls') > 0, format('sql/api_untyped.sql calls %s', call))
from form
order by call;

select * from finish();
rollback;
