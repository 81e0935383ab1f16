-- A lease that would end after the last timestamp is refused when the queue gets it. Each pop
-- raised 22008 later.
set client_min_messages = warning;
create schema test_lease_limit;
set search_path = test_lease_limit, public;
create table t (id integer primary key, until timestamptz);
create index on t (id) where until is null;
\set VERBOSITY sqlstate
select queue_create('jobs', lease => '300000 years');
select queue_create('jobs', lease => '170000000 years');
select queue_create('jobs', lease => '9223372036854 seconds');
select queue_attach('t', 't', 'until is null', 'id', 'until = call_time + lease', lease => '300000 years');
select count(*) as queues from queues where queue like 'test\_lease\_limit.%';

-- One that ends before is not.
select queue_create('jobs', lease => '290000 years'), queue_send('jobs', '1') as id;
select queue_attach('t', 't', 'until is null', 'id', 'until = call_time + lease', lease => '290000 years');
insert into t values (1);
select extract(year from leased_until) > 292000 as is_long from queue_pop('jobs');
select extract(year from until) > 292000 as is_long from queue_pop_rows(null::t);
select queue_alter('jobs', lease => '300000 years');
select queue_alter('t', lease => '300000 years');
select queue, lease from queues where queue like 'test\_lease\_limit.%' order by queue;

-- Settings in the comment of a table, as another may have written them.
select queue_detach('jobs');
comment on table jobs is 'queue of queue_ext: {"lease": "P300000Y", "max_attempts": 25, "backoff_base": "PT1S", "backoff_cap": "PT1H", "archive": false}';
select queue_adopt('jobs');
comment on table jobs is 'queue of queue_ext: {"lease": "PT30S", "max_attempts": 25, "backoff_base": "PT1S", "backoff_cap": "PT1H", "archive": false}';
select queue_adopt('jobs');

-- Waits after failures are cut off before they can reach so far.
select queue_alter('jobs', backoff_base => '300000 years', backoff_cap => '170000000 years');
select queue_send('jobs', '2') as id;
select queue_fail('jobs', id, attempt) from queue_pop('jobs') where id = 2;
select extract(year from run_at) between 3500 and 5300 as is_cut_off from jobs where id = 2;
select queue_alter('jobs', backoff_base => '1 second', backoff_cap => '170000000 years');
select count(*) as sent from queue_send_many('jobs', '{3}');
select queue_fail('jobs', id, attempt) from queue_pop('jobs');
select run_at < now() + interval '1 second' as is_soon from jobs where id = 3;
drop schema test_lease_limit cascade;
