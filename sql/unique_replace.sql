-- on_conflict of unique inserts: the newest payload replaces the one that waits, or moves its time.
set client_min_messages = warning;
create schema test_replace;
set search_path = test_replace, public;
select queue_create('jobs', lease => '1 hour', backoff_base => '1 day', backoff_cap => '1 day', archive => true);
create view state as
select id, payload ->> 'n' as n, priority as prio, kind, attempt, run_at > now() as later, leased_until > now() as leased, last_error as error
from jobs order by id;
create function put(n text, on_conflict text default 'replace', priority integer default 0, run_at timestamptz default null, kind text default null)
returns table (id bigint, inserted boolean, outcome text) language sql volatile
return queue_unique_insert('jobs', jsonb_build_object('k', 'a', 'n', n), '{k}', priority => priority, run_at => run_at, kind => kind, on_conflict => on_conflict);
create function next() returns table (id bigint, attempt integer, n text) language sql volatile
begin atomic
	select id, attempt, payload ->> 'n' from queue_pop('jobs');
end;

-- One that waits: payload, priority, run_at and kind.
select * from put('1', priority => 3, kind => 'x');
select * from put('2', 'keep');
select * from put('3', priority => 1, kind => 'y');
select * from put('4', run_at => now() + interval '1 hour');
select * from state;
select * from next();
select * from put('5');
select * from state;
-- In the hands of a worker: it is left alone, and has one successor.
select * from next();
select * from put('6');
select * from put('7', priority => 1);
select * from state;
select queue_complete('jobs', 1, 1);
select * from next();
-- A lease that is over: it is taken over, as by a claim, and what its worker says is too late.
update jobs set leased_until = now() - interval '1 second';
select * from put('8');
select queue_complete('jobs', 2, 1) as completed, queue_extend('jobs', 2, 1) as extended, queue_fail('jobs', 2, 1) as failed;
select s.*, j.leased_by, j.released from state as s join jobs as j using (id);
select j.*, queue_complete('jobs', j.id, j.attempt) from next() as j;
select outcome from put('8');
-- Failed, it waits for another attempt: that is of the new payload, and at once.
select * from next();
select queue_fail('jobs', 3, 1, 'no');
select * from put('9');
select * from next();
select queue_release('jobs', 3, 2);
select * from put('10');
select * from state;
-- A worker that is too late has no good receipt.
select queue_complete('jobs', 3, 2) as completed, queue_extend('jobs', 3, 2) as extended;
-- Dead or done ones are left alone, where they count.
select id, attempt from next();
select queue_fail('jobs', 3, 3, 'for good', retry => false);
select queue_unique_insert('jobs', '{"k": "a", "n": "11"}', '{k}', states => '{ready,scheduled,leased,dead}', on_conflict => 'replace');
select * from put('12');
select queue_unique_insert('jobs', '{"k": "b", "n": "13"}', '{k}', period => '40000 days', on_conflict => 'replace');
select queue_unique_insert('jobs', '{"k": "b", "n": "14"}', '{k}', period => '40000 days', on_conflict => 'replace');
select queue_complete('jobs', j.id, j.attempt), j.n from next() as j;
select queue_complete('jobs', j.id, j.attempt), j.n from next() as j;
select queue_unique_insert('jobs', '{"k": "b", "n": "15"}', '{k}', period => '40000 days', on_conflict => 'replace');
select * from state;

-- At the head of the order, or not there any more, at once: also of jobs that a ring holds.
truncate jobs;
select count(*) from queue_send_many('jobs', array_fill('{"k": "other"}'::jsonb, array[900]), 5);
select outcome from put('1', priority => 9);
select n from next();
select outcome from put('2', priority => 1);
select n from next();
select outcome from put('3', priority => -1);
select outcome from put('4', priority => -1, run_at => now() + interval '1 hour');
select n from next();

-- Rolled back, the old one is there.
truncate jobs restart identity;
select outcome from put('1');
begin;
select outcome from put('2');
savepoint a;
select outcome from put('3');
rollback to a;
select n from state;
rollback;
select n from state;
begin;
select outcome from put('4', priority => 3);
rollback;
select n from next();

-- Also where no trigger tells of it.
truncate jobs;
drop trigger queue_ext_wake on jobs;
select count(*) from queue_send_many('jobs', array_fill('{"k": "other"}'::jsonb, array[900]), 5);
select outcome from put('1', priority => 9);
select n from next();
select outcome from put('2', priority => 1);
select n from next();
select queue_alter('jobs', wake => true);

-- Whichever states count: a job behind one that a worker has is changed, and does not get company.
truncate jobs restart identity;
select outcome from put('1');
select id from next();
select u.id, u.outcome from generate_series(2, 4) as n, queue_unique_insert('jobs', jsonb_build_object('k', 'a', 'n', n), '{k}', states => '{leased}', on_conflict => 'replace') as u;
select u.id, u.outcome from generate_series(1, 3) as n, queue_unique_insert('jobs', '{"k": "a"}', '{k}', states => '{ready,leased}', run_at => now() + interval '1 hour', on_conflict => 'postpone') as u;
select id, n, later, leased from state;

