-- What a move of dead jobs to the dead queue needs, what it costs, and what becomes of a job that cannot be moved.
set client_min_messages = warning;
set time zone 'UTC';
create schema test_dead_moves;
set search_path = test_dead_moves, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;

-- A worker that may not use the schema of the dead queue, whose name is a part of that of its own queue.
create schema test_dead_app;
create schema my_test_dead_app;
select queue_create('test_dead_app.jobs');
select queue_create('my_test_dead_app.jobs', max_attempts => 1, dead_queue => 'test_dead_app.jobs');
create role regress_moves_worker;
grant usage on schema test_dead_moves, my_test_dead_app to regress_moves_worker;
grant select, update, delete on my_test_dead_app.jobs to regress_moves_worker;
select queue_send_many('my_test_dead_app.jobs', '{1,2}');
set role regress_moves_worker;
select error_of($$select queue_fail('my_test_dead_app.jobs', id, attempt) from queue_pop('my_test_dead_app.jobs')$$);
select error_of($$select queue_cancel('my_test_dead_app.jobs', 2)$$);
select error_of($$select queue_requeue('my_test_dead_app.jobs', 1)$$);
reset role;
select id, payload from my_test_dead_app.jobs;
select payload from test_dead_app.jobs;
drop schema test_dead_app, my_test_dead_app cascade;

-- A look of a claim is followed by a pause, also after a full batch: of a second, or of 20 times what it took.
select queue_create('letters');
select queue_create('mail', max_attempts => 1, dead_queue => 'letters');
-- Else autovacuum may end a pause.
alter table mail set (autovacuum_enabled = off);
alter table letters set (autovacuum_enabled = off);
create procedure die(jobs jsonb[]) language sql as $$
	insert into mail (payload, dead_at, leased_until, attempt)
	select j, now() - interval '1 hour', now() - interval '1 hour', 1 from unnest(jobs) as j;
$$;
create function look() returns bigint language plpgsql as $$
begin
	perform from queue_pop('mail');
	return (select count(*) from letters);
end $$;
call die(array_fill('1'::jsonb, array[1200]));
select look() as once, look() as again;
truncate mail, letters;
create function doze() returns trigger language plpgsql as $$ begin perform pg_sleep(0.75); return new; end $$;
create trigger doze before insert on letters for each row execute function doze();
\c -
set client_min_messages = warning;
set search_path = test_dead_moves, public;
call die('{1}');
select look();
call die('{2}');
select pg_sleep(1.3);
select look();
drop trigger doze on letters;
call queue_maintain('mail');
select count(*) from letters;
truncate mail, letters;

-- A failure that is retried moves nothing, and so deletes from nothing. (Claims at this level do not look.)
set default_transaction_isolation = 'serializable';
create table deletes (at timestamptz not null default clock_timestamp());
create function note_delete() returns trigger language plpgsql as $$ begin insert into test_dead_moves.deletes default values; return null; end $$;
create trigger note_delete before delete on mail for each statement execute function note_delete();
select queue_alter('mail', max_attempts => 2, backoff_base => '1 us', backoff_cap => '1 us');
select queue_send_many('mail', '{1,2,3,4}', 0);
select queue_fail('mail', id, attempt) from queue_pop('mail');
select queue_fail_many('mail', array_agg(id), array_agg(attempt)) from queue_pop('mail');
select queue_fail_row('mail', r) from queue_pop_rows(null::mail, 'mail') as r;
select queue_fail_receipt('mail', queue_receipt('mail', r)) from queue_pop_rows(null::mail, 'mail') as r;
select count(*) from deletes;
select queue_fail('mail', id, attempt) from queue_pop('mail');
select queue_fail_many('mail', array_agg(id), array_agg(attempt)) from queue_pop('mail');
select queue_fail_row('mail', r) from queue_pop_rows(null::mail, 'mail') as r;
select queue_fail_receipt('mail', queue_receipt('mail', r)) from queue_pop_rows(null::mail, 'mail') as r;
select count(*) from deletes;
select count(*) from letters;
reset default_transaction_isolation;
drop trigger note_delete on mail;
truncate mail, letters;

