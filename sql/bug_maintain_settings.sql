-- What an owner's triggers set while queue_maintain() removes their jobs is undone. And what queue_upgrade() copies
-- is checked by the owner's functions as the owner.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_hostile;
create schema test_maintain_settings authorization regress_hostile;
set role regress_hostile;
set search_path = test_maintain_settings, public;
select queue_create('dead', max_attempts => 1, dead_keep => '1 hour');
select queue_create('slotted', archive => true, archive_keep => '1 hour');
select queue_create('plain', archive => true);
select queue_alter('plain', archive_keep => '1 hour');
create function trap() returns trigger language plpgsql as $$
begin
	perform set_config('search_path', 'test_maintain_settings, pg_catalog', false), set_config('statement_timeout', '1234567', false),
		set_config('app.trapped', current_user, false);
	return old;
end $$;
create trigger trap before delete on dead for each row execute function trap();
create trigger trap before delete on slotted_archive for each row execute function trap();
create trigger trap before delete on plain_archive for each row execute function trap();
insert into dead (payload, dead_at) values ('1', now() - interval '1 day');
insert into slotted_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
values (1, now(), now(), now() - interval '1 day', 1, 1, 3, 0, 'completed', '1'), (2, now(), now(), now(), 1, 1, 3, 0, 'completed', '1');
insert into plain_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
values (1, now(), now(), now() - interval '1 day', 1, 1, 0, 'completed', '1');
-- Sessions of others.
\c -
set client_min_messages = warning;
set app.trapped = 'none';
show search_path;
call queue_maintain();
select (select count(*) from test_maintain_settings.dead) as dead, (select count(*) from test_maintain_settings.slotted_archive) as slotted,
	(select count(*) from test_maintain_settings.plain_archive) as plain;
show search_path;
select current_setting('statement_timeout') <> '1234567ms' as kept;
show app.trapped;

set role regress_hostile;
set search_path = test_maintain_settings, public;
drop trigger trap on plain_archive;
create table ran_as (who text);
create function check_it(id bigint) returns boolean language plpgsql as $$
begin
	insert into test_maintain_settings.ran_as values (current_user);
	perform set_config('app.trapped', current_user, false);
	return true;
end $$;
insert into plain_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
values (1, now(), now(), now(), 1, 1, 0, 'completed', '1');
alter table plain_archive add constraint trap check (test_maintain_settings.check_it(id));
truncate ran_as;
\c -
set client_min_messages = warning;
set app.trapped = 'none';
select queue_upgrade();
select count(*) from test_maintain_settings.plain_archive;
select distinct who from test_maintain_settings.ran_as;
show app.trapped;
drop schema test_maintain_settings cascade;
drop role regress_hostile;
