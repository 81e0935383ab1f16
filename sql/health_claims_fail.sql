-- queue_health: claims that raise errors, which a queue did not show at all.
set client_min_messages = warning;
create schema test_health_claims_fail;
set search_path = test_health_claims_fail, public;
set queue_ext.claim_path = auto;
create function failing(name text) returns table (finding text, severity text, detail text, hint text) language sql as $$
	select finding, severity, regexp_replace(detail, 'at .*, with', 'at ..., with'), hint
	from queue_health(name) where finding in ('claims_fail', 'definition_broken')
$$;

-- One row that no claim gets past, on each path.
create table tries (id integer primary key, tries smallint not null default 0, claimed boolean not null default false);
create index on tries (id) where not claimed;
insert into tries values (1, 32767), (2, 0), (3, 0);
select queue_attach('tries', 'tries', 'not claimed', 'id', on_claim => 'claimed = true, tries = tries + 1');
select * from failing('tries');
\set VERBOSITY sqlstate
select id from queue_pop_rows(null::tries, 'tries');
select * from failing('tries');
update tries set tries = 0;
select id from queue_pop_rows(null::tries, 'tries');
-- It stays for the patience, as a warning.
select * from failing('tries');
set queue_ext.health_patience = 0;
select * from failing('tries');
update tries set tries = 32767;
set queue_ext.claim_path = portable;
select id from queue_pop_rows(null::tries, 'tries');
select severity from failing('tries');
set queue_ext.claim_path = tid;
update tries set tries = 0;
select id from queue_pop_rows(null::tries, 'tries');
select * from failing('tries');
set queue_ext.claim_path = auto;

-- A managed queue; caught, and rolled back, it is an error all the same. Statistics that begin anew forget it.
select queue_create('jobs');
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = 'QX001'; end $$;
create trigger refuse before update on jobs for each row execute function refuse();
select queue_send('jobs', '1');
do $$ begin perform queue_pop('jobs'); exception when sqlstate 'QX001' then null; end $$;
select * from failing('jobs');
select queue_stats_reset('jobs');
select * from failing('jobs');

-- What ends a call from outside, or passes, is none of the queue's.
create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = current_setting('test.code'); end $$;
create procedure try(code text) language plpgsql as $$
declare
	found text;
begin
	perform set_config('test.code', code, false);
	begin
		perform queue_pop('jobs');
	exception when others then
		found := sqlstate;
	end;
	raise warning '% %', found, (select count(*) from failing('jobs'));
	perform queue_stats_reset('jobs');
end $$;
\set VERBOSITY terse
call try('40001');
call try('40P01');
call try('53200');
call try('54001');
call try('55P03');
call try('57P01');
call try('25006');
call try('42501');
call try('XX000');
\set VERBOSITY sqlstate

-- A claim that does not compile is a broken definition, and no more.
alter table tries rename tries to attempts;
select id from queue_pop_rows(null::tries, 'tries');
select finding from failing('tries');
-- Only for roles that may read the table.
alter table tries rename attempts to tries;
update tries set tries = 32767, claimed = false;
select id from queue_pop_rows(null::tries, 'tries');
create role regress_health_claims_fail;
grant usage on schema test_health_claims_fail to regress_health_claims_fail;
set role regress_health_claims_fail;
select finding from failing('tries');
reset role;
grant select on tries to regress_health_claims_fail;
set role regress_health_claims_fail;
select finding from failing('tries');
reset role;
drop schema test_health_claims_fail cascade;
drop role regress_health_claims_fail;