-- Whatever error a trigger raises, the failure and the claim are as they were, and the job stays; but not if the transaction is
-- to be repeated, or the call is ended from outside.
create function refuse() returns trigger language plpgsql as $$
begin
	raise 'no room' using errcode = current_setting('test.code'), hint = 'Make room.';
end $$;
create trigger refuse before insert on letters for each row execute function refuse();
select queue_alter('mail', max_attempts => 1);
create function fail_and_look(code text) returns text language plpgsql as $$
begin
	perform set_config('test.code', code, true);
	perform queue_send('mail', '1');
	perform queue_fail('mail', id, attempt) from queue_pop('mail');
	perform queue_alter('mail', lease => '1 hour'); -- so that the next claim looks
	perform from queue_pop('mail');
	return (select count(*) from mail) || ' of ' || code;
end $$;
\set VERBOSITY terse
select fail_and_look(c) from unnest('{XX000,XX001,53100,53200,57014,57P01,22012,P0001,25006,55P03,54001}'::text[]) as c;
select fail_and_look('40001');
create or replace function refuse() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
set statement_timeout = '1 s';
select fail_and_look('none');
reset statement_timeout;
\set VERBOSITY default
select count(*) from mail;
drop trigger refuse on letters;
call queue_maintain('mail');
select (select count(*) from mail) as mail, (select count(*) from letters) as letters;
truncate mail, letters;

-- queue_maintain does the rest where jobs cannot be moved, and raises that then; and dead_keep removes no job that is to be moved.
create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$;
create trigger refuse before insert on letters for each row execute function refuse();
select queue_create('kept', archive => true, archive_keep => '1 hour', dead_keep => '1 hour', dead_queue => 'letters');
insert into kept (payload, dead_at) values ('1', now() - interval '1 day');
create procedure archive_one() language sql as $$
	insert into kept_archive (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)
	values (1, now(), now(), now() - interval '1 day', 1, 1, 3, 0, 'completed', '1');
$$;
call archive_one();
\set VERBOSITY terse
call queue_maintain('kept');
\set VERBOSITY default
select (select count(*) from kept) as kept, (select count(*) from kept_archive) as archived;
drop trigger refuse on letters;
select queue_detach('letters');
call archive_one();
call queue_maintain('kept');
select (select count(*) from kept) as kept, (select count(*) from kept_archive) as archived;
select finding from queue_health('kept') where finding in ('keep_overdue', 'dead_not_moved');
select queue_adopt('letters');
call queue_maintain('kept');
select (select count(*) from kept) as kept, (select count(*) from kept_archive) as archived, (select count(*) from letters) as letters;
insert into kept (payload, dead_at) values ('2', now() - interval '1 day');
select queue_alter('kept', dead_queue => '');
call queue_maintain('kept');
select (select count(*) from kept) as kept, (select count(*) from kept_archive) as archived, (select count(*) from letters) as letters;
select queue_drop('kept');
truncate letters;

-- A look locks the archive and the dead queue only when there is something for them, and then the one slot.
select queue_create('kept', max_attempts => 1, archive => true, archive_keep => '1 day', dead_queue => 'letters');
create function locked() returns table (slots bigint, others bigint) language sql volatile as $$
	select count(*) filter (where relation in (select inhrelid from pg_inherits where inhparent = 'kept_archive'::regclass)),
		count(*) filter (where relation in ('kept_archive'::regclass, 'letters'::regclass))
	from pg_locks where pid = pg_backend_pid() and mode = 'RowExclusiveLock' $$;
