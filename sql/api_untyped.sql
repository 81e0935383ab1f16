-- Every function resolves with parameters of no declared type, as drivers send them.
set client_min_messages = warning;
create schema test_untyped;
set search_path = test_untyped, public;

-- From the catalog: each with its fewest and with all arguments, and all between.
-- A row has to say of which table it is, and an enum of which type.
create table tasks (id integer primary key, state text not null default 'new', note text);
create type kind as enum ('test_untyped 3', 'test_untyped 4');
create function resolve(name text, types oidvector, arguments integer) returns void language plpgsql as $$
begin
	execute format('prepare untyped as select * from %s(%s)', name,
		(select string_agg('$' || n || case when type = 'anyelement'::regtype then '::tasks' when type = 'anyarray'::regtype then '::tasks[]' when type = 'anyenum'::regtype then '::kind' else '' end, ', ' order by n)
		 from unnest(types) with ordinality as a(type, n) where n <= arguments));
	deallocate untyped;
end $$;
select p.proname as function,
       count(distinct p.oid) as forms,
       min(p.pronargs - p.pronargdefaults) as fewest,
       max(p.pronargs) as most,
       count(resolve(p.proname, p.proargtypes, n)) as resolved
from pg_proc p
join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
join pg_extension e on e.oid = d.refobjid and e.extname = 'queue_ext' and p.prorettype <> 'trigger'::regtype
	and p.prokind <> 'p'
cross join generate_series((p.pronargs - p.pronargdefaults)::integer, p.pronargs) as n
group by p.proname
order by p.proname;

-- And called. test/pgtap/untyped.sql looks here for each function, with the
-- fewest and with all arguments.
prepare f1 as select fnv1_32($1), fnv1_64($1), fnv1a_32($1), fnv1a_64($1), fnv_lock_key($1), fnv_lock_key($1, $2);
execute f1('a', 1);

