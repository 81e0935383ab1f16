-- queue_health: keep_overdue, where it appears and where it does not; and sequences behind an archive with slots.
\set VERBOSITY terse
set client_min_messages = warning;
create schema test_health_keep;
set search_path = test_health_keep, public;
set timezone = 'UTC';
create function found(queue text) returns table (finding text, severity text, queue text)
language sql as 'select finding, severity, queue from queue_health($1) order by finding';
create procedure add(queue text, id bigint, ago interval) language plpgsql as $$
begin
	execute format('insert into %I (id, run_at, created_at, finished_at, attempt, max_attempts, slot, priority, state, payload)'
		' values ($1, now(), now(), now() - $2, 1, 1, $1 %% 8, 0, %L, %L)', queue || '_archive', 'completed', '0') using id, ago;
end $$;

-- By its archive: a third of the keep later, whichever slot it is in.
select queue_create('jobs', archive => true, archive_keep => '6 days', dead_keep => '3 hours');
select setval('jobs_id_seq', 100);
select * from found('jobs');
call add('jobs', 1, '0');
call add('jobs', 2, '6 days 1 hour');
call add('jobs', 3, '7 days 23 hours');
select * from found('jobs');
call add('jobs', 4, '8 days 1 hour');
select finding, severity, queue, regexp_replace(detail, 'on .*, which', 'on ..., which') as detail, hint from queue_health('jobs');
select hint from queue_health('jobs') \gset
:hint
select * from found('jobs');
-- It is as patient as it is told to be.
select queue_alter('jobs', archive_keep => '1 minute');
select * from found('jobs');
call add('jobs', 5, '5 minutes');
select * from found('jobs');
set queue_ext.health_patience = '1min';
select * from found('jobs');
reset queue_ext.health_patience;
call add('jobs', 6, '7 minutes');
select * from found('jobs');
select queue_alter('jobs', archive_keep => '0');
select * from found('jobs');
-- By dead jobs.
select queue_send_many('jobs', '{1,2}');
update jobs set dead_at = now() - '3 hours 59 minutes'::interval;
select * from found('jobs');
update jobs set dead_at = now() - '4 hours 1 minute'::interval where id = (select max(id) from jobs);
select finding, regexp_replace(detail, 'on .*, which', 'on ..., which') as detail, hint from queue_health('jobs') where finding <> 'dead_jobs';
call queue_maintain('jobs');
select * from found('jobs');
select queue_alter('jobs', dead_keep => '0');
select count(queue_send('jobs', '3'));
update jobs set dead_at = '2001-01-01';
select * from found('jobs');

-- An archive without slots, by its lowest id.
select queue_create('plain', archive => true);
select queue_alter('plain', archive_keep => '6 days');
select setval('plain_id_seq', 100);
insert into plain_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
select n, now(), now(), now() - make_interval(days => 10 - n), 1, 1, 0, 'completed', '0' from generate_series(1, 9) as n;
select * from found('plain');
delete from plain_archive where id = 1;
select * from found('plain');
delete from plain_archive where id = 2;
select * from found('plain');
-- One that is switched off, or missing, or locked, or that others may not read.
insert into plain_archive (id, run_at, created_at, finished_at, attempt, max_attempts, priority, state, payload)
values (1, now(), now(), '2001-01-01', 1, 1, 0, 'completed', '0');
create role regress_health_keep;
grant usage on schema test_health_keep to regress_health_keep;
grant select on plain to regress_health_keep;
set role regress_health_keep;
select * from found('plain');
reset role;
grant select on plain_archive to regress_health_keep;
set role regress_health_keep;
select * from found('plain');
reset role;
select queue_alter('plain', archive => false);
select * from found('plain');
select queue_alter('plain', archive => true);
drop table plain_archive;
select finding from found('plain') where finding like 'keep%';

-- The ids of an archive with slots count for the sequence, too.
select queue_create('kept', archive => true, archive_keep => '6 days');
call add('kept', 5, '0');
select finding, detail, hint from queue_health('kept');
select setval('kept_id_seq', 5);
select * from found('kept');

drop schema test_health_keep cascade;
drop role regress_health_keep;
