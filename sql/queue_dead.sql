-- dead_queue: a job that dies goes to another queue, at once if it dies by a failure, else with the next look.
set client_min_messages = warning;
set time zone 'UTC';
create schema test_dead;
set search_path = test_dead, public;
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

-- The queue is named when its source is made, or later.
select queue_create('letters', max_attempts => 3);
create view dead as
select id, priority, kind, attempt, max_attempts, payload, last_error,
	(select jsonb_agg(e - 'at'::text) from jsonb_array_elements(errors) as e) as errors, progress,
	origin - 'created_at'::text - 'died_at'::text as origin, unique_key, leased_by, dead_at
from letters order by id;
select queue_create('mail', lease => '1 hour', max_attempts => 2, backoff_base => '1 us', backoff_cap => '1 us', dead_queue => 'letters');
select queue, dead_queue from queues where source in ('mail'::regclass, 'letters'::regclass) order by 1;
select obj_description('mail'::regclass);
select queue_alter('mail', lease => '2 hours');
select queue_alter('mail', dead_queue => null);
select dead_queue from queues where source = 'mail'::regclass;
select queue_alter('mail', dead_queue => '');
select dead_queue, obj_description('mail'::regclass) from queues where source = 'mail'::regclass;
select queue_alter('mail', dead_queue => 'test_dead.letters');
select dead_queue, obj_description('mail'::regclass) from queues where source = 'mail'::regclass;
create table things (id integer primary key, taken boolean not null default false);
create index on things (id) where not taken;
select queue_attach('things', 'things', 'not taken', 'id', 'taken = true');
select error_of($$select queue_create('bad', dead_queue => 'letter')$$);
select error_of($$select queue_create('bad', dead_queue => 'things')$$);
select error_of($$select queue_create('bad', dead_queue => 'bad')$$);
select error_of($$select queue_create('bad', dead_queue => 'test_dead.bad')$$);
select error_of($$select queue_create('pg_temp.bad', dead_queue => 'pg_temp.bad')$$);
create schema test_dead_other;
select error_of($$select queue_create('test_dead_other.bad', dead_queue => 'bad')$$);
drop schema test_dead_other;
select error_of($$select queue_create('bad', dead_queue => 'a.b.c')$$);
select error_of($$select queue_alter('mail', dead_queue => 'mail')$$);
select error_of($$select queue_alter('mail', dead_queue => 'nothing')$$);
select error_of($$select queue_alter('things', dead_queue => 'letters')$$);
select to_regclass('bad');
create role regress_dead_other;
grant create, usage on schema test_dead to regress_dead_other;
set role regress_dead_other;
select queue_create('foreign');
reset role;
select replace(error_of($$select queue_alter('mail', dead_queue => 'foreign')$$), current_user, 'this_role');
set role regress_dead_other;
select error_of($$select queue_create('bad', dead_queue => 'letters')$$);
reset role;
select queue_create('old');
alter table old drop origin;
select error_of($$select queue_alter('mail', dead_queue => 'old')$$);

-- A job that is tried again stays; one that dies goes at once, with all that is told of it, as a job of its own.
select queue_send('mail', '{"to": "a"}', 5, kind => 'x');
select queue_fail('mail', id, attempt, 'busy') from queue_pop('mail', worker => 'w1');
select id, attempt, last_error from mail;
table dead;
select queue_extend('mail', id, attempt, progress => '40') from queue_pop('mail', worker => 'w2');
select queue_fail('mail', 1, 2, 'gone');
select count(*) from mail;
table dead;
select (origin->>'died_at')::timestamptz - (origin->>'created_at')::timestamptz between '0' and '1 minute' as took,
	(origin->>'died_at')::timestamptz between now() - interval '1 minute' and clock_timestamp() as died,
	run_at = (origin->>'died_at')::timestamptz as ready_since, created_at between now() - interval '1 minute' and clock_timestamp() as made