prepare q1 as select queue_create($1);
execute q1('jobs');
prepare q2 as select queue_create($1, $2, $3, $4, $5, $6, $7);
execute q2('more', '1 minute', 3, '1 second', '1 hour', true, true);
prepare q2b as select queue_create($1, $2, $3, $4, $5, $6, $7, $8, $9);
execute q2b('kept', '1 minute', 3, '1 second', '1 hour', true, true, '1 day', '0');
prepare q0 as select queue_adopt($1);
select queue_detach('jobs');
execute q0('jobs');
prepare y1 as select queue_upgrade();
execute y1;
prepare y2 as select queue_upgrade($1);
execute y2('jobs');
prepare q3 as select queue_alter($1);
execute q3('jobs');
prepare q4 as select queue_alter($1, $2, $3, $4, $5, $6, $7, $8, $9);
execute q4('jobs', '1 hour', 5, '1 second', '1 minute', false, null, null, true);
prepare q4b as select queue_alter($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
execute q4b('jobs', '1 hour', 5, '1 second', '1 minute', false, null, null, null, '1 day', '0');
prepare q4c as select queue_alter($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);
execute q4c('jobs', null, null, null, null, null, null, null, null, null, null, true);
prepare q5 as select queue_pause($1);
execute q5('jobs');
prepare q6 as select queue_resume($1);
execute q6('jobs');

prepare s1 as select queue_send($1, $2);
execute s1('jobs', '{"n": 1}');
prepare s2 as select queue_send($1, $2, $3, $4, $5, $6);
execute s2('jobs', '{"n": 2}', 1, '2001-01-01', 3, 'mail');
prepare s3 as select queue_send_many($1, $2);
execute s3('jobs', '{3,4,5,6,7,8,9,10,11,12,13,14,15,16}');
prepare s4 as select queue_send_many($1, $2, $3, $4, $5, $6);
execute s4('jobs', '{17,18}', 1, null, null, 'mail');
prepare u1 as select * from queue_unique_insert($1, $2);
execute u1('jobs', '{"unique": 1}');
prepare u2 as select * from queue_unique_insert($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);
execute u2('jobs', '{"unique": 1}', '{unique}', '1 hour', '{ready,done}', 1, '2001-01-01', 3, 'mail', 'UTC', 'keep', null);
prepare u3 as select * from queue_unique_insert_many($1, $2);
execute u3('jobs', '{"{\"unique\": 1}", "{\"unique\": 1.0}"}');
prepare u4 as select * from queue_unique_insert_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);
execute u4('jobs', '{"{\"unique\": 1}"}', '{unique}', '1 hour', '{ready,done}', 1, '2001-01-01', 3, 'mail', 'UTC', 'keep', null);
prepare u5 as select queue_unique_key($1, $2);
execute u5('jobs', '{"unique": 1}');
prepare u6 as select queue_unique_key($1, $2, $3, $4, $5, $6);
execute u6('jobs', '{"unique": 1}', '{unique}', '1 hour', '2001-01-01 00:00:00+00', 'UTC');
select queue_cancel_many('jobs', '{19,20}') is not null as cancelled;
prepare v1 as select queue_lock($1), queue_try_lock($1);
execute v1('jobs');
prepare p1 as select id, attempt from queue_pop($1);
execute p1('jobs');
prepare p2 as select id, attempt from queue_pop($1, $2, $3, $4, $5);
execute p2('jobs', 16, '1 minute', 'ada', null);
prepare c1 as select * from queue_counts($1);
prepare c1p as select path is not null as told from queue_claim_path($1);
execute c1p('jobs');
prepare c1h as select count(*) >= 0 as looked from queue_health($1);
execute c1h('jobs');
prepare c1i as select count(*) >= 0 as looked from queue_health();
execute c1i;
execute c1('jobs');
prepare c2 as select count(*) >= 0 as counted from queue_claim_counters();
execute c2;
prepare c3 as select queue_claim_stats_reset();
execute c3;
prepare c4 as select count(*) >= 0 as counted from queue_stats_counters();
execute c4;
prepare c5 as select count(*) >= 0 as counted from queue_stats_buckets($1);
execute c5(true);
prepare c6 as select queue_stats_reset($1);
execute c6('jobs');
prepare c7 as select queue_stats_reset();
execute c7;

-- A receipt must have its attempt.
prepare w1 as select queue_complete($1, $2);
execute w1('jobs', 1);
prepare w2 as select queue_complete_many($1, $2);
execute w2('jobs', '{1}');
prepare w3 as select queue_fail($1, $2);
execute w3('jobs', 1);
prepare w4 as select queue_fail_many($1, $2);
execute w4('jobs', '{1}');
prepare w5 as select queue_release($1, $2);
execute w5('jobs', 1);
prepare w6 as select queue_release_many($1, $2);
execute w6('jobs', '{1}');
prepare w7 as select queue_extend($1, $2);
execute w7('jobs', 1);
prepare w8 as select queue_extend_many($1, $2);
execute w8('jobs', '{1}');

