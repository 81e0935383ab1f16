-- What a transaction or a savepoint sends beyond what is noted job by job is in order as soon
-- as that has committed.
set client_min_messages = error;
create schema test_many_sent;
set search_path = test_many_sent, public;
select queue_create('jobs', lease => '1 hour');
create procedure send_most(best integer) language sql as $$
	select queue_send_many('jobs', array_fill('"filler"'::jsonb, array[1500]), 3);
	select queue_send('jobs', to_jsonb(best), -1);
$$;
-- The ring knows the whole queue.
select queue_send('jobs', '"last"', 9);
select payload from queue_pop('jobs');
begin;
call send_most(1);
commit;
select payload from queue_pop('jobs');
begin;
savepoint a;
call send_most(2);
release a;
commit;
select payload from queue_pop('jobs');
begin;
select queue_send('jobs', '"other"', 5) is not null as sent;
savepoint a;
call send_most(3);
release a;
commit;
select payload from queue_pop('jobs');
begin;
call send_most(4);
savepoint a;
select queue_send('jobs', '"other"', 5) is not null as sent;
savepoint b;
call send_most(5);
rollback to b;
release a;
commit;
select payload from queue_pop('jobs');
select payload from queue_pop('jobs');
select queue_drop('jobs');
drop schema test_many_sent cascade;
