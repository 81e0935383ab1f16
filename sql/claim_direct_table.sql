-- What the owner of a managed queue's table has added to it holds on the direct path,
-- too: foreign keys, triggers, columns, constraints, indexes. Where the direct path
-- cannot do what a statement would, a statement does it.
set client_min_messages = error;
create schema test_direct_table;
set search_path = test_direct_table, public;
set queue_ext.claim_path = direct;
select queue_create('jobs', lease => '1 hour');
-- What claims, each of one job, have added to the counter of the direct path.
create function claims() returns bigint language sql volatile
return (select claims from queue_claim_stats where source = 'jobs'::regclass);

-- 1. Foreign keys, of columns that a claim does not write, in both directions.
create table customer (id integer primary key);
insert into customer values (1), (2);
alter table jobs add customer integer default 1 references customer on delete cascade;
create table attachment (job bigint references jobs, name text);
create table pin (job bigint references jobs on delete restrict);
select queue_send_many('jobs', '{1,2,3}');
insert into jobs (payload, customer) values ('4', 2) returning id;
insert into attachment values (1, 'a');
insert into pin values (2);
select id, attempt, payload from queue_pop('jobs', 4);
select claims();
-- The keys work: when sent, inserted, completed, cancelled.
\set VERBOSITY sqlstate
alter table jobs alter customer set default 3;
select queue_send('jobs', '1');
select queue_send_many('jobs', '{1,2}');
alter table jobs alter customer set default 1;
insert into jobs (payload, customer) values ('4', 3);
insert into attachment values (77, 'b');
select queue_complete('jobs', 1, 1);
select queue_complete_many('jobs', '{1,2}', '{1,1}');
select queue_cancel('jobs', 1);
\set VERBOSITY default
-- RESTRICT has had an SQLSTATE of its own since 18.
do $$ begin
	perform queue_complete('jobs', 2, 1);
	raise exception 'completed';
exception when foreign_key_violation or restrict_violation then
	null;
end $$;
delete from attachment;
delete from pin;
select queue_complete('jobs', 1, 1);
delete from customer where id = 2;
select id from jobs order by id;
drop table attachment, pin;
alter table jobs drop customer;
select queue_purge('jobs');
select claims();
-- A key of a column that a claim writes: a statement claims, and the key is checked.
create table worker (name text primary key);
insert into worker values ('known');
alter table jobs add foreign key (leased_by) references worker;
select count(*) from queue_send_many('jobs', '{1,2}');
select count(*) from queue_pop('jobs', worker => 'known');
\set VERBOSITY sqlstate
select count(*) from queue_pop('jobs', worker => 'unknown');
\set VERBOSITY default
select claims();
alter table jobs drop constraint jobs_leased_by_fkey;
drop table worker;
select count(*) from queue_pop('jobs', worker => 'unknown');
select claims();
select queue_purge('jobs');

-- 2. Triggers.
create table log (place integer generated always as identity, what text);
create function note() returns trigger language plpgsql as $$
begin
	insert into log (what) values (concat_ws(' ', tg_name, tg_op, case when tg_level = 'ROW' then coalesce(new.id, old.id) end));
	return coalesce(new, old);
end $$;
create function flush() returns text language sql volatile
begin atomic
	with gone as (delete from log returning place, what) select string_agg(what, ', ' order by place) from gone;
