-- Event triggers that drop, rename or alter what is being made. The command fails with an
-- error of PostgreSQL's or of ours that says what is missing, or makes a queue; it leaves
-- no queue without a table, and is no internal error.
set client_min_messages = warning;
create schema test_hostile_event;
set search_path = test_hostile_event, public;
create sequence events;
create function do_harm() returns event_trigger language plpgsql as $$
begin
	if nextval('test_hostile_event.events') = current_setting('harm.event')::bigint then
		execute current_setting('harm.command');
	end if;
end $$;
-- Of what is combined with each other here one in so many is tried, or all.
\set sample 1
\getenv sample QUEUE_EXT_SAMPLE
set harm.sample = :sample;
create table harms (command text, n integer generated always as identity);
insert into harms values
	('drop table q'),
	('drop table if exists q_archive'),
	('alter table q rename to other'),
	('alter table q rename to other; create table q (id integer)'),
	('drop table q; create view q as select 1 as id'),
	('alter table q set schema public'),
	('alter table q drop column payload'),
	('alter table q alter column id drop identity; alter table q alter column id type text'),
	('drop trigger if exists queue_ext_wake on q'),
	('drop schema test_hostile_event cascade');
create table calls (setup text, call text, n integer generated always as identity);
insert into calls values
	('', 'select queue_create(''test_hostile_event.q'', archive => true)'),
	('select queue_create(''q'')', 'select queue_alter(''test_hostile_event.q'', max_attempts => 3, archive => true)'),
	('select queue_create(''q'', archive => true); delete from queue_definition; drop table q_archive; alter table q drop constraint q_pkey cascade;'
		' drop index q_priority_run_at_id_idx; drop trigger queue_ext_wake on q', 'select queue_adopt(''test_hostile_event.q'')'),
	('create table q (id integer primary key, payload text)', 'select queue_attach(''test_hostile_event.q'', ''test_hostile_event.q'', ''id > 0'', ''id'', ''id = 0'', wake => true)'),
	('select queue_create(''q'', archive => true); select queue_detach(''q''); '
		'select queue_attach(''q'', ''q'', ''id > 0'', ''id'', ''priority = 0'', wake => true)', 'select queue_detach(''test_hostile_event.q'')'),
	('select queue_create(''q'', archive => true)', 'select queue_drop(''test_hostile_event.q'')');
create table outcomes (call text, event integer, command text, outcome text);
-- How many events a call has is how often it goes on.
create procedure try_all() language plpgsql as $$
declare
	round record;
	event integer;
	outcome text;
begin
	for round in select c.*, h.command, h.n + c.n as place from calls as c, harms as h loop
		for event in 1..20 loop
			continue when (round.place + event) % current_setting('harm.sample')::integer <> 0;
			perform set_config('harm.event', '0', true), set_config('harm.command', round.command, true);
			execute 'set local search_path = test_hostile_event, public; ' || round.setup;
			perform setval('events', 1, false), set_config('harm.event', event::text, true);
			begin
				execute round.call;
				outcome := case when nextval('events') <= event then 'no such event' else 'ok' end;
				perform queue_send(queue, '1') from queues where managed;
				perform queue_pop(queue) from queues where managed;
				perform queue_complete(queue, 1, 1) from queues where managed;
			exception when others then
				outcome := sqlstate || ' ' || sqlerrm;
			end;
			rollback;
			exit when outcome = 'no such event';
			insert into test_hostile_event.outcomes values (split_part(round.call, '(', 1), event, round.command, outcome);
			commit;
		end loop;
	end loop;
end $$;
create event trigger harm on ddl_command_end execute function do_harm();
set harm.event = 0;
call try_all();
drop event trigger harm;
select call, command, event, outcome from outcomes where outcome ~ '^XX|\(null\)|"null"' order by 1, 2, 3;
select count(*) > 100 / :sample as are_many from outcomes;
select distinct outcome from outcomes where outcome ~ 'ok|during' order by 1;
select name, source from queue_definition where name = 'q';
drop schema test_hostile_event cascade;