\c -
set client_min_messages = warning;
set search_path = test_dead_moves, public;
begin;
select count(*) from queue_pop('kept');
select * from locked();
commit;
select queue_alter('kept', lease => '1 hour'); -- so that the next claim looks
insert into kept (payload, dead_at, leased_until, attempt) values ('1', now() - interval '1 hour', now() - interval '1 hour', 1);
begin;
select count(*) from queue_pop('kept');
select * from locked();
rollback;
select queue_send('kept', '2');
begin;
select queue_fail('kept', id, attempt) from queue_pop('kept');
select * from locked();
commit;
drop function locked;
select queue_drop('kept');
truncate letters;

-- A cast of a column's type is the owner's code: it does not run as the owner in the worker's session. A column of another type is left
-- where it is.
create type tone as enum ('low', 'high');
create function tone_text(t tone) returns text language plpgsql as $$ begin raise warning 'as who began the session: %', current_user = session_user; return enum_out(t); end $$;
create cast (tone as text) with function tone_text(tone) as assignment;
create function text_tone(t text) returns tone language plpgsql as $$ begin raise warning 'as who began the session: %', current_user = session_user; return enum_first(null::test_dead_moves.tone); end $$;
create cast (text as tone) with function text_tone(text) as assignment;
select queue_create('toned', max_attempts => 1, dead_queue => 'letters');
alter table toned alter kind type tone using null;
select queue_create('kept', max_attempts => 1, archive => true, dead_queue => 'letters');
alter table kept_archive alter last_error type tone using null;
create role regress_moves_toned;
grant usage on schema test_dead_moves to regress_moves_toned;
grant select, update, delete on toned, kept to regress_moves_toned;
insert into toned (payload, kind, dead_at, attempt) values ('1', 'low', now(), 1);
insert into kept (payload, last_error, dead_at, attempt) values ('2', 'no', now(), 1);
\c -
set client_min_messages = warning;
set search_path = test_dead_moves, public;
set role regress_moves_toned;
select count(*) from queue_pop('toned');
select count(*) from queue_pop('kept');
reset role;
select (select count(*) from toned) as toned, (select count(*) from kept) as kept, (select count(*) from letters) as letters;
call queue_maintain('toned');
call queue_maintain('kept');
select payload, kind, last_error from letters;
drop owned by regress_moves_toned;
drop role regress_moves_toned;
select queue_drop('toned'), queue_drop('kept');
drop type tone cascade;
truncate letters;

-- A queue whose archive was dropped keeps its dead jobs, and queue_maintain says why.
select queue_create('kept', max_attempts => 1, archive => true, dead_queue => 'letters');
drop table kept_archive;
select queue_send('kept', '1');
select queue_fail('kept', id, attempt) from queue_pop('kept');
call queue_maintain('kept');
select (select count(*) from kept) as kept, (select count(*) from letters) as letters;
select queue_alter('kept', archive => true);
call queue_maintain('kept');
select (select count(*) from kept) as kept, (select count(*) from kept_archive) as archived, (select count(*) from letters) as letters;
select queue_drop('kept');
truncate letters;

-- The comment of a table names a dead queue that cannot be looked up.
create schema test_dead_app;
create role regress_moves_owner;
grant usage, create on schema test_dead_moves, test_dead_app to regress_moves_owner;
set role regress_moves_owner;
set client_min_messages = warning;
select queue_create('test_dead_app.jobs');
select queue_create('adopted', dead_queue => 'test_dead_app.jobs');
select queue_detach('adopted');
reset role;
revoke usage on schema test_dead_app from regress_moves_owner;
set role regress_moves_owner;
select queue_adopt('adopted');
select dead_queue from queues where source = 'adopted'::regclass;
select queue_detach('adopted');
comment on table adopted is 'queue of queue_ext: {"lease": "1s", "max_attempts": 1, "backoff_base": "1s", "backoff_cap": "1s", "archive": false, "dead_queue": "no.name.of.mine"}';
select queue_adopt('adopted');
reset role;
-- A dead queue that was renamed is kept, as queue_detach writes the comment anew.
grant usage on schema test_dead_app to regress_moves_owner;
set role regress_moves_owner;
select queue_alter('adopted', dead_queue => 'test_dead_app.jobs');
alter table test_dead_app.jobs rename to undelivered;
select queue_detach('adopted');
select queue_adopt('adopted');
select dead_queue from queues where source = 'adopted'::regclass;
reset role;
drop owned by regress_moves_owner cascade;
drop role regress_moves_owner;
drop schema test_dead_app;

