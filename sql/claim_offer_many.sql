-- A transaction makes many jobs claimable, or gives many back, anywhere in the order and
-- more than the ring holds: they are handed out in the queue's order, each once.
set client_min_messages = error;
create schema test_offer;
set search_path = test_offer, public;
set queue_ext.claim_path = direct;

-- What was handed out, in that order.
create table handed (place bigint generated always as identity, priority smallint, run_at timestamptz, id bigint);
create procedure take(n integer, rounds integer) language plpgsql as $$ begin
	for i in 1 .. rounds loop
		insert into handed (priority, run_at, id) select priority, run_at, id from queue_pop('jobs', n);
	end loop;
end $$;
-- How many were handed out, how many of them twice, and how often after one that comes later.
create view judged as select count(*) as handed, count(*) - count(distinct id) as twice,
	count(*) filter (where before > now) as disordered
from (select id, row(priority, run_at, id) as now,
	lag(row(priority, run_at, id)) over (order by place) as before from handed) as h;

-- Jobs of mixed priority, some sent in a savepoint, among those that the ring has.
select queue_create('jobs', lease => '1 hour');
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[700]), 10);
call take(1, 1);
truncate handed;
do $$ begin
	for i in 1 .. 900 loop
		perform queue_send('jobs', '2', ((i * 7919) % 41 - 20)::integer);
	end loop;
	begin
		for i in 1 .. 124 loop
			perform queue_send('jobs', '3', ((i * 7919) % 41 - 20)::integer);
		end loop;
	exception when unique_violation then
		raise;
	end;
end $$;
call take(1, 20);
call take(60, 40);
table judged;

-- More than are remembered.
truncate handed;
do $$ begin perform queue_purge('jobs'); delete from jobs; end $$;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[300]), 10);
call take(1, 1);
truncate handed;
do $$ begin
	for i in 1 .. 1500 loop
		perform queue_send('jobs', '2', ((i * 7919) % 41 - 20)::integer);
	end loop;
end $$;
call take(7, 300);
table judged;

-- All before the ring's first, which is full; all behind its last.
truncate handed;
delete from jobs;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[600]), 0);
call take(1, 1);
truncate handed;
do $$ begin
	for i in 1 .. 600 loop
		perform queue_send('jobs', '2', -1 - i % 3), queue_send('jobs', '2', 1 + i % 3);
	end loop;
end $$;
call take(100, 20);
table judged;

-- A job that is sent and changed in one transaction: its newest version counts.
truncate handed;
delete from jobs;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[3]), 0);
call take(1, 1);
truncate handed;
begin;
select count(*) from queue_send_many('jobs', array_fill('2'::jsonb, array[5]), -1);
update jobs set payload = '3' where payload = '2';
update jobs set payload = '4', priority = 2 where id % 2 = 0 and payload = '3';
select queue_send('jobs', '5', -2) is not null as sent;
commit;
call take(3, 4);
select array_agg(row(h.priority, j.payload) order by place) from handed as h join jobs as j using (id);

-- Jobs that the ring has, written again: their older versions are not tried.
truncate handed;
delete from jobs;
select count(*) from queue_send_many('jobs', array_fill('1'::jsonb, array[20]));
call take(1, 1);
truncate handed;
select from queue_claim_stats_reset();
update jobs set payload = '2' where leased_until is null;
call take(5, 4);
table judged;
select gone from queue_claim_stats where source = 'jobs'::regclass;

-- Given back by a rollback, and to a savepoint, from several pops.
truncate handed;
delete from jobs;
do $$ begin
	for i in 1 .. 1000 loop
		perform queue_send('jobs', '2', ((i * 7919) % 41 - 20)::integer);
	end loop;
end $$;
begin;
select count(*) from queue_pop('jobs', 100);
savepoint a;
select count(*) from queue_pop('jobs', 200);
select count(*) from queue_pop('jobs', 1);
rollback to a;
select count(*) from queue_pop('jobs', 30);
rollback;
begin;
select count(*) from queue_pop('jobs', 600);
rollback;
call take(90, 12);
table judged;

drop schema test_offer cascade;