from letters;
-- It can be worked on there, and dies there for good.
select id, attempt, priority, payload, last_error from queue_pop('letters');
select queue_fail('letters', 1, 1, 'no', retry => false);
select id, dead_at is not null as dead, origin->'id' as origin from letters;
truncate letters restart identity;
-- In every form: many, a row, a receipt, receipts; for good.
select queue_send_many('mail', '{1,2,3,4,5,6}', 0);
select queue_fail_many('mail', array_agg(id order by id), array_agg(attempt order by id), array['first', null], retry => false) from queue_pop('mail', 2);
select queue_fail_row('mail', r, 'row', retry => false) from queue_pop_rows(null::mail, 'mail') as r;
select queue_fail_receipt('mail', queue_receipt('mail', r), 'receipt', retry => false) from queue_pop_rows(null::mail, 'mail') as r;
select count(*) from queue_fail_receipts('mail', (select array_agg(queue_receipt('mail', r)) from queue_pop_rows(null::mail, 'mail', 2) as r), retry => false);
select count(*) from mail;
select id, payload, last_error, origin->'id' as origin from letters order by id;
-- Of many, those that die.
truncate letters restart identity;
select queue_send_many('mail', '{7,8}', 0, max_attempts => 1);
select queue_send_many('mail', '{9}', 0);
select count(*) from (select queue_fail_many('mail', array_agg(id), array_agg(attempt)) from queue_pop('mail', 3)) as f;
select payload, attempt from mail;
select payload from letters order by id;
select queue_cancel('mail', id) from mail;
-- A stale receipt moves nothing, nor does what is rolled back.
truncate letters restart identity;
select queue_send('mail', '10', max_attempts => 1) as id \gset
begin;
select queue_fail('mail', id, attempt) from queue_pop('mail');
select count(*) from mail;
select payload from letters;
rollback;
select payload, attempt from mail;
select payload from letters;
begin;
savepoint s;
select queue_fail('mail', id, attempt) from queue_pop('mail');
rollback to s;
commit;
select id from queue_pop('mail');
select queue_fail('mail', :id, 0), queue_fail('mail', :id, 2);
select payload, dead_at is not null as dying from mail;
select queue_fail('mail', :id, 1);
select payload from letters;

-- By the end of its last lease: moved by the next claim of a session that has not looked within a second, whatever it finds.
truncate letters restart identity;
select queue_send('mail', '11', max_attempts => 1);
select payload from queue_pop('mail', lease => '1 us');
\c -
set client_min_messages = warning;
set search_path = test_dead, public;
select payload from queue_pop('mail');
select count(*) from mail;
table dead;
-- Or by queue_maintain, all of them, and only those.
truncate letters restart identity;
insert into mail (payload, dead_at, leased_until, attempt) select '12', now() - interval '1 day', now() - interval '1 day', 1 from generate_series(1, 1200);
insert into mail (payload, dead_at, leased_until, attempt) select '13', now() + interval '1 day', now() + interval '1 day', 1 from generate_series(1, 3);
call queue_maintain('mail');
select payload, count(*) from mail group by 1;
select payload, count(*), count(distinct origin->'id') as origins from letters group by 1;
truncate mail, letters;

-- The worker needs no right on the dead queue, as the owner moves; unless that has code of users.
create role regress_dead_worker;
grant usage on schema test_dead to regress_dead_worker;
grant select, update, delete on mail to regress_dead_worker;
create role regress_dead_owner;
grant create, usage on schema test_dead to regress_dead_owner;
alter table mail owner to regress_dead_owner;
alter table letters owner to regress_dead_owner;
select queue_send('mail', '14');
set role regress_dead_worker;
select error_of('select count(*) from letters');
select queue_fail('mail', id, attempt, retry => false) from queue_pop('mail');
reset role;
select payload from letters;
create function log_it() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger log_it before insert on letters for each row execute function log_it();
select queue_send('mail', '15');
set role regress_dead_worker;
select queue_fail('mail', id, attempt, retry => false) from queue_pop('mail');
select payload, dead_at is not null as dead from mail;
reset role;
grant insert, select on letters to regress_dead_worker;
select queue_send('mail', '16');
set role regress_dead_worker;
select queue_fail('mail', id, attempt, retry => false) from queue_pop('mail');
select payload, dead_at is not null as dead from mail;
reset role;
select payload from letters order by id;
-- A job that the dead queue does not take stays dead where it is, and is told by queue_maintain.
create or replace function log_it() returns trigger language plpgsql as $$ begin return null; end $$;
select queue_send('mail', '17');
select queue_fail('mail', id, attempt, retry => false) from queue_pop('mail');
select payload from mail order by id;
call queue_maintain('mail');
create or replace function log_it() returns trigger language plpgsql as $$ begin raise 'not today'; end $$;
select queue_send('mail', '18');
select queue_fail('mail', id, attempt, retry => false) from queue_pop('mail');
\c -
set client_min_messages = warning;
set search_path = test_dead, public;
select payload from queue_pop('mail');
select payload from mail order by id;
\set VERBOSITY terse
call queue_maintain('mail');
\set VERBOSITY default
drop trigger log_it on letters;
call queue_maintain('mail');
select payload from mail;
select payload from letters order by id;

-- queue_health: what nobody moves, and why; a dead queue without workers is no queue whose jobs are late.
drop view dead;
truncate letters restart identity;
create view found as select finding, severity, regexp_replace(detail, 'on \d.*? is', 'on ... is') as detail, hint from queue_health('mail')
	where finding like 'dead_not%';