end;
-- On UPDATE: a claim is one.
create trigger b_update before update on jobs for each row execute function note();
select queue_send('jobs', '1') as id \gset
select count(*) from queue_pop('jobs');
select claims(), replace(flush(), :'id', 'ID') as fired;
drop trigger b_update on jobs;
create trigger s_update after update on jobs execute function note();
select queue_release('jobs', :id, 1);
select count(*) from queue_pop('jobs');
select claims(), flush() as fired;
-- ... also a disabled one, when it is enabled.
alter table jobs disable trigger s_update;
select queue_release('jobs', :id, 2);
select count(*) from queue_pop('jobs');
select claims(), flush() as fired;
alter table jobs enable replica trigger s_update;
select queue_release('jobs', :id, 3);
select count(*) from queue_pop('jobs');
select claims(), flush() as fired;
drop trigger s_update on jobs;
-- ... of columns: fires where a claim writes one of them.
create trigger u_payload before update of payload on jobs for each row execute function note();
select queue_release('jobs', :id, 4);
select count(*) from queue_pop('jobs');
select claims(), flush() as fired;
create trigger u_leased_by before update of payload, leased_by on jobs for each row execute function note();
select queue_release('jobs', :id, 5);
select replace(flush(), :'id', 'ID') as fired;
select count(*) from queue_pop('jobs');
select claims(), replace(flush(), :'id', 'ID') as fired;
drop trigger u_payload on jobs;
drop trigger u_leased_by on jobs;
-- On INSERT: sending is one. BEFORE it may change what is sent, or swallow it.
create trigger a_insert after insert on jobs for each row execute function note();
create trigger s_insert before insert on jobs execute function note();
select queue_send('jobs', '1') > :id as sent;
select regexp_replace(flush(), '\d+', 'ID') as fired;
select count(*) from queue_send_many('jobs', '{1,2}');
select regexp_replace(flush(), '\d+', 'ID', 'g') as fired;
drop trigger a_insert on jobs;
drop trigger s_insert on jobs;
create function better() returns trigger language plpgsql as $$
begin
	if new.payload = '"swallow"' then
		return null;
	end if;
	new.priority = -5;
	return new;
end $$;
create trigger better before insert on jobs for each row execute function better();
select queue_send('jobs', '"better"') > :id as sent, queue_send('jobs', '"swallow"') as swallowed;
select payload, priority from queue_pop('jobs');
drop trigger better on jobs;
-- On DELETE: completing and cancelling are.
create trigger a_delete after delete on jobs for each row execute function note();
select queue_complete('jobs', :id, 6);
select replace(flush(), :'id', 'ID') as fired;
select count(*) from queue_complete_many('jobs', (select array_agg(id) from jobs where leased_until is not null),
	(select array_agg(attempt) from jobs where leased_until is not null));
select regexp_replace(flush(), '\d+', 'ID', 'g') as fired;
create trigger b_delete before delete on jobs for each row execute function better();
drop trigger a_delete on jobs;
-- A trigger that returns null keeps the row.
create function keep() returns trigger language plpgsql as 'begin return null; end';
drop trigger b_delete on jobs;
create trigger keep before delete on jobs for each row execute function keep();
select id as last, attempt from queue_pop('jobs') \gset
select queue_complete('jobs', :last, :attempt);
drop trigger keep on jobs;
select queue_complete('jobs', :last, :attempt);
select queue_purge('jobs') > 0 as purged;
-- Deferred ones.
create function no_more_than_two() returns trigger language plpgsql as $$
begin
	if (select count(*) from jobs) > 2 then
		raise exception using errcode = 'QUEUE';
	end if;
	return null;
end $$;
create constraint trigger at_most after insert on jobs deferrable initially deferred
	for each row execute function no_more_than_two();
\set VERBOSITY sqlstate
select count(*) from queue_send_many('jobs', '{1,2,3}');
begin;
select count(*) from queue_send_many('jobs', '{1,2,3}');
select count(*) from queue_pop('jobs');
commit;
\set VERBOSITY default
select count(*) from jobs;
select count(*) from queue_pop('jobs');
select count(*) from queue_send_many('jobs', '{1,2}');
drop trigger at_most on jobs;
select count(*) from queue_pop('jobs', 3);
select queue_purge('jobs');

-- 3. Columns: defaults of all kinds, NOT NULL, CHECK.
create sequence numbers start 100;
create function twice(integer) returns integer language sql immutable return $1 * 2;
create domain percent as integer default 50 check (value between 0 and 100);
create type mood as enum ('sad', 'happy');
alter table jobs
	add constant integer not null default 7,
	add stamp timestamptz not null default now(),
	add who text default current_user,
	add uuid uuid default gen_random_uuid(),
	add number bigint not null default nextval('numbers'),
	add list integer[] default '{1,2}',
	add mood mood default 'happy',
	add wide text default repeat('x', 5000),
	add gone integer default 9,
	add none integer;
alter table jobs drop gone;
insert into jobs (payload) values ('"inserted"');
select queue_send('jobs', '"sent"') is not null as sent;
select count(*) from queue_send_many('jobs', '{"\"many\"","\"many\""}');
select payload, constant, stamp = created_at as same, who = current_user as me, uuid is not null as has_uuid,
	number, list, mood, length(wide), none from jobs order by id;
