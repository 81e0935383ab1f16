-- What a table does when it is written, it does when a queue writes: triggers,
-- foreign keys, row security.
set client_min_messages = error;
create schema test_effects;
set search_path = test_effects, public;
set queue_ext.claim_path = auto;
\set VERBOSITY terse

-- Triggers: as the equivalent UPDATE and DELETE would fire them.
create table t (id integer primary key, state integer not null default 0, note text);
insert into t select generate_series(1, 6);
create table trace (n serial, what text);
create function note() returns trigger language plpgsql as $$
begin
	insert into trace (what) values (format('%s %s %s: %s -> %s', lower(tg_when), lower(tg_level), lower(tg_op), old.id || '=' || old.state, new.state));
	return coalesce(new, old);
end $$;
create function note_tables() returns trigger language plpgsql as $$
begin
	insert into trace (what) select 'transition ' || string_agg(id || '=' || state, ', ' order by id) from news;
	return null;
end $$;
create trigger a_before_row before update or delete on t for each row execute function note();
create trigger b_after_row after update or delete on t for each row execute function note();
create trigger c_before before update or delete on t for each statement execute function note();
create trigger d_after after update or delete on t for each statement execute function note();
create trigger e_state after update of state on t for each row when (old.state is distinct from new.state) execute function note();
create trigger f_note before update of note on t for each row execute function note();
create trigger g_tables after update on t referencing new table as news for each statement execute function note_tables();
create function traced() returns text language plpgsql as $$
declare
	result text := (select string_agg(what, e'\n' order by n) from trace);
begin
	truncate trace;
	return result;
end $$;
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', on_fail => 'state = 2, note = error');
select id from queue_pop_rows(null::t, 't', 2);
select traced() as popped \gset
update t set state = 1 where id in (3, 4);
select traced() as updated \gset
select translate(:'popped', '12', '34') = translate(:'updated', '12', '34') as popped_as_updated;
\echo :popped
select queue_complete_row('t', t) from t where id = 1;
select traced() as popped \gset
delete from t where id = 3;
select translate(traced(), '3', '1') = :'popped' as completed_as_deleted;
select queue_fail_row('t', t, 'x') from t where id = 2;
select traced() as popped \gset
update t set state = 2, note = 'x' where id = 4;
select translate(traced(), '4', '2') = :'popped' as failed_as_updated;
-- A claim that finds nothing writes nothing, and fires no trigger: an UPDATE of nothing fires those
-- of statements.
begin;
update t set state = 5;
truncate trace;
select id from queue_pop_rows(null::t, 't');
select count(*) as fired from trace;
rollback;
alter table t disable trigger user;
update t set state = 0, note = null;
alter table t enable trigger user;
truncate trace;

-- A BEFORE trigger that says no, or something else.
create function refuse() returns trigger language plpgsql as $$ begin return case when new.id = 2 then null else new end; end $$;
create trigger z_refuse before update on t for each row execute function refuse();
select id, state from queue_pop_rows(null::t, 't', 2);
select id, state from queue_pop_rows(null::t, 't', 2);
select id, state from t order by id;
drop trigger z_refuse on t;
update t set state = 0 where id in (5, 6);
create function change() returns trigger language plpgsql as $$ begin new.note := 'from the trigger'; return new; end $$;
create trigger z_change before update on t for each row execute function change();
select * from queue_pop_rows(null::t, 't', 1);
create or replace function change() returns trigger language plpgsql as $$ begin new.state := 0; return new; end $$;
select id from queue_pop_rows(null::t, 't', 1);
create or replace function change() returns trigger language plpgsql as $$ begin raise unique_violation; end $$;
select id from queue_pop_rows(null::t, 't', 1);
drop trigger z_change on t;
update t set state = 1;
-- One that pops from the same queue.
create function pop_more() returns trigger language plpgsql as $$
begin
	if new.id = 5 then
		insert into trace (what) select 'popped inside: ' || id from queue_pop_rows(null::t, 't');
	end if;
	return null;
end $$;
create trigger z_more after update on t for each row when (old.state = 0) execute function pop_more();
update t set state = 0 where id in (5, 6);
truncate trace;
select id from queue_pop_rows(null::t, 't', 1) order by id;
select id from queue_pop_rows(null::t, 't', 1) order by id;
select id from queue_pop_rows(null::t, 't', 1) order by id;
select what from trace where what like 'popped%';
-- Triggers fire as the session's role says.
set session_replication_role = replica;
truncate trace;
update t set state = 0;
select count(*) from queue_pop_rows(null::t, 't', 1);
select count(*) as fired from trace;
reset session_replication_role;
drop table t;

