-- A superuser, or a member of the owner's role, gives a queue an archive, or slots: these belong to the
-- owner of the queue's table then, who can go on completing jobs.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create role regress_owner;
create role regress_member in role regress_owner;
create role regress_worker;
create schema test_archive_owner authorization regress_owner;
grant usage on schema test_archive_owner to regress_worker;
set search_path = test_archive_owner, public;
create view owners as
select relname, relowner::regrole as owner from pg_class
where relnamespace = 'test_archive_owner'::regnamespace and relkind in ('r', 'p') order by 1;
create procedure work(queue text) language plpgsql as $$
declare
	job queue_job;
begin
	perform queue_send(queue, '{}');
	select * into job from queue_pop(queue);
	raise info '% completed: %', queue, queue_complete(queue, job.id, job.attempt, '{"done": true}');
	raise info 'result: %', (select result from queue_result(queue, job.id));
end $$;

-- An archive that is added.
set role regress_owner;
select queue_create('added'), queue_create('plain', archive => true), queue_create('left');
grant insert, select, update, delete on plain to regress_worker;
grant insert, select on plain_archive to regress_worker;
reset role;
select queue_alter('added', archive => true, archive_keep => '1 day');
-- One that gets slots.
select queue_alter('plain', archive_keep => '1 day');
select * from queue_upgrade() where queue_upgrade like 'test\_archive\_owner.%' order by 1;
-- That of a queue that is adopted.
select queue_detach('left');
comment on table "left" is 'queue of queue_ext: {"lease": "00:00:30", "max_attempts": 25, "backoff_base": "00:00:01", "backoff_cap": "01:00:00", "archive": true}';
select queue_adopt('left');
table owners;
set role regress_owner;
call work('added');
call work('plain');
call work('left');
set role regress_worker;
call work('plain');

-- Likewise by a member.
set role regress_member;
select queue_alter('added', archive => false);
drop table added_archive;
select queue_alter('added', archive => true);
reset role;
select * from owners where relname ~ '^added';
set role regress_owner;
call work('added');
reset role;
drop schema test_archive_owner cascade;
drop role regress_owner, regress_member, regress_worker;