prepare e1 as select queue_extend($1, $2, $3);
execute e1('jobs', 1, 1);
prepare e2 as select queue_extend($1, $2, $3, $4);
execute e2('jobs', 1, 1, '1 day');
prepare e3 as select queue_extend_many($1, $2, $3);
execute e3('jobs', '{2,3}', '{1,1}');
prepare e4 as select queue_extend_many($1, $2, $3, $4);
execute e4('jobs', '{2,3}', '{1,1}', '1 day');
prepare e5 as select queue_extend($1, $2, $3, $4, $5);
execute e5('jobs', 1, 1, '1 day', '{"done": 1}');
prepare e6 as select queue_extend_many($1, $2, $3, $4, $5);
execute e6('jobs', '{2,3}', '{1,1}', '1 day', '{1,2}');
prepare d1 as select queue_complete($1, $2, $3);
execute d1('jobs', 1, 1);
prepare d2 as select queue_complete_many($1, $2, $3);
execute d2('jobs', '{3,2}', '{1,1}');
prepare x1 as select queue_fail($1, $2, $3);
execute x1('jobs', 4, 1);
prepare x2 as select queue_fail($1, $2, $3, $4, $5);
execute x2('jobs', 5, 1, 'broken', '1 day');
prepare x5 as select queue_fail($1, $2, $3, $4, $5, $6);
execute x5('jobs', 5, 2, 'broken', null, 'f');
prepare x3 as select queue_fail_many($1, $2, $3);
execute x3('jobs', '{6}', '{1}');
prepare x4 as select queue_fail_many($1, $2, $3, $4, $5);
execute x4('jobs', '{7}', '{1}', '{broken}', '1 day');
prepare x6 as select queue_fail_many($1, $2, $3, $4, $5, $6);
execute x6('jobs', '{7}', '{2}', '{broken}', null, 'f');
prepare r1 as select queue_release($1, $2, $3);
execute r1('jobs', 8, 1);
prepare r2 as select queue_release($1, $2, $3, $4);
execute r2('jobs', 9, 1, 'tomorrow');
prepare r3 as select queue_release_many($1, $2, $3);
execute r3('jobs', '{10}', '{1}');
prepare r4 as select queue_release_many($1, $2, $3, $4);
execute r4('jobs', '{11}', '{1}', 'tomorrow');
prepare k1 as select queue_cancel($1, $2);
execute k1('jobs', 12);
prepare k2 as select queue_cancel($1, $2, $3);
execute k2('jobs', 13, 1);
prepare k3 as select queue_cancel_many($1, $2);
execute k3('jobs', '{14}');
prepare k4 as select queue_cancel_many($1, $2, $3);
execute k4('jobs', '{15}', '{1}');
prepare z1 as select count(*) from queue_pop_any($1);
execute z1('{jobs}');
prepare z2 as select count(*) from queue_pop_any($1, $2, $3, $4, $5, $6);
execute z2('{jobs}', 1, '1 hour', 'me', '{mail}', '{1}');
prepare b1 as select queue_complete_pop($1, $2, $3) is not null;
execute b1('jobs', -1, 1);
prepare b2 as select queue_complete_pop($1, $2, $3, $4, $5, $6) is not null;
execute b2('jobs', -1, 1, '1 hour', 'me', '{mail}');
prepare b3 as select queue_complete_pop($1, $2, $3, $4, $5, $6, $7) is not null;
execute b3('jobs', -1, 1, '1 hour', 'me', null, null);
prepare b4 as select queue_complete($1, $2, $3, $4);
execute b4('jobs', -1, 1, null);
prepare b5 as select queue_complete_many($1, $2, $3, $4);
execute b5('jobs', '{-1}', '{1}', '{null}');
prepare b6 as select state from queue_result($1, $2);
execute b6('jobs', 1);
update jobs set dead_at = now(), attempt = 1 where id between 4 and 9;
prepare a1 as select queue_requeue($1, $2);
execute a1('jobs', 4);
prepare a2 as select queue_requeue($1, $2, $3);
execute a2('jobs', 5, 1);
prepare a3 as select queue_requeue_many($1, $2);
execute a3('jobs', '{6,7}');
prepare a4 as select queue_requeue_many($1, $2, $3);
execute a4('jobs', '{8,9}', '{1,1}');

prepare q7 as select queue_purge($1, $2);
execute q7('jobs', 'ready');
prepare q8 as select queue_purge($1);
execute q8('jobs');
prepare y3 as select queue_schedule($1, $2, cron => $3, payload => $4, time_zone => $5) > now() as scheduled;
execute y3('jobs', 'nightly', '0 2 * * *', '{}', 'UTC');
prepare y4 as select queue_schedule($1, $2, $3) > now() as scheduled;
execute y4('jobs', 'nightly', '1 day');
prepare y6 as select queue_schedule($1, $2);
execute y6('jobs', 'nightly');
prepare y7 as select queue_schedule($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);
execute y7('jobs', 'nightly', null, '@yearly', '{}', 'UTC', 'all', '2090-01-01 00:00Z', 1, 2, 'a');
prepare y5 as select queue_unschedule($1, $2);
execute y5('jobs', 'nightly');
prepare q9 as select queue_drop($1);
execute q9('jobs');
prepare q10 as select queue_drop($1, $2);
execute q10('jobs', true);

