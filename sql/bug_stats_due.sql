-- A delayed job that the transaction which sent it has cancelled was told as the oldest one that is ready, from its
-- run_at on.
set client_min_messages = warning;
create schema test_stats_due;
set search_path = test_stats_due, public;
select queue_create('q');
select from queue_pop('q');
-- Each of these comes to its end before the time, in one message of the client.
begin \; select from queue_send('q', '1', run_at => clock_timestamp() + '5 s') \; select queue_cancel('q', id) from q \; commit;
-- In a subtransaction; and a schedule that is made anew at once.
begin \; savepoint s \; select from queue_send('q', '1', run_at => clock_timestamp() + '5 s') \; release s \; select queue_cancel('q', id) from q \; commit;
select from pg_sleep(5.1);
select oldest_ready_at is null as none, ready, scheduled from queue_stats where source = 'q'::regclass;
begin \; select from queue_schedule('q', 's', every => '1 day', starts_at => clock_timestamp() + '5 s') \; select from queue_schedule('q', 's', every => '1 day', starts_at => clock_timestamp() + '1 day') \; commit;
select from pg_sleep(5.1);
select oldest_ready_at is null as none, ready, scheduled from queue_stats where source = 'q'::regclass;
-- One that is left is told.
begin \; select from queue_send('q', '1', run_at => clock_timestamp() + '5 s') \; select from queue_send('q', '2', run_at => clock_timestamp() + '5 s') \; select queue_cancel('q', id) from q where payload = '1' \; commit;
select from pg_sleep(5.1);
select from queue_pop('q', worker => 'me');
select queue_release('q', id, attempt) from q where leased_by = 'me';
select oldest_ready_at = (select run_at from q where run_at < now()) as is_its, ready from queue_stats where source = 'q'::regclass;
-- It becomes due before the commit, and a look comes in between: it was taken from the scheduled ones twice.
set queue_ext.claim_path = auto;
select queue_create('became_due');
select from queue_pop('became_due');
select from queue_send('became_due', '1', run_at => clock_timestamp() + '5 s');
begin;
select queue_cancel('became_due', id) from became_due;
select from pg_sleep(5.1);
select from queue_pop('became_due');
commit;
select queue_send('became_due', '2', run_at => clock_timestamp() + '1 hour');
select coalesce(scheduled, 1) as scheduled from queue_stats where source = 'became_due'::regclass;
-- The next pop looks at the table: no list is trusted that was made before a change of it.
alter table became_due alter payload set statistics 100;
select from queue_pop('became_due');
select ready, scheduled from queue_stats where source = 'became_due'::regclass;
drop schema test_stats_due cascade;
