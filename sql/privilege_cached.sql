-- What a session has kept from one role's calls gives nothing to another, nor to the same
-- role when its rights have gone.
set client_min_messages = error;
create schema test_privilege_cached;
create role regress_cached;
create role regress_other;
create role regress_group;
create function public.regress_error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
set search_path = test_privilege_cached, public;
select queue_create('jobs', lease => '1 hour');
create table t (id integer primary key, state integer not null default 0);
create index on t (id) where state = 0;
insert into t select generate_series(1, 100);
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1');
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[100]));
grant all on jobs, t to regress_cached, regress_other, regress_group;
grant usage on schema test_privilege_cached to regress_cached;

-- A schema's USAGE: of a name that another role has used before.
set role regress_cached;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop,
       public.regress_error_of($$select queue_send('test_privilege_cached.jobs', '1')$$) as send,
       public.regress_error_of($$select queue_pop('jobs')$$) as unqualified;
set role regress_other;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop,
       public.regress_error_of($$select queue_send('test_privilege_cached.jobs', '1')$$) as send,
       public.regress_error_of($$select queue_pop('jobs')$$) as unqualified;
set role regress_cached;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop;
reset role;
grant usage on schema test_privilege_cached to regress_other;
set role regress_other;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop,
       public.regress_error_of($$select queue_pop('jobs')$$) as unqualified;
reset role;
revoke usage on schema test_privilege_cached from regress_other;
set role regress_other;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop,
       public.regress_error_of($$select queue_pop('jobs')$$) as unqualified;
reset role;
-- By way of a group that the role then leaves.
grant usage on schema test_privilege_cached to regress_group;
grant regress_group to regress_other;
set role regress_other;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop;
reset role;
revoke regress_group from regress_other;
set role regress_other;
select public.regress_error_of($$select queue_pop('test_privilege_cached.jobs')$$) as pop;
reset role;

-- The table's rights, by way of a group.
grant usage on schema test_privilege_cached to regress_other;
revoke all on jobs, t from regress_other;
create view tries as
select public.regress_error_of(format('select %s', call)) as outcome, call
from unnest(array[
	$$queue_pop('jobs')$$, $$queue_send('jobs', '1')$$, $$queue_send_many('jobs', '{1,2}')$$, $$queue_complete('jobs', 1, 1)$$,
	$$queue_complete_many('jobs', '{1}', '{1}')$$, $$queue_unique_insert('jobs', '1')$$, $$queue_pop_rows(null::t)$$
]) as call;
grant select on tries to public;
alter view tries set (security_invoker = true);
set role regress_other;
select string_agg(outcome, ' ') from tries;
reset role;
grant regress_group to regress_other;
set role regress_other;
select string_agg(outcome, ' ') from tries;
reset role;
revoke regress_group from regress_other;
set role regress_other;
select string_agg(outcome, ' ') from tries;
reset role;
-- As the session's own role.
set session authorization regress_cached;
select string_agg(outcome, ' ') from tries;
set session authorization regress_other;
select string_agg(outcome, ' ') from tries;
reset session authorization;

-- A SECURITY DEFINER function lends its owner's rights for as long as it runs, and takes
-- those of its caller.
create function lend(command text) returns text language plpgsql security definer set search_path = test_privilege_cached, public, pg_temp as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
create view lent as
select lend(format('select %s', call)) as lent, public.regress_error_of(format('select %s', call)) as own, call from tries;
grant select on lent to public;
alter view lent set (security_invoker = true);
alter function lend(text) owner to regress_cached;
set role regress_other;
select string_agg(lent, ' ') as lent, string_agg(own, ' ') as own from lent;
reset role;
alter function lend(text) owner to regress_other;
set role regress_cached;
select string_agg(lent, ' ') as lent, string_agg(own, ' ') as own from lent;
reset role;

-- EXECUTE on a function of PostgreSQL's own that a fragment calls.
begin;
create table f (id integer primary key, state integer not null default 0);
create index on f (id) where state = 0;
insert into f select generate_series(1, 100);
select queue_attach('f', 'f', 'state = 0 and trim_scale(id) > 0', 'id', 'state = 1');
grant all on f to regress_cached, regress_other;
grant usage on schema test_privilege_cached to regress_other;
set local role regress_other;
select public.regress_error_of('select queue_pop_rows(null::f)') as pop;
reset role;
revoke execute on function trim_scale(numeric) from public;
grant execute on function trim_scale(numeric) to regress_cached;
set local role regress_cached;
select public.regress_error_of('select queue_pop_rows(null::f)') as pop;
set local role regress_other;
select public.regress_error_of('select queue_pop_rows(null::f)') as pop;
rollback;

drop schema test_privilege_cached cascade;
drop function public.regress_error_of(text);
drop owned by regress_cached, regress_other, regress_group;
drop role regress_cached, regress_other, regress_group;
