-- queue_health: jobs that have expired and that nobody has ended, and a queue without the index by which claims look for them.
\set VERBOSITY terse
set client_min_messages = warning;
create schema test_health_expire;
set search_path = test_health_expire, public;
set timezone = 'UTC';
select queue_create('codes', on_expire => 'dead');
create view found as select finding, severity, queue, regexp_replace(detail, 'since \d.*?: ', 'since ...: ') as detail, hint from queue_health('codes')
	where finding ~ 'expir' order by 1;
create procedure add(expired interval, made interval default '1 day', started integer default 0) language sql as $$
	insert into codes (payload, run_at, created_at, expires_at, attempt) values ('0', '2500-01-01', now() - made, now() - expired, started) $$;
table found;
-- It is as patient as it is told to be, from when the job was there.
call add('4 min');
table found;
call add('1 day', '4 min');
table found;
set queue_ext.health_patience = '3min';
table found;
reset queue_ext.health_patience;
call add('6 min');
table found;
call queue_maintain('codes');
table found;
select count(*) from codes where dead_at is not null;
-- Not of those that were started in time, in hand or not, are dead, or expire later; nor of more than it reads.
truncate codes;
call add('1 day', started => 1);
call add('-1 day');
insert into codes (payload, created_at, expires_at, leased_until) values ('1', '2001-01-01', '2001-01-01', '2500-01-01');
insert into codes (payload, created_at, expires_at, dead_at) values ('2', '2001-01-01', '2001-01-01', now());
table found;
call add('6 min', started => 1);
-- One whose attempt was set back to 0 was not started, nor one that was given back.
begin;
update codes set attempt = 0, leased_until = now() where expires_at between now() - interval '1 hour' and now() - interval '2 min';
select finding from found;
rollback;
update codes set released = 1 where expires_at between now() - interval '1 hour' and now() - interval '2 min';
select finding from found;
insert into codes (payload, created_at, expires_at, attempt) select '3', '2001-01-01', '2001-01-01', 1 from generate_series(1, 1900);
select finding from found;
insert into codes (payload, created_at, expires_at, attempt) select '3', '2001-01-01', '2001-01-01', 1 from generate_series(1, 100);
table found;
-- Nor of an occurrence of a schedule.
truncate codes;
select queue_schedule('codes', 'nightly', cron => '0 3 1 1 *', payload => '9') is null as sent;
update codes set expires_at = '2001-01-01', created_at = '2001-01-01' where payload = '9';
select count(*) from codes where expires_at < now();
table found;
select queue_unschedule('codes', 'nightly');
-- A paused queue.
truncate codes;
call add('6 min');
select queue_pause('codes');
select finding, detail, hint from found;
select queue_resume('codes');
-- Only who may read all jobs is told of them.
create role regress_health_expire;
grant usage on schema test_health_expire to regress_health_expire;
grant select (id) on codes to regress_health_expire;
set role regress_health_expire;
select finding from queue_health('codes') where finding ~ 'expir';
reset role;
-- The index is gone, or is another one.
drop index codes_expires_at_id_idx;
select finding, severity, queue, detail, hint from found;
create index on codes (expires_at, id);
create index on codes (expires_at, id) where expires_at is not null;
create index on codes (expires_at desc, id) where expires_at is not null and dead_at is null;
create index on codes (expires_at, id) where expires_at is not null and dead_at is not null;
create index on codes (expires_at, id) where expires_at is not null or dead_at is null;
create index on codes (expires_at, id) where expires_at is not null and dead_at is null and id > 0;
create index on codes (expires_at) where expires_at is not null and dead_at is null;
create index on codes (expires_at, run_at) where expires_at is not null and dead_at is null;
select finding from found;
set role regress_health_expire;
select finding from queue_health('codes') where finding ~ 'expir';
reset role;
select queue_upgrade('codes');
select finding from found;
-- A queue whose jobs do not expire takes none.
select queue_alter('codes', on_expire => '');
table found;
drop schema test_health_expire cascade;
drop role regress_health_expire;
