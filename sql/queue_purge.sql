-- queue_purge and queue_counts.
set client_min_messages = warning;
create schema test_purge;
set search_path = test_purge, public;
select queue_create('jobs');
select * from queue_counts('jobs');
select queue_purge('jobs');

create procedure fill() language sql as $$
	insert into jobs (payload, run_at, leased_until, dead_at) values
		('"ready"', now(), null, null),
		('"ready: its lease ran out"', now(), now() - interval '1 hour', null),
		('"scheduled"', now() + interval '1 hour', null, null),
		('"scheduled: never"', 'infinity', null, null),
		('"scheduled, leased once"', now() + interval '1 hour', now() - interval '1 hour', null),
		('"leased"', now(), now() + interval '1 hour', null),
		('"leased: the last attempt"', now(), now() + interval '1 hour', now() + interval '1 hour'),
		('"leased: scheduled since"', now() + interval '1 hour', now() + interval '1 hour', null),
		('"dead"', now(), null, now()),
		('"dead: its last lease ran out"', now(), now() - interval '1 hour', now() - interval '1 hour')
$$;
call fill();
select * from queue_counts('jobs');
select queue_purge('jobs', 'ready');
select payload from jobs order by id;
select queue_purge('jobs', 'scheduled');
select payload from jobs order by id;
select queue_purge('jobs', 'leased');
select payload from jobs order by id;
select queue_purge('jobs', 'dead');
select queue_purge('jobs', 'dead');
select * from queue_counts('jobs');
call fill();
select queue_purge('jobs');
call fill();
select queue_purge('jobs', null);
select count(*) as left_behind from jobs;

-- Counting writes nothing, and sees the caller's own transaction.
begin;
call fill();
select ready from queue_counts('jobs');
rollback;
begin read only;
select * from queue_counts('jobs');
commit;

-- Bad input.
\set VERBOSITY sqlstate
select queue_purge(null);
select queue_purge('no_such_queue');
select queue_purge('jobs', 'Ready');
select queue_purge('jobs', '');
select queue_counts(null);
select queue_counts('no_such_queue');

drop schema test_purge cascade;