insert into tasks values (1), (2), (3), (4), (5);
prepare t1 as select queue_attach($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);
execute t1('tasks', 'tasks', 'state = ''new''', 'id', 'state = ''taken''', 'state = ''done''', 'state = ''new''',
	'state = ''failed'', note = error', 'update', 'note = lease::text', '1 minute', true, '', '');
prepare t15 as select * from queue_unique_insert_row($1::tasks, $2);
execute t15('(1,,)', '{id}');
prepare t16 as select * from queue_unique_insert_row($1::tasks, $2, $3);
execute t16('(1,,)', '{id}', 'true');
prepare t17 as select * from queue_unique_insert_rows($1::tasks[], $2);
execute t17('{"(1,,)","(2,,)"}', '{id}');
prepare t18 as select * from queue_unique_insert_rows($1::tasks[], $2, $3);
execute t18('{"(1,,)","(2,,)"}', '{id}', 'true');
prepare t2 as select * from queue_pop_rows($1::tasks);
execute t2(null);
prepare t3 as select * from queue_pop_rows($1::tasks, $2, $3, $4, $5);
execute t3(null, 'tasks', 9, '1 hour', 'ada');
prepare t4 as select queue_complete_row($1, $2::tasks);
execute t4('tasks', '(1,taken,)');
prepare t5 as select queue_release_row($1, $2::tasks);
execute t5('tasks', '(2,taken,)');
prepare t6 as select queue_release_row($1, $2::tasks, $3);
execute t6('tasks', '(2,taken,)', 'tomorrow');
prepare t7 as select queue_fail_row($1, $2::tasks);
execute t7('tasks', '(3,taken,)');
prepare t8 as select queue_fail_row($1, $2::tasks, $3, $4);
execute t8('tasks', '(4,taken,)', 'broken', '1 day');
prepare f11 as select queue_fail_row($1, $2::tasks, $3, $4, $5);
execute f11('tasks', '(4,taken,)', 'broken', '1 day', 't');
prepare t9 as select queue_extend_row($1, $2::tasks);
execute t9('tasks', '(5,taken,)');
prepare t10 as select queue_extend_row($1, $2::tasks, $3);
execute t10('tasks', '(5,taken,)', '1 day');
select * from tasks order by id;
prepare g1 as select queue_receipt($1, $2::tasks) is not null as made;
execute g1('tasks', '(2,taken,)');
update tasks set state = 'taken' where id <= 4;
select queue_receipt('tasks', (2, 'taken', null)::tasks) as receipt, array[queue_receipt('tasks', (3, 'taken', null)::tasks)] as receipts \gset
prepare g2 as select queue_extend_receipt($1, $2) is not null as extended;
execute g2('tasks', :'receipt');
prepare g3 as select queue_extend_receipt($1, $2, $3) is not null as extended;
execute g3('tasks', :'receipt', '1 day');
prepare g4 as select count(*) from queue_extend_receipts($1, $2);
execute g4('tasks', :'receipts');
prepare g5 as select count(*) from queue_extend_receipts($1, $2, $3);
execute g5('tasks', :'receipts', '1 day');
prepare g6 as select queue_release_receipt($1, $2);
execute g6('tasks', :'receipt');
prepare g7 as select queue_release_receipt($1, $2, $3);
execute g7('tasks', :'receipt', 'tomorrow');
prepare g8 as select count(*) from queue_release_receipts($1, $2);
execute g8('tasks', :'receipts');
prepare g9 as select count(*) from queue_release_receipts($1, $2, $3);
execute g9('tasks', :'receipts', 'tomorrow');
update tasks set state = 'taken' where id <= 4;
prepare g10 as select queue_fail_receipt($1, $2);
execute g10('tasks', :'receipt');
prepare g11 as select queue_fail_receipt($1, $2, $3, $4);
execute g11('tasks', :'receipt', 'broken', '1 day');
prepare g12 as select count(*) from queue_fail_receipts($1, $2);
execute g12('tasks', :'receipts');
prepare g13 as select count(*) from queue_fail_receipts($1, $2, $3, $4);
execute g13('tasks', :'receipts', '{broken}', '1 day');
prepare f20 as select queue_fail_receipt($1, $2, $3, $4, $5);
execute f20('tasks', :'receipt', 'broken', '1 day', 't');
prepare f21 as select count(*) from queue_fail_receipts($1, $2, $3, $4, $5);
execute f21('tasks', :'receipts', '{broken}', '1 day', 't');
update tasks set state = 'taken' where id <= 4;
prepare g14 as select queue_complete_receipt($1, $2);
execute g14('tasks', :'receipt');
prepare g15 as select count(*) from queue_complete_receipts($1, $2);
execute g15('tasks', :'receipts');
prepare t11 as select queue_detach($1);
execute t11('tasks');
prepare t12 as select queue_detach($1, $2);
execute t12('tasks', true);
prepare t13 as select queue_attach($1, $2, $3);
execute t13('tasks', 'tasks', 'state = ''new''');
prepare t14 as select queue_is_held($1, $2);
execute t14(1259, '1');

