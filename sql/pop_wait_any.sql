-- queue_pop_wait_any in one session: what it returns, and where it refuses to wait.
\set VERBOSITY terse
\set SHOW_CONTEXT never
set client_min_messages = warning;
create schema test_pop_wait_any;
set search_path = test_pop_wait_any, public;
set queue_ext.claim_path = auto;
do $$ begin perform queue_create(name, lease => '1 hour', kinds => true) from unnest(array['first', 'second', 'third']) as name; end $$;
create procedure pop(queues text[], wait interval default '1 minute', kinds text[] default null, weights integer[] default null, lease interval default null, worker text default null)
language plpgsql as $$
declare
	queue text;
	job queue_job;
begin
	call queue_pop_wait_any(queues, wait, lease, worker, queue, job.id, job.attempt, job.payload, job.priority, job.run_at, job.max_attempts,
		job.leased_until, job.leased_by, job.last_error, job.created_at, job.kind, kinds, weights);
	raise warning '%: job % attempt % priority % of % by %, kind %, leased for over an hour: %', queue, job.payload, job.attempt,
		job.priority, job.max_attempts, job.leased_by, job.kind, job.leased_until > now() + interval '61 minutes';
	if job.id is not null then
		assert queue_complete(queue, job.id, job.attempt);
	end if;
end $$;

-- The time is over: nulls, and no error.
call queue_pop_wait_any('{first,second,third}', '0');
call queue_pop_wait_any('{first,second,third}', '10 ms', '1 hour', 'me');

-- Strictly in the order of the array, as queue_pop claims: in each queue's order, with the lease and for the worker.
select count(queue_send(q, to_jsonb(q || n), priority => -n)) from unnest(array['third', 'second']) as q, generate_series(1, 2) as n;
call pop('{first,second,third}');
call pop('{test_pop_wait_any.first,test_pop_wait_any.second}', lease => '2 hours', worker => 'me');
call pop('{first,second,third}');
select queue_send('second', '"again"');
call pop('{first,second,third}');
-- A queue that is named twice is waited for once.
call pop('{third,first,third,first}');
call pop('{third,first,third,first}', '10 ms');

-- What becomes due during the wait, in whatever queue.
select queue_send('third', '"due"', run_at => clock_timestamp() + interval '50 ms') is not null;
call pop('{first,second,third}');
select queue_send('second', '"retried"') is not null;
select queue_fail('second', id, attempt, retry_in => '50 ms') from queue_pop('second');
call pop('{first,second,third}');

-- Only what there are kinds for.
select queue_send('first', '"sms"', kind => 'sms') is not null, queue_send('second', '"mail"', kind => 'mail') is not null;
call pop('{first,second}', kinds => '{mail}');
call pop('{first,second}', '10 ms', kinds => '{mail}');
call pop('{first,second}');

-- A paused queue is passed over, and looked at again.
select queue_pause('first'), queue_send('first', '"paused"') is not null;
call pop('{first,second}', '10 ms');
select queue_send('second', '"not paused"') is not null;
call pop('{first,second}');
select queue_resume('first');
call pop('{first,second}');

-- By weights an order is drawn for each look. The chance that a right one is outside of these bounds is one in 10^10.
create procedure pop_many(inout firsts integer default 0, inout jobs integer default 0) language plpgsql as $$
declare
	queue text;
	job queue_job;
begin
	perform queue_send_many(q, array_fill('0'::jsonb, array[400])) from unnest(array['first', 'second']) as q;
	for i in 1 .. 400 loop
		call queue_pop_wait_any('{second,first}', '1 minute', null, null, queue, job.id, job.attempt, job.payload, job.priority, job.run_at,
			job.max_attempts, job.leased_until, job.leased_by, job.last_error, job.created_at, job.kind, null, '{1,3}');
		firsts := firsts + (queue = 'first')::integer;
		jobs := jobs + 1;
	end loop;
end $$;
call pop_many() \gset
select :jobs as jobs, :firsts between 242 and 358 as three_of_four;
select queue_purge('first') + queue_purge('second') as left;

-- Nobody is counted as waiting any more; each wait counts once, in each queue.
select sum(waiting) as waiting from queue_claim_stats where queue ~ 'test_pop_wait_any';
select queue_stats_reset(q) from unnest(array['first', 'second']) as q;
call queue_pop_wait_any('{first,second}', '250 ms');
select queue, waits from queue_stats where queue ~ 'test_pop_wait_any.*(first|second)' order by 1;

-- Wrong calls say what is wrong, and claim nothing.
select queue_send('first', '"left"') is not null;
create table items (id bigint primary key, state integer not null);
select queue_attach('items', 'items', 'state = 0', on_claim => 'state = 1');
\set VERBOSITY default
call queue_pop_wait_any(null);
call queue_pop_wait_any('{}');
call queue_pop_wait_any('{{first},{second}}');
call queue_pop_wait_any('{first,null}');
call queue_pop_wait_any(array_fill('first'::text, array[65]));
call queue_pop_wait_any('{first,fourth}');
call queue_pop_wait_any('{first,items}');
call queue_pop_wait_any('{first}', null);
call queue_pop_wait_any('{first}', '-1 s');
call queue_pop_wait_any('{first}', lease => '0');
call queue_pop_wait_any('{first,second}', weights => '{1}');
call queue_pop_wait_any('{first,second}', weights => '{1,null}');
call queue_pop_wait_any('{first,second}', weights => '{0,1}');
select queue_alter('third', kinds => false);
call queue_pop_wait_any('{first,third}', kinds => '{mail}');
begin;
call queue_pop_wait_any('{first}');
rollback;
begin read only;
call queue_pop_wait_any('{first}');
rollback;
do $$ begin call pop('{first}'); exception when others then raise warning '% %', sqlstate, sqlerrm; end $$;
call pop(array_fill('first'::text, array[64]));

drop schema test_pop_wait_any cascade;
