-- An update from 0.1 keeps what the administrator has made of its objects: owners, privileges, and views of theirs over
-- them; a dump has the privileges.
set client_min_messages = warning;
\set home :DBNAME
create database test_upgrade_kept;
\c test_upgrade_kept
set client_min_messages = warning;
set queue_ext.claim_path = auto;
create role regress_kept_owner;
create role regress_kept_worker;
create role regress_kept_other;
create schema tools;
alter default privileges revoke execute on functions from public;
alter default privileges grant execute on functions to regress_kept_other;
create schema test;
set search_path = test, tools;
create extension queue_ext schema tools version '0.1';

create view members as
select classid, objid from pg_depend
where refclassid = 'pg_extension'::regclass and deptype = 'e' and refobjid = (select oid from pg_extension where extname = 'queue_ext');
create view functions as
select p.oid, p.proname, p.prosrc, pg_get_userbyid(p.proowner) as owner, p.proacl, p.prokind, p.prorettype, p.proargtypes
from members join pg_proc as p on classid = 'pg_proc'::regclass and oid = objid;
create view relations as
select c.oid, c.relname, c.relkind, c.relacl from members join pg_class as c on classid = 'pg_class'::regclass and oid = objid where relkind in ('r', 'v');

-- Each function is for one role only, who may grant it; one is of another owner. Relations are so, too.
do $$
declare
	each record;
begin
	for each in select oid::regprocedure as name from functions where prokind <> 'p' loop
		execute format('revoke all on function %s from public', each.name);
		execute format('grant execute on function %s to regress_kept_worker with grant option', each.name);
	end loop;
	for each in select oid::regclass as name from relations loop
		execute format('revoke all on %s from public', each.name);
		execute format('grant select on %s to regress_kept_worker', each.name);
	end loop;
end $$;
revoke execute on function queue_pop from regress_kept_worker;
grant execute on function queue_pop to public;
grant create on schema tools to regress_kept_owner;
alter function queue_send owner to regress_kept_owner;
-- As if these had been granted to all, who had them before the default was changed.
do $$ begin
	update pg_proc set proacl = null where oid in (select oid from functions where proname in ('queue_complete', 'queue_alter'));
end $$;
create table was as select proname, prosrc, owner, proacl from functions where prokind <> 'p';
create table relations_was as select relname, relacl from relations;

-- A view over each function and each relation.
do $$
declare
	each record;
	count integer := 0;
begin
	for each in
		select f.oid::regprocedure as name, quote_ident(proname) as function, proname,
			(select string_agg('null::' || format_type(t, null), ', ' order by n) from unnest(proargtypes::oid[]) with ordinality as a(t, n)) as arguments
		from functions as f
		where prokind = 'f' and prorettype <> 'trigger'::regtype
			and not exists (select from unnest(proargtypes::oid[]) as t where t in (select oid from pg_type where typtype = 'p'))
	loop
		count := count + 1;
		execute format('create view test.%I as select count(*) from tools.%s(%s) as f', 'over ' || each.proname || case when exists (select from pg_class where relname = 'over ' || each.proname) then ' ' || each.name else '' end, each.function, each.arguments);
	end loop;
	for each in select relname from relations loop
		execute format('create view test.%I as select * from tools.%1$I', each.relname);
	end loop;
	raise info '%', case when count > 40 then 'many views' else count || ' views' end;
end $$;

alter extension queue_ext update;
-- Functions that views need stay, but not as the extension's, so that a dump has them.
select proname, exists (select from members where objid = p.oid) as is_member from pg_proc as p where proname ~ '_0_1$' order by proname;
select w.proname, f.owner, f.proacl, w.proacl as was
from was as w join functions as f using (prosrc)
where f.prokind <> 'p' and (f.owner, array(select a::text from unnest(f.proacl) as a order by 1))
	is distinct from (w.owner, array(select a::text from unnest(coalesce(w.proacl, acldefault('f', w.owner::regrole))) as a order by 1)) order by 1;
select w.relname, r.relacl, w.relacl as was from relations_was as w join relations as r using (relname) where r.relacl::text is distinct from w.relacl::text;
select has_function_privilege('regress_kept_other', f.oid, 'execute') as others, has_function_privilege('regress_kept_worker', f.oid, 'execute with grant option') as worker,
	array_agg(f.proname::text order by f.proname)
from functions as f where proname in ('queue_pop', 'queue_send', 'queue_attach', 'queue_alter') group by 1, 2 order by 1, 2;
-- A dump compares with what the extension itself has granted.
select f.proname, initprivs from functions as f join was using (prosrc) join pg_init_privs as i on i.classoid = 'pg_proc'::regclass and i.objoid = f.oid
where f.proname !~ '_0_1$' and initprivs is not distinct from f.proacl;
select count(*) from pg_shdepend where classid = 'pg_proc'::regclass and deptype = 'i' and objid in (select oid from functions)
	and objid not in (select objoid from pg_init_privs where classoid = 'pg_proc'::regclass);
-- They work.
select queue_create('q');
select queue_send('q', '1');
select * from "over queue_claim_counters";
select pg_get_viewdef('"over queue_pop"'::regclass);
select id, attempt, payload from queue_pop('q');
select count(*) from queue_claim_stats;
drop schema test cascade;
\set VERBOSITY terse
drop extension queue_ext cascade;
\c :home
drop database test_upgrade_kept;
drop role regress_kept_owner, regress_kept_worker, regress_kept_other;