prepare h1 as select throttle_create($1, $2);
execute h1('test_untyped', '1 hour');
prepare h2 as select throttle_create($1, $2, $3);
execute h2('test_untyped 2', '1 hour', 2);
prepare h3 as select throttle_alter($1);
execute h3('test_untyped');
prepare h4 as select throttle_alter($1, $2, $3);
execute h4('test_untyped', '2 hours', 3);
prepare h5 as select lock_throttled_resource($1, $2);
execute h5('test_untyped', 'me');
prepare h15 as select acquired, retry_at > now() as later from throttle_acquire($1, $2);
execute h15('test_untyped', 'me');
prepare h6 as select throttle_drop($1);
execute h6('test_untyped');
prepare h7 as select throttle_drop($1, $2);
execute h7('test_untyped 2', true);
prepare h8 as select throttle_create($1::kind, $2);
execute h8('test_untyped 3', '1 hour');
prepare h9 as select throttle_create($1::kind, $2, $3);
execute h9('test_untyped 4', '1 hour', 2);
prepare h10 as select throttle_alter($1::kind);
execute h10('test_untyped 3');
prepare h11 as select throttle_alter($1::kind, $2, $3);
execute h11('test_untyped 3', '2 hours', 3);
prepare h12 as select lock_throttled_resource($1::kind, $2);
execute h12('test_untyped 3', 'me');
prepare h16 as select acquired, retry_at > now() as later from throttle_acquire($1::kind, $2);
execute h16('test_untyped 3', 'me');
prepare h13 as select throttle_drop($1::kind);
execute h13('test_untyped 3');
prepare h14 as select throttle_drop($1::kind, $2);
execute h14('test_untyped 4', true);

prepare l1 as select mutex_acquire($1);
execute l1('test_untyped');
prepare l2 as select mutex_release($1);
execute l2('test_untyped');
prepare l3 as select * from mutex_acquire_fenced($1);
execute l3('test_untyped');
prepare l4 as select mutex_release($1, $2);
execute l4('test_untyped', 2);
prepare l5 as select timeout_acquire($1, $2);
execute l5('test_untyped', '1 hour');
prepare l6 as select * from timeout_acquire_fenced($1, $2);
execute l6('test_untyped', '1 hour');
prepare l7 as select lock_set_retries($1, $2);
execute l7('test_untyped', 3);
delete from named_lock where task_id = 'test_untyped';

deallocate all;
drop schema test_untyped cascade;