table found;
insert into mail (payload, dead_at, leased_until, attempt) values ('19', now() - interval '1 hour', now() - interval '1 hour', 1);
table found;
call queue_maintain('mail');
table found;
create view of_graves as select finding, severity, regexp_replace(detail, 'since \d.*\.', 'since ...') as detail, hint from queue_health('graves')
	where finding like 'dead_jobs_t%' or finding ~ 'worker|ready';
set role regress_dead_owner;
select queue_create('graves');
reset role;
select queue_send('graves', '1', run_at => now() - interval '1 day');
select finding from of_graves;
set role regress_dead_owner;
select queue_alter('letters', dead_queue => 'graves');
reset role;
-- A job that was sent there is late as in any queue; one that died elsewhere, at the head, is not, also if somebody looks by hand.
select finding from of_graves;
update graves set origin = '{}';
table of_graves;
select count(*) from queue_pop('graves');
select queue_release('graves', 1, 1, now() - interval '1 day');
select finding from of_graves;
select queue_send('graves', '2', -1, run_at => now() - interval '1 day');
select finding from of_graves;
set role regress_dead_owner;
select queue_alter('letters', dead_queue => '');
reset role;
drop view of_graves;
select queue_drop('graves');
truncate letters restart identity;
alter table letters owner to regress_dead_other;
select finding, detail, hint from found;
select queue_send('mail', '20', max_attempts => 1);
select queue_fail('mail', id, attempt) from queue_pop('mail');
call queue_maintain('mail');
select payload, dead_at is not null as dead from mail;
alter table letters owner to regress_dead_owner;
alter table letters drop origin;
select finding, detail from found;
call queue_maintain('mail');
select queue_upgrade('letters');
select finding, detail from found;
select queue_detach('letters');
select finding, detail from found;
call queue_maintain('mail');
select payload, dead_at is not null as dead from mail;
select queue_adopt('letters');
call queue_maintain('mail');
select count(*) from mail;
select payload from letters;
select queue_drop('letters');
select finding, detail from found;
select queue_send('mail', '21', max_attempts => 1);
select queue_fail('mail', id, attempt) from queue_pop('mail');
select payload, dead_at is not null as dead from mail;
drop view found;
truncate mail;

-- The comment of a table keeps it, where the queue is adopted again.
create view dead_queues as select queue, dead_queue from queues where source::regclass::text in ('mail', 'letters', 'graves') order by 1;
set role regress_dead_owner;
select queue_create('letters');
select queue_alter('mail', dead_queue => 'letters');
select queue_detach('mail');
select queue_adopt('mail');
reset role;
table dead_queues;
select queue_detach('mail');
select queue_drop('letters');
select queue_adopt('mail');
table dead_queues;

-- A job that dies again has the origin of the first queue. The archive of each says so, too.
set role regress_dead_owner;
select queue_create('graves');
select queue_create('letters', archive => true, dead_queue => 'graves');
select queue_alter('mail', archive => true, archive_keep => '1 day', dead_queue => 'letters');
reset role;
select queue_send('mail', '22', max_attempts => 1) as id \gset
select queue_fail('mail', id, attempt, 'one') from queue_pop('mail');
select state from queue_result('mail', :id);
select state, last_error, origin from mail_archive;
select queue_fail('letters', id, attempt, 'two', retry => false) from queue_pop('letters');
select state, last_error, origin - 'created_at'::text - 'died_at'::text as origin from letters_archive;
select payload, last_error, jsonb_array_length(errors) as errors, origin - 'created_at'::text - 'died_at'::text as origin from graves;
-- In a circle.
set role regress_dead_owner;
select queue_alter('graves', dead_queue => 'mail');
reset role;
select queue_fail('graves', id, attempt, 'three', retry => false) from queue_pop('graves');
select payload, attempt, last_error, origin->'queue' as origin from mail;

-- The statistics count them.
select queue, sent, failed, dead, moved from queue_stats where source in ('mail'::regclass, 'letters'::regclass, 'graves'::regclass) order by 1;
-- With the jobs of a queue of 0.1.
truncate mail;
set role regress_dead_owner;
select queue_alter('graves', dead_queue => '');
reset role;
alter table mail drop claimed_at, drop kind, drop released, drop errors, drop progress, drop origin, drop expires_at;
select queue_alter('mail', dead_queue => 'graves', archive => false);
select queue_send('mail', '23', max_attempts => 1);
select queue_fail('mail', id, attempt, 'old') from queue_pop('mail');
select payload, kind, last_error, errors, progress, origin - 'id'::text - 'created_at'::text - 'died_at'::text as origin from graves;

drop schema test_dead cascade;
drop role regress_dead_other, regress_dead_worker, regress_dead_owner;
