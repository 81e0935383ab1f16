-- The extension is created in a schema where somebody has put lookalikes of whatever it
-- uses: every function and operator of PostgreSQL's own that its objects depend on, by
-- those arguments or by others that fit as well. None of them is what is meant.
set client_min_messages = error;
drop extension queue_ext;
create schema test_install_hostile;
create role regress_lookalike;
set search_path = pg_catalog, pg_temp;
create function test_install_hostile.trap() returns void language plpgsql as 'begin raise ''trapped''; end';
do $$
declare
	name text;
	type text;
begin
	foreach type in array array['bigint', 'integer', 'smallint', 'text', 'boolean', 'interval', 'timestamptz', 'oid', 'regclass', 'timestamptz[]', 'unknown'] loop
		foreach name in array array['btrim', 'array_ndims', 'cardinality', 'array_position', 'pg_extension_config_dump', 'quote_ident', 'concat', 'greatest', 'current_setting'] loop
			if type <> 'unknown' then
				execute format('create function test_install_hostile.%I(%s) returns %s language plpgsql as %L',
					name, type, case name when 'array_ndims' then 'integer' else 'text' end, 'begin perform test_install_hostile.trap(); end');
			end if;
		end loop;
		foreach name in array array['=', '<>', '<', '<=', '>', '>=', '||', '+'] loop
			if type <> 'unknown' then
				execute format('create function test_install_hostile.%I(%s, %s) returns boolean language plpgsql as %L',
					'op ' || name || type, type, type, 'begin perform test_install_hostile.trap(); end');
				execute format('create operator test_install_hostile.%s (leftarg = %s, rightarg = %s, function = test_install_hostile.%I)',
					name, type, type, 'op ' || name || type);
			end if;
		end loop;
	end loop;
	foreach name in array array['now', 'clock_timestamp', 'transaction_timestamp', 'statement_timestamp', 'pg_backend_pid', 'current_database'] loop
		execute format('create function test_install_hostile.%I() returns timestamptz language plpgsql as %L', name, 'begin perform test_install_hostile.trap(); end');
	end loop;
end $$;
create table test_install_hostile.pg_class (oid oid, relname name, relnamespace oid);
create table test_install_hostile.pg_namespace (oid oid, nspname name);
create domain test_install_hostile.text as pg_catalog.text;
create domain test_install_hostile.bigint as pg_catalog.int8;
create domain test_install_hostile.timestamptz as pg_catalog.timestamptz;
reset search_path;

create extension queue_ext schema test_install_hostile;
create view test_install_hostile.member as
select classid, objid from pg_depend
where refclassid = 'pg_extension'::regclass and deptype = 'e' and refobjid = (select oid from pg_extension where extname = 'queue_ext');
-- What belongs to the members: rules of views, defaults, constraints, indexes.
create view test_install_hostile.part as
select classid, objid from test_install_hostile.member
union
select d.classid, d.objid from pg_depend as d join test_install_hostile.member as m on d.refclassid = m.classid and d.refobjid = m.objid
where d.deptype in ('a', 'i');
select count(*) > 50 as has_parts from test_install_hostile.part;
-- All of it depends on itself, and on PostgreSQL's own.
select pg_describe_object(d.classid, d.objid, d.objsubid) as part, pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) as depends_on
from pg_depend as d
join test_install_hostile.part as p using (classid, objid)
where not exists (select from test_install_hostile.part as other where other.classid = d.refclassid and other.objid = d.refobjid)
	and d.refclassid not in ('pg_extension'::regclass, 'pg_namespace'::regclass)
	and d.refobjid >= 16384;
-- And it works.
select test_install_hostile.throttle_create('r', '1 hour'), test_install_hostile.lock_throttled_resource('r', 'x');
select test_install_hostile.mutex_acquire('a'), test_install_hostile.mutex_release('a');
select test_install_hostile.timeout_acquire('b', '1 hour');
select task_id, token from test_install_hostile.held_locks;
select count(*) from test_install_hostile.queues;

drop extension queue_ext;
-- An object of the name that is there already is not taken over.
create function test_install_hostile.queue_pause(queue pg_catalog.text) returns boolean language sql return true;
alter function test_install_hostile.queue_pause(pg_catalog.text) owner to regress_lookalike;
\set VERBOSITY sqlstate
create extension queue_ext schema test_install_hostile;
\set VERBOSITY default
select count(*) from pg_extension where extname = 'queue_ext';
drop schema test_install_hostile cascade;
drop role regress_lookalike;
create extension queue_ext;
