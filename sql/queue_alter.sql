-- queue_alter, queue_pause, queue_resume, queue_drop.
set client_min_messages = warning;
create schema test_alter;
set search_path = test_alter, public;
create view settings as
select lease, max_attempts, backoff_base, backoff_cap, archive, paused
from queues
where queue = 'test_alter.jobs';

-- What is null stays as it is.
select queue_create('jobs');
select queue_alter('jobs');
select * from settings;
select queue_alter('jobs', lease => '1 hour');
select queue_alter('jobs', max_attempts => 2);
select queue_alter('jobs', backoff_base => '7 seconds', backoff_cap => '7 hours');
select * from settings;

-- The settings are used at once, the number of attempts by plain INSERT too.
select queue_send('jobs', '"sent"');
insert into jobs (payload) values ('"inserted"');
select payload, max_attempts from jobs order by id;
select payload, leased_until - now() between '59 minutes' and '61 minutes' as an_hour
from queue_pop('jobs', 2);

-- The archive: on, off, on again with the same table.
select queue_alter('jobs', archive => true);
select archive from settings;
select queue_complete('jobs', 1, 1);
select queue_alter('jobs', lease => '30 seconds');
select archive from settings;
select queue_alter('jobs', archive => false);
select archive from settings;
select queue_complete('jobs', 2, 1);
select id, state from jobs_archive;
select queue_alter('jobs', archive => true);
select archive from settings;
select queue_alter('jobs', archive => true);
select id, state from jobs_archive;

-- A change that is rolled back has not been.
begin;
select queue_alter('jobs', max_attempts => 9);
rollback;
select max_attempts from settings;

-- Pause and resume; true where it changed something.
select queue_send('jobs', '"waits"');
select queue_resume('jobs');
select queue_pause('jobs');
select queue_pause('jobs');
select paused from settings;
select count(*) as popped from queue_pop('jobs', 10);
select queue_send('jobs', '"is sent all the same"');
select * from queue_counts('jobs');
select queue_resume('jobs');
select payload from queue_pop('jobs', 10);
begin;
select queue_pause('jobs');
rollback;
select paused from settings;

-- A claim made before the pause is finished during it.
select queue_pause('jobs');
select queue_extend('jobs', 3, 1), queue_complete('jobs', 3, 1), queue_fail('jobs', 4, 1);

-- Drop.
select queue_drop('jobs');
select to_regclass('jobs') as jobs, to_regclass('jobs_archive') as archive;
select count(*) as queues from settings;
select queue_drop('jobs', if_exists => true);
select queue_create('jobs', archive => true);
drop table jobs_archive;
select queue_drop('jobs', if_exists => true);
begin;
select queue_create('jobs');
select queue_drop('jobs');
select queue_create('jobs', max_attempts => 4);
commit;
select max_attempts, archive, paused from settings;
begin;
select queue_drop('jobs');
rollback;
select queue_send('jobs', '1');
-- An archive that is off is not the queue's any more.
select queue_alter('jobs', archive => true);
select queue_alter('jobs', archive => false);
select queue_drop('jobs');
select to_regclass('jobs_archive') as archive;
drop table jobs_archive;

-- Bad input.
\set VERBOSITY sqlstate
select queue_drop('jobs');
select queue_alter('jobs');
select queue_pause('jobs');
select queue_resume('jobs');
select queue_create('jobs');
select queue_alter(null);
select queue_pause(null);
select queue_resume(null);
select queue_drop(null);
select queue_drop('jobs', null);
select queue_alter('jobs', lease => '0');
select queue_alter('jobs', lease => '-1 second');
select queue_alter('jobs', max_attempts => 0);
select queue_alter('jobs', max_attempts => 1000001);
select queue_alter('jobs', backoff_base => '0');
select queue_alter('jobs', backoff_cap => '-1 second');
create view depends as select id from jobs;
select queue_drop('jobs');
drop view depends;
select * from settings;

drop schema test_alter cascade;
