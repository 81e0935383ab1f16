-- A sequence that has been set ahead, and not been asked since, is ahead: queue_adopt leaves it.
set client_min_messages = error;
create schema test_adopt_sequence;
set search_path = test_adopt_sequence, public;
select queue_create('jobs');
insert into jobs (id, payload) overriding system value values (7, '1');
alter table jobs alter id restart 1000;
select queue_detach('jobs'), queue_adopt('jobs');
select queue_send('jobs', '2');
-- One at the greatest id is behind, and one after it is not.
alter table jobs alter id restart 1000;
select queue_detach('jobs'), queue_adopt('jobs');
select queue_send('jobs', '3');
alter table jobs alter id restart 1002;
select queue_detach('jobs'), queue_adopt('jobs');
select queue_send('jobs', '4');
select setval('jobs_id_seq', 1002);
select queue_detach('jobs'), queue_adopt('jobs');
select queue_send('jobs', '5');
select setval('jobs_id_seq', 1000);
select queue_detach('jobs'), queue_adopt('jobs');
select queue_send('jobs', '6');
-- Of an empty table nothing is known.
delete from jobs;
alter table jobs alter id restart 5;
select queue_detach('jobs'), queue_adopt('jobs');
select queue_send('jobs', '7');
select queue_drop('jobs');
drop schema test_adopt_sequence cascade;