-- Foreign keys, from the queue's table and to it.
create table parent (id integer primary key, state integer not null default 0);
create table job (id integer primary key, parent integer references parent, state integer not null default 0);
create table detail (id integer primary key, job integer references job on delete cascade);
create table lock_out (id integer primary key, job integer references job on delete no action);
create table nulled (id integer primary key, job integer references job on delete set null on update cascade);
create table late (id integer primary key, job integer references job deferrable initially deferred);
insert into parent values (1), (2);
insert into job select n, 1 + n % 2 from generate_series(1, 6) as n;
insert into detail values (1, 1), (2, 2);
insert into lock_out values (1, 2);
insert into nulled values (1, 1), (2, 4);
insert into late values (1, 3);
select queue_attach('job', 'job', 'state = 0', 'id', 'state = 1', on_release => 'id = id + 100, state = 0', on_fail => 'parent = 9');
select id from queue_pop_rows(null::job, 'job', 4);
select queue_complete_row('job', j) from job j where id = 1;
select count(*) as details from detail;
select * from nulled where id = 1;
select queue_complete_row('job', j) from job j where id = 2;
select count(*) as details from detail;
begin;
select queue_complete_row('job', j) from job j where id = 3;
commit;
select queue_release_row('job', j) from job j where id = 4;
select * from nulled where id = 2;
select queue_fail_row('job', j) from job j where id = 3;
select * from job order by id;
select queue_attach('parents', 'parent', 'state = 0', 'id', 'state = 1'),
       queue_attach('moved', 'job', 'state = 0', 'id', 'state = 1, parent = 9');
select queue_complete_row('parents', p) from queue_pop_rows(null::parent, 'parents') p;
select id from queue_pop_rows(null::job, 'moved');
select count(*) as pending from job where state = 0;

-- To a unique key other than the primary one.
create table coded (id integer primary key, code text not null unique, state integer not null default 0);
create table refers (code text references coded (code));
create table follows (code text references coded (code) on update cascade);
insert into coded values (1, 'a'), (2, 'b'), (3, 'c');
insert into refers values ('a');
insert into follows values ('b');
select queue_attach('coded', 'coded', 'state = 0', 'id', 'state = 1, code = upper(code)');
select * from queue_pop_rows(null::coded);
delete from refers;
select * from queue_pop_rows(null::coded, max_jobs => 3);
table follows;

-- Row security: the rows that a role may see are its queue.
create role regress_effects_a;
create role regress_effects_b;
create role regress_effects_owner;
grant usage, create on schema test_effects to regress_effects_owner;
grant usage on schema test_effects to regress_effects_a, regress_effects_b;
set role regress_effects_owner;
create table mail (id integer primary key, owner text, state integer not null default 0, note text);
insert into mail select n, (array['regress_effects_a', 'regress_effects_b', 'regress_effects_owner'])[1 + n % 3] from generate_series(1, 12) as n;
grant select, update, delete on mail to regress_effects_a, regress_effects_b;
alter table mail enable row level security;
create policy mine on mail using (owner = current_user);
create policy not_three on mail as restrictive for update using (id <> 3) with check (note is distinct from 'forbidden');
create policy no_delete on mail as restrictive for delete using (id <> 4);
select queue_attach('mail', 'mail', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', on_fail => 'note = error');
select queue_attach('held', 'mail', 'state = 0', 'id', claim_mode => 'transaction'), queue_attach('mine', 'mail', 'state = 0', 'id', claim_mode => 'session');
set role regress_effects_a;
select id, owner from queue_pop_rows(null::mail, 'mail', 2);
set role regress_effects_b;
select id, owner from queue_pop_rows(null::mail, 'mail', 2);
select queue_complete_row('mail', row(3, 'regress_effects_a', 1, null)::mail) as not_mine,
       queue_release_row('mail', row(3, 'regress_effects_a', 1, null)::mail) as nor_this,
       queue_complete_row('mail', row(4, 'regress_effects_b', 1, null)::mail) as not_deletable,
       queue_complete_row('mail', row(1, 'regress_effects_b', 1, null)::mail) as mine;
select queue_fail_row('mail', m, 'forbidden') from mail m where id = 4;
begin;
select id, owner from queue_pop_rows(null::mail, 'held', 20);
rollback;
select id, owner from queue_pop_rows(null::mail, 'mine', 20);
select queue_complete_row('mine', m) from mail m where id = 7;
reset role;
-- A superuser, and the owner until it is forced upon him, sees all.
set role regress_effects_owner;
begin;
select count(*) from queue_pop_rows(null::mail, 'mail', 20);
rollback;
alter table mail force row level security;
select id, owner from queue_pop_rows(null::mail, 'mail', 20);
set row_security = off;
select id, owner from queue_pop_rows(null::mail, 'mail', 20);
reset row_security;
reset role;
select owner, state, count(*) from mail group by 1, 2 order by 1, 2;
begin;
set local role regress_effects_a;
select count(*) from queue_pop_rows(null::mail, 'mail', 20);
reset role;
select count(*) from queue_pop_rows(null::mail, 'mail', 20);
rollback;
select pg_advisory_unlock_all();
drop schema test_effects cascade;
drop role regress_effects_a, regress_effects_b, regress_effects_owner;
