-- queue_complete, _fail, _release, _extend, _cancel, _requeue, for one job.
set client_min_messages = warning;
create schema test_finish;
set search_path = test_finish, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 2);
create view state as
select id,
       attempt,
       max_attempts,
       case
           when dead_at <= clock_timestamp() then 'dead'
           when leased_until > clock_timestamp() then 'leased'
           when run_at > clock_timestamp() then 'scheduled'
           else 'ready'
       end as state,
       leased_until is null as free,
       leased_by,
       last_error
from jobs
order by id;

-- Complete: the row is gone.
select queue_send('jobs', '1');
select id, attempt from queue_pop('jobs');
select queue_complete('jobs', 1, 1);
select * from state;

-- Fail: again later, and dead after the last attempt.
select queue_send('jobs', '2');
select id, attempt from queue_pop('jobs', worker => 'ada');
select queue_fail('jobs', 2, 1, 'no answer', '0');
select * from state;
select id, attempt, last_error from queue_pop('jobs', worker => 'bob');
select * from state;
select queue_fail('jobs', 2, 2, 'no answer again', '0');
select * from state;
select count(*) as popped from queue_pop('jobs');

-- Requeue: the full number of attempts, though attempt goes on.
select queue_requeue('jobs', 2);
select * from state;
select queue_requeue('jobs', 2);
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 2, 3, retry_in => '0');
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 2, 4);
select * from state;
select queue_alter('jobs', max_attempts => 5);
select queue_requeue('jobs', 2, 3), queue_requeue('jobs', 2, 4);
select * from state;
select queue_alter('jobs', max_attempts => 2);

-- Requeue is for the dead: not for the ready, scheduled or leased.
select queue_requeue('jobs', 2);
update jobs set run_at = now() + interval '1 day';
select queue_requeue('jobs', 2);
select queue_cancel('jobs', 2);
select queue_send('jobs', '3', max_attempts => 1);
select id, attempt from queue_pop('jobs');
select dead_at is not null as last_attempt from jobs;
select queue_requeue('jobs', 3);

-- Extend: from now on; the last attempt's end moves along.
update jobs set leased_until = now() + interval '1 minute', dead_at = now() + interval '1 minute';
select queue_extend('jobs', 3, 1);
select leased_until - clock_timestamp() between '59 minutes' and '1 hour' as an_hour,
       dead_at = leased_until as dead_at_moved
from jobs;
select queue_extend('jobs', 3, 1, '1 day');
select leased_until - clock_timestamp() between '23 hours' and '1 day' as a_day,
       dead_at = leased_until as dead_at_moved
from jobs;
select queue_extend('jobs', 3, 1, '1 minute');
select leased_until - clock_timestamp() between '1 second' and '1 minute' as shorter from jobs;

-- Release: not charged, neither the last attempt.
select queue_release('jobs', 3, 1);
select *, (select dead_at from jobs) as dead_at from state;
select id, attempt from queue_pop('jobs', worker => 'ada');
select queue_release('jobs', 3, 2, now() + interval '1 day');
select * from state;
select queue_cancel('jobs', 3);
select queue_send('jobs', '4');
select id, attempt from queue_pop('jobs');
select dead_at from jobs;
select queue_release('jobs', 4, 1, '2001-01-01');
select max_attempts, run_at = '2001-01-01' as run_at from jobs;

-- Cancel: ready, scheduled, leased or dead; with the attempt or without.
select count(*) from queue_send_many('jobs', '{5,6,7,8,9,10}');
update jobs set run_at = now() + interval '1 day' where id = 5;
update jobs set leased_until = now() + interval '1 day', attempt = 1 where id in (6, 7);
update jobs set leased_until = now(), dead_at = now(), attempt = 2 where id in (8, 9);
select queue_cancel('jobs', 4), queue_cancel('jobs', 5, 0), queue_cancel('jobs', 6),
       queue_cancel('jobs', 7, 1), queue_cancel('jobs', 8), queue_cancel('jobs', 9, 2);
select queue_cancel('jobs', 10, 1), queue_cancel('jobs', 10, null), queue_cancel('jobs', 10);
select * from state;

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
     unnest(array['(null, 1, 1)', '(''no_such_queue'', 1, 1)', '(''jobs'', null, 1)', '(''jobs'', 1, null)',
                  '(''jobs'', 1, 1)']) with ordinality as a(arguments, m),
     concat('queue_', name, arguments) as call
order by f.n, a.m;
select queue_fail('jobs', 1, 1, retry_in => '-1 second');
select queue_extend('jobs', 1, 1, lease => '0');
select queue_extend('jobs', 1, 1, lease => '-1 second');
select queue_send('jobs', '11');
select id, attempt from queue_pop('jobs');
select queue_fail('jobs', 11, 1, retry_in => '300000 years');
select * from state;

drop schema test_finish cascade;