select count(distinct uuid) from jobs;
begin;
select queue_send('jobs', '"stamp"') is not null as sent;
select stamp = now() and created_at = now() and run_at = now() as now from jobs where payload = '"stamp"';
commit;
-- Claims keep them, and their own.
select payload, attempt from queue_pop('jobs', 2);
select constant, list, mood, length(wide), number from jobs where attempt = 1 order by id;
-- Functions and types of one's own.
alter table jobs add doubled integer default twice(21), add percent percent;
select queue_send('jobs', '"own"') is not null as sent;
select doubled, percent from jobs where payload = '"own"';
\set VERBOSITY sqlstate
alter table jobs alter percent set default 101;
select queue_send('jobs', '1');
alter table jobs alter percent set default null;
select queue_send('jobs', '1') is not null as sent;
alter table jobs drop percent, drop doubled;
-- NOT NULL without a value, or with one that is null.
alter table jobs add needed integer;
update jobs set needed = 1;
alter table jobs alter needed set not null;
select queue_send('jobs', '1');
select queue_send_many('jobs', '{1,2}');
alter table jobs alter needed set default nullif(1, 1);
select queue_send('jobs', '1');
select queue_send_many('jobs', '{1,2}');
alter table jobs alter needed set default 1;
select queue_send('jobs', '1') is not null as sent;
-- CHECK, of the table's functions and of one's own; of what is sent and of what a claim
-- writes.
alter table jobs add check (priority < 10), add constraint own check (twice(max_attempts) < 100);
select queue_send('jobs', '1', priority => 9) is not null as sent;
select queue_send('jobs', '1', priority => 10);
select queue_send_many('jobs', '{1,2}', priority => 10);
select queue_send('jobs', '1', max_attempts => 50);
alter table jobs drop constraint own;
select queue_send('jobs', '1', priority => 10);
alter table jobs add constraint claimed check (attempt < 1 or leased_by <> 'bad') not valid;
select queue_send('jobs', '"checked"', priority => -100) is not null as sent;
select payload from queue_pop('jobs', worker => 'bad');
select payload from queue_pop('jobs', worker => 'good');
-- Nothing is left of what has failed.
select count(*) from jobs where payload in ('1', '2') and priority = 10;

-- 4. Indexes: unique, on an expression, partial, GIN, deferred.
alter table jobs drop constraint claimed;
select queue_purge('jobs') > 0 as purged;
create unique index on jobs ((payload ->> 'key'));
select queue_send('jobs', '{"key": "a"}') is not null as sent;
select queue_send('jobs', '{"key": "a"}');
select queue_send_many('jobs', array['{"key": "b"}', '{"key": "c"}', '{"key": "b"}']::jsonb[]);
select queue_send('jobs', '{"key": "b"}') is not null as sent;
select queue_send_many('jobs', array['{}', '{}']::jsonb[]) is not null as sent;
\set VERBOSITY default
create index on jobs using gin (payload);
create index by_double on jobs (twice(priority)) where attempt > 0;
select count(*) from queue_send_many('jobs', array['{"key": "x"}', '{"key": "y"}']::jsonb[], priority => -1);
select payload from queue_pop('jobs');
set enable_seqscan = off;
select payload, attempt from jobs where payload @> '{"key": "y"}';
select payload, attempt from jobs where twice(priority) = -2 and attempt > 0;
select payload ->> 'key' as key from jobs where payload ->> 'key' = 'x';
reset enable_seqscan;
-- The same after a completion.
select queue_complete('jobs', id, attempt) from jobs where attempt > 0;
select count(*) from queue_pop('jobs', 3);
set enable_seqscan = off;
select count(*) from jobs where payload ->> 'key' = 'y' and attempt = 1;
select count(*) from jobs where twice(priority) = -2 and attempt > 0;
reset enable_seqscan;
\set VERBOSITY sqlstate
-- A deferred one is looked at in the end.
alter table jobs add unique (number) deferrable initially deferred;
alter table jobs alter number set default 5;
begin;
select queue_send('jobs', '{}') is not null as sent;
select queue_send('jobs', '{}') is not null as sent;
commit;
select queue_send('jobs', '{}') is not null as sent;
\set VERBOSITY default

drop schema test_direct_table cascade;
