-- A queue's name is one of its table's schema: to give one away there it takes CREATE on
-- the schema, as for an index, and not only a table in it.
set client_min_messages = error;
create schema test_privilege_attach;
create role regress_squatter;
grant usage, create on schema test_privilege_attach to regress_squatter;
set search_path = test_privilege_attach, public;
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
set role regress_squatter;
create table t (id integer primary key, state integer not null default 0);
select error_of($$select queue_attach('mine', 't', 'state = 0', 'id', 'state = 1')$$) as with_create;
reset role;
revoke create on schema test_privilege_attach from regress_squatter;
set role regress_squatter;
select error_of($$select queue_attach('emails', 't', 'state = 0', 'id', 'state = 1')$$) as without,
       error_of('create index on t (state)') as index,
       error_of($$select queue_create('emails')$$) as create;
-- What is there can be used, changed and given up.
select error_of($$select queue_pop_rows(null::t)$$) as pop, error_of($$select queue_alter('mine', lease => '1 hour')$$) as alter,
       error_of($$select queue_detach('mine')$$) as detach;
-- One's own temporary tables are in a schema of one's own.
create temporary table t (id integer primary key, state integer not null default 0);
select error_of($$select queue_attach('emails', 't', 'state = 0', 'id', 'state = 1')$$) as temporary;
drop table pg_temp.t;
reset role;
drop schema test_privilege_attach cascade;
drop role regress_squatter;