-- Two that wait, as after a claim that was rolled back: both have the newest, so the last that a worker gets has it.
truncate jobs restart identity;
select outcome from put('1');
insert into jobs (payload, unique_key) select payload, unique_key from jobs;
select * from put('2');
select n from state;

-- Postponed: to a later time, at the latest so long after it was sent, and never to an earlier one.
truncate jobs restart identity;
create function postpone(after interval, max_delay interval default null) returns table (id bigint, outcome text, minutes numeric, n text) language plpgsql as $$
begin
	return query select u.id, u.outcome, null::numeric, null from queue_unique_insert('jobs', '{"k": "a", "n": "other"}', '{k}', run_at => now() + after, on_conflict => 'postpone', max_delay => max_delay) as u;
	return query select j.id, null, round(extract(epoch from j.run_at - j.created_at) / 60, 1), j.payload ->> 'n' from jobs as j order by 1;
end $$;
begin;
select id, outcome from put('1', run_at => now() + interval '10 minutes');
select * from postpone('20 minutes');
select * from postpone('5 minutes');
select * from postpone('40 minutes', '30 minutes');
select * from postpone('50 minutes', '30 minutes');
select * from postpone('50 minutes', '0');
select * from postpone('1 day 1 minute', '1 day');
update jobs set run_at = now();
select id from next();
select * from postpone('10 minutes');
rollback;

-- Many: of equal keys the last one.
truncate jobs restart identity;
select * from queue_unique_insert_many('jobs', array['{"k": "a", "n": 1}', '{"k": "b", "n": 2}', '{"k": "a", "n": 3}']::jsonb[], '{k}', on_conflict => 'replace');
select n from state;
select * from queue_unique_insert_many('jobs', array['{"k": "a", "n": 4}', '{"k": "c", "n": 5}', '{"k": "a", "n": 6}']::jsonb[], '{k}', on_conflict => 'replace');
select n from state;
select * from queue_unique_insert_many('jobs', array['{"k": "a", "n": 7}', '{"k": "a", "n": 8}']::jsonb[], '{k}', on_conflict => 'keep');
select * from queue_unique_insert_many('jobs', array['{"k": "a", "n": 7}', '{"k": "d", "n": 8}', '{"k": "d", "n": 9}']::jsonb[], '{k}', run_at => now() + interval '1 hour', on_conflict => 'postpone');
select n, later from state;
-- What is kept is not said to be replaced.
select queue_fail('jobs', j.id, j.attempt, 'no', retry => false) from queue_pop('jobs', 9) as j;
select id, outcome from queue_unique_insert_many('jobs', array['{"k": "b", "n": 7}', '{"k": "b", "n": 8}']::jsonb[], '{k}', states => '{dead}', on_conflict => 'replace');
truncate jobs restart identity;
select outcome from put('9');
-- Without keys of the payload it is the same payload; its time and priority are new.
select * from queue_unique_insert('jobs', '"whole"', priority => 4, on_conflict => 'replace');
select * from queue_unique_insert('jobs', '"whole"', priority => 2, on_conflict => 'replace');
select priority from jobs where payload = '"whole"';

-- A sender's rights do: INSERT on what it writes, and SELECT on what a unique insert reads.
create role regress_sender;
grant usage on schema test_replace to regress_sender;
grant select (id, run_at, leased_until, dead_at, payload, unique_key) on jobs to regress_sender;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command into hint;
	return hint;
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;
create function sends(n integer, on_conflict text default 'replace') returns text language plpgsql as $$
declare
	said text;
begin
	set local role regress_sender;
	said := error_of(format($c$select (queue_unique_insert('jobs', '{"k": "a", "n": "%s"}', '{k}', on_conflict => %L, run_at => now())).outcome$c$, n, on_conflict));
	reset role;
	return said;
