-- The fence: a stale receipt changes nothing and says so.
set client_min_messages = warning;
create schema test_fence;
set search_path = test_fence, public;
select queue_create('jobs', lease => '1 hour');
-- Calls every finishing function with a receipt; false where nothing was done.
create function finish_all(id bigint, attempt integer)
returns table (complete boolean, fail boolean, release boolean, extend boolean)
language sql
begin atomic
	select queue_complete('jobs', id, attempt),
	       queue_fail('jobs', id, attempt, 'stale', '0'),
	       queue_release('jobs', id, attempt),
	       queue_extend('jobs', id, attempt, '1 day');
end;
create function finish_all_many(id bigint, attempt integer) returns bigint
language sql
begin atomic
	select (select count(*) from queue_complete_many('jobs', array[id], array[attempt]))
	     + (select count(*) from queue_fail_many('jobs', array[id], array[attempt], array['stale'], '0'))
	     + (select count(*) from queue_release_many('jobs', array[id], array[attempt]))
	     + (select count(*) from queue_extend_many('jobs', array[id], array[attempt], '1 day'));
end;
create table before (like jobs);
-- Rows that differ from what they were.
create view changed as
(table jobs except all table before) union all (table before except all table jobs);

-- Never claimed.
select queue_send('jobs', '1');
insert into before table jobs;
select * from finish_all(1, 0), finish_all_many(1, 0);
select * from finish_all(1, 1), finish_all_many(1, 1);
select * from finish_all(2, 0), finish_all_many(2, 0);
select count(*) as changed from changed;

-- Claimed by another attempt.
select attempt from queue_pop('jobs');
update jobs set leased_until = now();
select attempt from queue_pop('jobs');
truncate before;
insert into before table jobs;
select * from finish_all(1, 1), finish_all_many(1, 1);
select * from finish_all(1, 3), finish_all_many(1, 3);
select queue_cancel('jobs', 1, 1), queue_requeue('jobs', 1, 1), queue_requeue('jobs', 1, 2);
select count(*) as changed from changed;

-- Every finishing call consumes the receipt; extend does not.
select queue_extend('jobs', 1, 2), queue_extend('jobs', 1, 2);
select queue_release('jobs', 1, 2);
truncate before;
insert into before table jobs;
select * from finish_all(1, 2), finish_all_many(1, 2);
select count(*) as changed from changed;
select attempt from queue_pop('jobs');
select queue_fail('jobs', 1, 3, retry_in => '0');
truncate before;
insert into before table jobs;
select * from finish_all(1, 3), finish_all_many(1, 3);
select count(*) as changed from changed;
select attempt from queue_pop('jobs');
select queue_complete('jobs', 1, 4), queue_complete('jobs', 1, 4);
select * from finish_all(1, 4), finish_all_many(1, 4);

-- After the lease, as long as nobody else has claimed the job: good.
select count(*) from queue_send_many('jobs', '{2,3,4,5}');
select id, attempt from queue_pop('jobs', 4);
update jobs set leased_until = now() - interval '1 day';
select queue_complete('jobs', 2, 1),
       queue_fail('jobs', 3, 1, retry_in => '1 day'),
       queue_release('jobs', 4, 1, now() + interval '1 day'),
       queue_extend('jobs', 5, 1);
select count(*) as popped from queue_pop('jobs', 4);
select queue_complete('jobs', 5, 1);

-- So also when it was the last attempt and the job is dead by now; not once it
-- has been given up or has been requeued.
select count(*) from queue_send_many('jobs', '{6,7,8,9}', max_attempts => 1);
select id, attempt from queue_pop('jobs', 4);
update jobs set leased_until = now(), dead_at = now() where id between 6 and 9;
select queue_complete('jobs', 6, 1), queue_extend('jobs', 7, 1), queue_fail('jobs', 8, 1),
       queue_requeue('jobs', 9);
select leased, dead from queue_counts('jobs');
truncate before;
insert into before table jobs;
select * from finish_all(8, 1), finish_all_many(8, 1);
select * from finish_all(9, 1), finish_all_many(9, 1);
select count(*) as changed from changed;

drop schema test_fence cascade;
