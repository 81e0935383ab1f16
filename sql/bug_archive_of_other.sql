-- A dump had the OID of an archive that was dropped as a number. After a restore that was another
-- table, which queue_drop() dropped with the queue.
set client_min_messages = error;
create schema test_archive_of_other;
set search_path = test_archive_of_other, public;
select queue_create('q', archive => true);
select queue_send('q', '1');
drop table q_archive;
create table precious (id bigint, note text);
-- As the restore does it.
update queue_definition set archive = 'precious' where name = 'q' and source = 'q'::regclass;
\set VERBOSITY sqlstate
select queue_complete('q', id, attempt) from queue_pop('q');
\set VERBOSITY default
select count(*) from precious;
select queue_alter('q', archive => true);
select archive from queues where source = 'q'::regclass;
select queue_cancel('q', 1);
select id, state from q_archive;
update queue_definition set archive = 'precious' where name = 'q' and source = 'q'::regclass;
select queue_drop('q');
select count(*) from precious;
-- An archive that somebody else owns by now is not dropped either.
create role archive_of_other_role;
select queue_create('q2', archive => true);
grant create on schema test_archive_of_other to archive_of_other_role;
alter table q2_archive owner to archive_of_other_role;
select queue_drop('q2');
select count(*) from q2_archive;
-- Nor one that is another queue's.
select queue_create('q3', archive => true), queue_create('q4', archive => true);
drop table q3_archive;
update queue_definition set archive = 'q4_archive' where name = 'q3' and source = 'q3'::regclass;
select queue_drop('q3');
select count(*) from q4_archive;
select queue_drop('q4');
select to_regclass('q4_archive');
drop schema test_archive_of_other cascade;
drop role archive_of_other_role;