end $$;
grant insert (payload, priority, run_at, max_attempts, unique_key) on jobs to regress_sender;
select sends(10);
grant insert (kind) on jobs to regress_sender;
select sends(10), sends(10, 'postpone');
select n from state where id = 1;
set role regress_sender;
select error_of($$update jobs set priority = 1$$);
reset role;
-- But not where that would run code of a user as the owner, or could show what the sender may not see.
create function touch() returns trigger language plpgsql as $$ begin new.last_error := 'by ' || current_user; return new; end $$;
create function is_good(payload jsonb) returns boolean language sql immutable return payload is not null;
create domain text_domain as text check (value <> 'x');
create operator class own_ops for type smallint using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=, operator 5 >, function 1 btint2cmp(int2, int2);
create table refused_for (n integer generated always as identity, what text, undo text);
insert into refused_for (what, undo) values
	('create trigger touch before update on jobs for each row execute function touch()', 'drop trigger touch on jobs'),
	('create trigger touch after update of payload on jobs for each statement execute function touch()', 'drop trigger touch on jobs'),
	('alter table jobs add constraint c check (is_good(payload))', 'alter table jobs drop constraint c'),
	('alter table jobs add constraint c check (is_good(null) or true)', 'alter table jobs drop constraint c'),
	('alter table jobs add constraint c check (payload ? ''k'')', 'alter table jobs drop constraint c'),
	('alter table jobs add constraint c check (jobs is not null or true)', 'alter table jobs drop constraint c'),
	('alter table jobs add column g text generated always as (payload ->> ''n'') stored', 'alter table jobs drop column g'),
	('create rule r as on update to jobs do also select 1', 'drop rule r on jobs'),
	('create index i on jobs ((payload ->> ''n''))', 'drop index i'),
	('create index i on jobs (id) where is_good(payload)', 'drop index i'),
	('create index i on jobs (priority own_ops)', 'drop index i'),
	('create unique index i on jobs (priority, id)', 'drop index i'),
	('alter table jobs add constraint c exclude using btree (id with =)', 'alter table jobs drop constraint c'),
	('alter table jobs alter column leased_by type text_domain', 'alter table jobs alter column leased_by type text'),
	('create index i on jobs (id) where priority > 3', 'drop index i'),
	('alter table jobs add constraint c check (created_at is not null)', 'alter table jobs drop constraint c'),
	('alter table jobs add constraint c check (id::text::text_domain is not null)', 'alter table jobs drop constraint c');
create procedure try_each(inout refused integer default 0) language plpgsql as $$
declare
	each record;
	said text;
begin
	for each in select * from refused_for order by n loop
		execute each.what;
		said := sends(11 + each.n);
		raise notice '%: %', each.what, replace(said, 'test_replace.', '');
		refused := refused + (said ~ '^42501')::integer;
		execute each.undo;
	end loop;
end $$;
drop view state;
delete from jobs where payload = '"whole"';
set client_min_messages = notice;
call try_each();
set client_min_messages = warning;
create view state as
select id, payload ->> 'n' as n, priority as prio, kind, attempt, run_at > now() as later, leased_until > now() as leased, last_error as error
from jobs order by id;
-- There the sender has to have the rights itself, and the code runs as the sender.
create trigger touch before update on jobs for each row execute function touch();
grant select (created_at, attempt, released), update (payload, priority, run_at, attempt, leased_until, leased_by, kind, released, progress) on jobs to regress_sender;
select sends(40), sends(41, 'postpone');
select n, error from state where id = 1;
drop trigger touch on jobs;
-- A trigger that names a table without its schema, and a sender who has a temporary one of that name.
revoke update (payload, priority, run_at, attempt, leased_until, leased_by, kind, released, progress) on jobs from regress_sender;
create table audit (who text);
create function note() returns trigger language plpgsql as $$ begin insert into audit values (current_user); return null; end $$;
create trigger note after update on jobs for each row execute function note();
set role regress_sender;
create temp table audit (who text);
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 42}', '{k}', on_conflict => 'replace')$$);
select * from pg_temp.audit;
drop table pg_temp.audit;
reset role;
drop trigger note on jobs;
-- Not where another queue may have the row in the hands of a worker.
select queue_attach('beside', 'jobs', 'true', 'id', claim_mode => 'session');
select sends(43);
select queue_detach('beside');
-- Not where policies apply to the caller, or to the owner, as whom it is done.
alter table jobs enable row level security;
create policy readers on jobs for select to regress_sender using (true);
create policy senders on jobs for insert to regress_sender with check (true);
set role regress_sender;
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 11}', '{k}', on_conflict => 'replace')$$);
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 11}', '{k}')$$);
reset role;
create role regress_owner;
grant usage, create on schema test_replace to regress_owner;
alter table jobs owner to regress_owner;
alter table jobs force row level security;
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 11}', '{k}', on_conflict => 'replace')$$);
alter table jobs no force row level security;
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 11}', '{k}', on_conflict => 'replace')$$);
select n, error from state where id = 1;
alter table jobs disable row level security;
drop policy readers on jobs;
drop policy senders on jobs;
-- A trigger may suppress the change.
create function refuse() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger refuse before update on jobs for each row execute function refuse();
select id, outcome from put('14');
drop trigger refuse on jobs;

-- A table that has no kinds.
drop view state;
alter table jobs drop column kind;
select * from queue_unique_insert('jobs', '{"k": "a", "n": 15}', '{k}', on_conflict => 'replace');
select payload ->> 'n' as n from jobs where id = 1;

-- Bad input.
select error_of(format($$select queue_unique_insert('jobs', '{"k": "a"}', '{k}', %s)$$, arguments))
from unnest(array['on_conflict => null', 'on_conflict => ''update''', 'on_conflict => ''''', 'max_delay => ''1 hour''', 'on_conflict => ''replace'', max_delay => ''1 hour''',
	'on_conflict => ''postpone''', 'on_conflict => ''postpone'', run_at => now(), max_delay => ''-1 hour''', 'on_conflict => ''postpone'', run_at => now(), max_delay => ''200000000 years''']) as arguments;
drop schema test_replace cascade;
drop owned by regress_owner cascade;
drop role regress_sender, regress_owner;
