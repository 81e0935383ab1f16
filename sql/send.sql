-- queue_send, queue_send_many, and plain INSERT and COPY.
set client_min_messages = warning;
create schema test_send;
set search_path = test_send, public;
select queue_create('jobs', max_attempts => 7);

select queue_send('jobs', '{"to": "ada"}');
select queue_send('jobs', 'null');
select queue_send(
	queue => 'jobs',
	payload => '"all arguments"',
	priority => -5,
	run_at => '2001-01-01 00:00:00+00',
	max_attempts => 2
);
select queue_send('jobs', '"lowest"', 32767), queue_send('jobs', '"highest"', -32768);
select queue_send('jobs', '"never"', run_at => 'infinity');
select id, payload, priority, max_attempts, attempt, leased_until, leased_by, dead_at, last_error
from jobs
order by id;
select count(*) filter (where created_at < now()) as created_before,
       count(*) filter (where run_at = created_at) as at_once
from jobs;
select count(*) = 1 as two_thousand_one from jobs where run_at = '2001-01-01 00:00:00+00';

-- Many: the ids are in the order of the payloads.
select queue_purge('jobs');
select ordinality, id - min(id) over () as nth
from queue_send_many('jobs', array['"c"', '"a"', '"b"']::jsonb[]) with ordinality as sent(id, ordinality)
order by ordinality;
select payload from jobs order by id;
select count(*) as sent
from queue_send_many(
	queue => 'jobs',
	payloads => '[3:4]={1,2}',
	priority => 3,
	run_at => '2001-01-01 00:00:00+00',
	max_attempts => 4
);
select payload, max_attempts, run_at = '2001-01-01 00:00:00+00' as run_at from jobs where priority = 3 order by id;
select queue_send_many('jobs', '{}');
create table sent as
select id, ordinality
from queue_send_many('jobs', array(select to_jsonb(n) from generate_series(1, 5000) as n))
	with ordinality as sent(id, ordinality);
select bool_and(payload = to_jsonb(ordinality)) as in_order, count(*) as sent from sent join jobs using (id);

-- A large payload.
select queue_send('jobs', to_jsonb(repeat('queue_ext ', 100000))) is not null as sent;
select queue_purge('jobs');

-- Jobs that come by INSERT and COPY are like any other.
insert into jobs (payload, priority) values ('"inserted"', 1);
copy jobs (payload, priority) from stdin;
"copied"	2
\.
insert into jobs (payload, run_at) values ('"scheduled"', now() + interval '1 day');
select payload, attempt, max_attempts from queue_pop('jobs', 10);

-- A trigger that swallows the row leaves no id.
create function swallow() returns trigger language plpgsql as 'begin return null; end';
create trigger swallow before insert on jobs for each row execute function swallow();
select queue_send('jobs', '1') is null as swallowed;
select count(*) as sent from queue_send_many('jobs', '{1,2}');
drop trigger swallow on jobs;

-- Bad input.
\set VERBOSITY sqlstate
select queue_send(null, '1');
select queue_send('no_such_queue', '1');
select queue_send('jobs', null);
select queue_send('jobs', '1', priority => null);
select queue_send('jobs', '1', priority => 32768);
select queue_send('jobs', '1', priority => -32769);
select queue_send('jobs', '1', max_attempts => 0);
select queue_send('jobs', '1', max_attempts => 1000001);
select queue_send('jobs', '{');
select queue_send_many(null, '{1}');
select queue_send_many('no_such_queue', '{1}');
select queue_send_many('jobs', null);
select queue_send_many('jobs', array['1', null]::jsonb[]);
select queue_send_many('jobs', '{{1,2},{3,4}}');
select queue_send_many('jobs', '{1}', priority => null);
select queue_send_many('jobs', '{1}', priority => 32768);
select queue_send_many('jobs', '{1}', max_attempts => 0);
-- All or none.
alter table jobs add constraint small check (payload <> '3');
select queue_send_many('jobs', '{1,2,3}');
select count(*) as ready from jobs where leased_until is null and run_at <= now();

drop schema test_send cascade;
