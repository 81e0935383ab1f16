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
-- A lease that is over: its worker may still complete the job.
update jobs set leased_until = now() - interval '1 second';
select * from put('8');
select queue_complete('jobs', 2, 1);
select * from state;
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
-- Without keys of the payload it is the same payload; its time and priority are new.
select * from queue_unique_insert('jobs', '"whole"', priority => 4, on_conflict => 'replace');
select * from queue_unique_insert('jobs', '"whole"', priority => 2, on_conflict => 'replace');
select priority from jobs where payload = '"whole"';

-- A sender's rights do: INSERT on what it writes, and SELECT on what a unique insert reads.
create function touch() returns trigger language plpgsql as $$
begin
	new.last_error := 'by ' || case when current_user = (select rolname from pg_roles where oid = (select relowner from pg_class where oid = 'test_replace.jobs'::regclass)) then 'the owner' else current_user::text end;
	return new;
end $$;
create trigger touch before update on jobs for each row execute function touch();
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
grant insert (payload, priority, run_at, max_attempts, unique_key) on jobs to regress_sender;
set role regress_sender;
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 10}', '{k}', on_conflict => 'replace')$$);
reset role;
grant insert (kind) on jobs to regress_sender;
set role regress_sender;
select error_of($$select queue_unique_insert('jobs', '{"k": "a", "n": 10}', '{k}', on_conflict => 'replace')$$);
select error_of($$update jobs set priority = 1$$);
reset role;
select n, error from state where id = 1;
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
drop trigger touch on jobs;
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
