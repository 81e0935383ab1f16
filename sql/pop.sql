-- queue_pop.
set client_min_messages = warning;
create schema test_pop;
set search_path = test_pop, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 3);

-- An empty queue: no row, and no transaction ID is spent.
begin;
select count(*) as popped from queue_pop('jobs');
select pg_current_xact_id_if_assigned() is null as no_xid;
commit;
begin isolation level repeatable read;
select count(*) as popped from queue_pop('jobs', 10);
select pg_current_xact_id_if_assigned() is null as no_xid;
commit;

-- By priority, then run_at, then id; not before run_at.
insert into jobs (payload, priority, run_at) values
	('"5: later id"', 0, '2020-01-02'),
	('"6: low priority"', 1, '2020-01-01'),
	('"3: later"', 0, '2020-01-01 00:00:01'),
	('"not yet"', -9, now() + interval '1 day'),
	('"1: high priority"', -1, '2020-01-03'),
	('"2"', 0, '2020-01-01'),
	('"7: low priority"', 1, '2020-01-01'),
	('"never"', 0, 'infinity');
update jobs set payload = '"4"' where id = 1;
insert into jobs (payload, run_at) values ('"5: later id"', '2020-01-02');
select payload from queue_pop('jobs');
select ordinality, payload from queue_pop('jobs', 3) with ordinality order by ordinality;
select ordinality, payload from queue_pop('jobs', 10000) with ordinality order by ordinality;
select count(*) as popped from queue_pop('jobs', 10);

-- What a claim writes, and what it returns.
select queue_purge('jobs');
select queue_send('jobs', '"claimed"', priority => 4) as id \gset
select attempt,
       payload,
       priority,
       max_attempts,
       leased_until - clock_timestamp() between '59 minutes' and '1 hour' as an_hour,
       leased_by,
       last_error
from queue_pop('jobs', worker => 'ada');
select attempt, leased_by, leased_until > now() as leased, dead_at, run_at = created_at as run_at_kept
from jobs;
select count(*) as popped from queue_pop('jobs');

-- The lease ends: claimable again, by another attempt.
update jobs set leased_until = clock_timestamp();
select attempt,
       leased_by,
       leased_until - clock_timestamp() <= '5 seconds' as five_seconds
from queue_pop('jobs', lease => '5 seconds');
-- The last attempt: when its lease ends the job is dead, with nobody coming by.
update jobs set leased_until = clock_timestamp();
select attempt, max_attempts from queue_pop('jobs');
select dead_at = leased_until as dead_when_the_lease_ends from jobs;
select * from queue_counts('jobs');
update jobs set leased_until = clock_timestamp(), dead_at = clock_timestamp();
select * from queue_counts('jobs');
select count(*) as popped from queue_pop('jobs');

-- The same in one transaction: the clock decides, not the transaction's start.
select queue_purge('jobs');
begin;
select queue_send('jobs', '"same transaction"') is not null as sent;
select payload from queue_pop('jobs');
update jobs set leased_until = clock_timestamp();
select payload, attempt from queue_pop('jobs');
select queue_complete('jobs', id, 2) from jobs;
commit;

-- A claim that is rolled back has not been.
select queue_send('jobs', '"rolled back"') as id \gset
begin;
select attempt from queue_pop('jobs');
rollback;
begin;
savepoint s;
select attempt from queue_pop('jobs');
rollback to s;
select attempt from queue_pop('jobs');
commit;
select queue_release('jobs', :id, 1);

-- Limits.
select count(*) from queue_send_many('jobs', array(select to_jsonb(n) from generate_series(1, 12000) as n));
select count(*), count(distinct id) as different from queue_pop('jobs', 10000);
select count(*) from queue_pop('jobs', 10000);
select queue_purge('jobs');

-- Several in one statement, and in the select list.
select count(*) from queue_send_many('jobs', '{1,2,3,4,5,6}');
select count(*), count(distinct a.id) as a, count(distinct b.id) as b
from queue_pop('jobs', 2) as a
cross join queue_pop('jobs', 2) as b;
select count(*) from (select queue_pop('jobs', 5)) as popped;

-- Bad input.
\set VERBOSITY sqlstate
select queue_pop(null);
select queue_pop('no_such_queue');
select queue_pop('jobs', 0);
select queue_pop('jobs', -1);
select queue_pop('jobs', 10001);
select queue_pop('jobs', null);
select queue_pop('jobs', lease => '0');
select queue_pop('jobs', lease => '-1 second');
select queue_send('jobs', '1') as id \gset
select queue_pop('jobs', lease => '300000 years');
select attempt from jobs where id = :id;

drop schema test_pop cascade;