-- A dead queue without its trigger counts what it takes, and a claim finds it at once.
drop trigger queue_ext_wake on letters;
select count(*) from queue_pop('letters');
create temp view sent as select sent from queue_stats where source = 'letters'::regclass;
table sent \gset before_
begin;
select queue_send('mail', '1', max_attempts => 1) as id \gset
select queue_fail('mail', :id, attempt) from queue_pop('mail');
commit;
select sent - :before_sent as sent from sent;
select payload from queue_pop('letters');
select queue_alter('letters', wake => true);
select queue_send('mail', '2', max_attempts => 1) as id \gset
select queue_fail('mail', :id, attempt) from queue_pop('mail');
select sent - :before_sent as sent from sent;
drop view sent;
truncate letters;

-- A temporary dead queue is only for a temporary queue.
create function temporary_of(name text) returns text language sql as $$
	select error_of(format($q$select queue_create(%L, dead_queue => 'pg_temp.letters')$q$, name)) $$;
select queue_create('pg_temp.letters') is not null as made;
select regexp_replace(temporary_of('lasting'), 'pg_temp_\d+', 'pg_temp', 'g');
select regexp_replace(error_of($$select queue_alter('mail', dead_queue => 'pg_temp.letters')$$), 'pg_temp_\d+', 'pg_temp', 'g');
select temporary_of('pg_temp.passing');
select queue_send('pg_temp.passing', '1', max_attempts => 1);
select queue_fail('pg_temp.passing', id, attempt) from queue_pop('pg_temp.passing');
select payload from pg_temp.letters;
select queue_drop('pg_temp.passing'), queue_drop('pg_temp.letters');

-- What hinders moves is in the server's log, once in a minute for a queue, also where its definition has changed.
create or replace function refuse() returns trigger language plpgsql as $$
begin
	raise 'no room' using detail = 'There are too many.', hint = 'Make room.';
end $$;
create trigger refuse before insert on letters for each row execute function refuse();
select queue_create('post', max_attempts => 1, dead_queue => 'letters');
select count(queue_send('post', '1')), count(queue_send('mail', '1'));
\c -
set client_min_messages = warning;
set search_path = test_dead_moves, public;
set client_min_messages = log;
select queue_fail('post', id, attempt) from queue_pop('post');
select queue_alter('post', lease => '1 hour');
select id from queue_pop('post');
select queue_fail('mail', id, attempt) from queue_pop('mail');
set client_min_messages = warning;
drop trigger refuse on letters;
select queue_drop('post');
truncate mail, letters;

-- It is made when it is moved.
begin;
select pg_sleep(0.01);
select queue_send('mail', '1') as id \gset
select queue_fail('mail', :id, attempt) from queue_pop('mail');
commit;
select created_at >= (origin->>'died_at')::timestamptz as after_death, created_at = run_at as ready from letters;
truncate letters;
-- A queue is not its own dead queue, whatever the registry has.
select queue_send('mail', '1') is not null as sent;
update public.queue_definition set dead_queue = source where source = 'mail'::regclass;
\c -
set client_min_messages = warning;
set search_path = test_dead_moves, public;
select queue_fail('mail', id, attempt) from queue_pop('mail');
select count(*) from mail where dead_at is not null;
call queue_maintain('mail');
select count(*) from mail where dead_at is not null;

drop schema test_dead_moves cascade;
drop role regress_moves_worker;
