-- queue_complete_many and its like: parallel arrays of ids and attempts.
set client_min_messages = warning;
create schema test_many;
set search_path = test_many, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 2);
select count(*) from queue_send_many('jobs', array(select to_jsonb(n) from generate_series(1, 40) as n));
select count(*) from queue_pop('jobs', 20);

-- The ids that were changed, ascending, whatever the order of the arrays.
select queue_complete_many('jobs', '{3,1,2}', '{1,1,1}');
select queue_complete_many('jobs', '{3,1,2}', '{1,1,1}');
-- Stale ones among them: 4 has another attempt, 30 is not claimed, 99 is not there.
select queue_complete_many('jobs', '{99,30,5,4}', '{1,1,1,2}');
-- Twice the same, also with different attempts.
select queue_complete_many('jobs', '{6,6,6}', '{1,1,1}');
select queue_complete_many('jobs', '{7,7}', '{2,1}');
-- Arrays that do not begin at 1, and empty ones.
select queue_complete_many('jobs', '[0:1]={9,8}', '[5:6]={1,1}');
select queue_complete_many('jobs', '{}', '{}');
select queue_cancel_many('jobs', '{}');

-- Each gets its own error; null is allowed.
select queue_fail_many('jobs', '{12,11,10}', '{1,1,1}', '{twelve,NULL,ten}', '1 day');
select id, last_error, leased_until, run_at > now() as later from jobs where id in (10, 11, 12) order by id;
select queue_fail_many('jobs', '{13}', '{1}');
select id, last_error from jobs where id = 13;
update jobs set run_at = now(), max_attempts = 1, priority = -1 where id in (11, 10);
-- A plain update is seen with the next sweep.
set queue_ext.claim_path = portable;
select id, attempt from queue_pop('jobs', 2);
reset queue_ext.claim_path;
select queue_fail_many('jobs', '{10,11}', '{2,2}');
select id, dead_at <= clock_timestamp() as dead from jobs where id in (10, 11) order by id;

select queue_release_many('jobs', '{15,14}', '{1,1}');
select queue_release_many('jobs', '{16}', '{1}', '2001-01-01');
select id, attempt, max_attempts, leased_until, run_at = '2001-01-01' as run_at
from jobs
where id in (14, 15, 16)
order by id;

select queue_extend_many('jobs', '{17,16,18}', '{1,1,1}', '1 day');
select id, leased_until > now() + interval '23 hours' as a_day from jobs where id in (16, 17, 18) order by id;
select queue_extend_many('jobs', '{17}', '{1}');
select leased_until < now() + interval '2 hours' as an_hour from jobs where id = 17;

select queue_requeue_many('jobs', '{11,10,17,30,99}');
select queue_requeue_many('jobs', '{11}');
update jobs set dead_at = now() where id in (10, 11);
select queue_requeue_many('jobs', '{11,10}', '{2,1}');
select id, attempt, max_attempts, dead_at from jobs where id = 11;

select queue_cancel_many('jobs', '{40,39,38,99}');
select queue_cancel_many('jobs', '{19,18,37,36}', '{2,1,0,NULL}');
select queue_cancel_many('jobs', '{35,34}', null);

-- Bad input.
\set VERBOSITY sqlstate
create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate;
end $$;
select call, error_of('select ' || call)
from unnest(array['complete', 'fail', 'release', 'extend', 'cancel', 'requeue']) with ordinality as f(name, n),
     unnest(array['null, ''{1}'', ''{1}''',
                  '''no_such_queue'', ''{1}'', ''{1}''',
                  '''jobs'', null, ''{1}''',
                  '''jobs'', ''{1}'', null',
                  '''jobs'', ''{1,NULL}'', ''{1,1}''',
                  '''jobs'', ''{1,2}'', ''{1,NULL}''',
                  '''jobs'', ''{1,2}'', ''{1}''',
                  '''jobs'', ''{}'', ''{1}''',
                  '''jobs'', ''{{1},{2}}'', ''{1,2}''',
                  '''jobs'', ''{1,2}'', ''{{1},{2}}''']) with ordinality as a(arguments, m),
     concat('queue_', name, '_many(', arguments, ')') as call
order by f.n, a.m;
select queue_fail_many('jobs', '{20}', '{1}', '{}');
select queue_fail_many('jobs', '{20}', '{1}', '{a,b}');
select queue_fail_many('jobs', '{20,21}', '{1,1}', '{{a},{b}}');
select queue_fail_many('jobs', '{20}', '{1}', retry_in => '-1 second');
select queue_extend_many('jobs', '{20}', '{1}', lease => '0');
select id, attempt, leased_until is not null as leased, last_error from jobs where id = 20;

drop schema test_many cascade;
