-- What each function makes of an argument at the limits of its type, and beyond those of its
-- own: done, or the SQLSTATE. One argument after the other, where all the rest are good.
set client_min_messages = error;
create schema test_argument_table;
set search_path = test_argument_table, public;
select queue_create('jobs', lease => '1 hour', archive => true, kinds => true, on_expire => 'dead');
select queue_create('others');
create table t (id integer primary key, state integer not null default 0);
create index on t (id) where state = 0;
insert into t values (1, 1), (2);
select queue_attach('t', 't', 'state = 0', 'id', 'state = 1', on_release => 'state = 0', on_fail => 'state = 0', on_extend => 'state = 1');
insert into jobs (payload, leased_until, attempt, kind) values ('1', 'infinity', 1, 'a'), ('2', null, 0, 'a'), ('3', null, 0, 'a');
update jobs set dead_at = '2000-01-01' where id = 3;
select throttle_create('test', '1 hour');
select mutex_acquire('test');

-- Good calls, with every argument by name: those that are not varied as they are here.
create table calls (n integer generated always as identity, function text, arguments text[]);
insert into calls (function, arguments) values
	('queue_send', array['queue', $$'jobs'$$, 'payload', $$'1'::jsonb$$, 'priority', '0', 'run_at', 'now()', 'max_attempts', '1', 'kind', $$'mail'$$, 'expires_at', $$'2500-01-01'::timestamptz$$, 'expires_in', 'null::interval']),
	('queue_send_many', array['queue', $$'jobs'$$, 'payloads', $$'{1}'::jsonb[]$$, 'priority', '0', 'run_at', 'now()', 'max_attempts', '1', 'kind', $$'mail'$$, 'expires_at', $$'2500-01-01'::timestamptz$$, 'expires_in', 'null::interval']),
	('queue_unique_insert', array['queue', $$'jobs'$$, 'payload', $$'{"a":1}'::jsonb$$, 'unique_by', $$'{a}'::text[]$$, 'period', $$'1 hour'::interval$$,
		'states', $$'{ready,scheduled,leased}'::text[]$$, 'priority', '0', 'run_at', 'now()', 'max_attempts', '1', 'kind', $$'mail'$$, 'time_zone', $$'UTC'$$, 'on_conflict', $$'postpone'$$, 'max_delay', $$'1 hour'::interval$$, 'expires_at', 'null::timestamptz', 'expires_in', $$'1 hour'::interval$$]),
	('queue_unique_insert_many', array['queue', $$'jobs'$$, 'payloads', $$array['{"a":1}']::jsonb[]$$, 'unique_by', $$'{a}'::text[]$$, 'period', $$'1 hour'::interval$$,
		'states', $$'{ready,scheduled,leased}'::text[]$$, 'priority', '0', 'run_at', 'now()', 'max_attempts', '1', 'kind', $$'mail'$$, 'time_zone', $$'UTC'$$, 'on_conflict', $$'postpone'$$, 'max_delay', $$'1 hour'::interval$$, 'expires_at', 'null::timestamptz', 'expires_in', $$'1 hour'::interval$$]),
	('queue_unique_insert_row', array['job', $$'(5,0)'::t$$, 'unique_by', $$'{id}'::text[]$$, 'among', $$'state = 0'$$]),
	('queue_unique_insert_rows', array['jobs', $$array['(5,0)']::t[]$$, 'unique_by', $$'{id}'::text[]$$, 'among', $$'state = 0'$$]),
	('queue_unique_key', array['queue', $$'jobs'$$, 'payload', $$'{"a":1}'::jsonb$$, 'unique_by', $$'{a}'::text[]$$, 'period', $$'1 hour'::interval$$, 'run_at', 'now()', 'time_zone', $$'UTC'$$]),
	('queue_pop', array['queue', $$'jobs'$$, 'max_jobs', '1', 'lease', $$'1 hour'::interval$$, 'worker', $$'ada'$$, 'kinds', $$'{a}'::text[]$$]),
	('queue_pop_any', array['queues', $$'{jobs}'::text[]$$, 'max_jobs', '1', 'lease', $$'1 hour'::interval$$, 'worker', $$'ada'$$, 'kinds', $$'{a}'::text[]$$, 'weights', $$'{1}'::integer[]$$]),
	('queue_pop_rows', array['source', 'null::t', 'queue', $$'t'$$, 'max_jobs', '1', 'lease', $$'1 hour'::interval$$, 'worker', $$'ada'$$]),
	('queue_complete', array['queue', $$'jobs'$$, 'id', '1', 'attempt', '1', 'result', $$'{"a":1}'::jsonb$$]),
	('queue_complete_pop', array['queue', $$'jobs'$$, 'done_id', '1', 'done_attempt', '1', 'lease', $$'1 hour'::interval$$, 'worker', $$'ada'$$, 'kinds', $$'{a}'::text[]$$, 'result', $$'{"a":1}'::jsonb$$]),
	('queue_complete_many', array['queue', $$'jobs'$$, 'ids', $$'{1}'::bigint[]$$, 'attempts', $$'{1}'::integer[]$$, 'results', $$'{1}'::jsonb[]$$]),
	('queue_complete_row', array['queue', $$'t'$$, 'job', $$'(1,1)'::t$$]),
	('queue_fail', array['queue', $$'jobs'$$, 'id', '1', 'attempt', '1', 'error', $$'x'$$, 'retry_in', $$'1 hour'::interval$$, 'retry', 'true']),
	('queue_fail_many', array['queue', $$'jobs'$$, 'ids', $$'{1}'::bigint[]$$, 'attempts', $$'{1}'::integer[]$$, 'errors', $$'{x}'::text[]$$, 'retry_in', $$'1 hour'::interval$$, 'retry', 'true']),
	('queue_fail_row', array['queue', $$'t'$$, 'job', $$'(1,1)'::t$$, 'error', $$'x'$$, 'retry_in', $$'1 hour'::interval$$, 'retry', 'true']),
	('queue_release', array['queue', $$'jobs'$$, 'id', '1', 'attempt', '1', 'run_at', 'now()']),
	('queue_release_many', array['queue', $$'jobs'$$, 'ids', $$'{1}'::bigint[]$$, 'attempts', $$'{1}'::integer[]$$, 'run_at', 'now()']),
	('queue_release_row', array['queue', $$'t'$$, 'job', $$'(1,1)'::t$$, 'run_at', 'null::timestamptz']),
	('queue_extend', array['queue', $$'jobs'$$, 'id', '1', 'attempt', '1', 'lease', $$'1 hour'::interval$$, 'progress', $$'1'::jsonb$$]),
	('queue_extend_many', array['queue', $$'jobs'$$, 'ids', $$'{1}'::bigint[]$$, 'attempts', $$'{1}'::integer[]$$, 'lease', $$'1 hour'::interval$$, 'progress', $$array['1']::jsonb[]$$]),
	('queue_extend_row', array['queue', $$'t'$$, 'job', $$'(1,1)'::t$$, 'lease', $$'1 hour'::interval$$]),
	('queue_receipt', array['queue', $$'t'$$, 'job', $$'(1,1)'::t$$]),
	('queue_complete_receipt', array['queue', $$'t'$$, 'receipt', $$queue_receipt('t', '(1,1)'::t)$$]),
	('queue_complete_receipts', array['queue', $$'t'$$, 'receipts', $$array[queue_receipt('t', '(1,1)'::t)]$$]),
	('queue_fail_receipt', array['queue', $$'t'$$, 'receipt', $$queue_receipt('t', '(1,1)'::t)$$, 'error', $$'x'$$, 'retry_in', $$'1 hour'::interval$$, 'retry', 'true']),
	('queue_fail_receipts', array['queue', $$'t'$$, 'receipts', $$array[queue_receipt('t', '(1,1)'::t)]$$, 'errors', $$'{x}'::text[]$$, 'retry_in', $$'1 hour'::interval$$, 'retry', 'true']),
	('queue_release_receipt', array['queue', $$'t'$$, 'receipt', $$queue_receipt('t', '(1,1)'::t)$$, 'run_at', 'now()']),
	('queue_release_receipts', array['queue', $$'t'$$, 'receipts', $$array[queue_receipt('t', '(1,1)'::t)]$$, 'run_at', 'now()']),
	('queue_extend_receipt', array['queue', $$'t'$$, 'receipt', $$queue_receipt('t', '(1,1)'::t)$$, 'lease', $$'1 hour'::interval$$]),
	('queue_extend_receipts', array['queue', $$'t'$$, 'receipts', $$array[queue_receipt('t', '(1,1)'::t)]$$, 'lease', $$'1 hour'::interval$$]),
	('queue_cancel', array['queue', $$'jobs'$$, 'id', '2', 'attempt', '0']),
	('queue_cancel_many', array['queue', $$'jobs'$$, 'ids', $$'{2}'::bigint[]$$, 'attempts', $$'{0}'::integer[]$$]),
	('queue_requeue', array['queue', $$'jobs'$$, 'id', '3', 'attempt', '0']),
	('queue_requeue_many', array['queue', $$'jobs'$$, 'ids', $$'{3}'::bigint[]$$, 'attempts', $$'{0}'::integer[]$$]),
	('queue_purge', array['queue', $$'jobs'$$, 'state', $$'dead'$$]),
	('queue_counts', array['queue', $$'jobs'$$]),
	('queue_result', array['queue', $$'jobs'$$, 'id', '1']),
	('queue_claim_path', array['queue', $$'jobs'$$]),
	('queue_health', array['queue', $$'jobs'$$]),
	('queue_schedule', array['queue', $$'jobs'$$, 'name', $$'s'$$, 'every', $$'1 hour'::interval$$, 'cron', 'null::text', 'payload', $$'{}'::jsonb$$,
		'time_zone', $$'UTC'$$, 'missed', $$'once'$$, 'starts_at', 'null::timestamptz', 'priority', '1', 'max_attempts', '1', 'kind', $$'a'$$]),
	('queue_unschedule', array['queue', $$'jobs'$$, 'name', $$'s'$$]),
	('queue_pause', array['queue', $$'jobs'$$]),
	('queue_resume', array['queue', $$'jobs'$$]),
	('queue_create', array['queue', $$'test_argument_table.q'$$, 'lease', $$'1 hour'::interval$$, 'max_attempts', '1', 'backoff_base', $$'1 hour'::interval$$,
		'backoff_cap', $$'1 day'::interval$$, 'archive', 'true', 'kinds', 'true', 'archive_keep', $$'30 days'::interval$$, 'dead_keep', $$'0'::interval$$, 'dead_queue', $$'others'$$, 'on_expire', $$'dead'$$]),
	('queue_alter', array['queue', $$'jobs'$$, 'lease', $$'1 hour'::interval$$, 'max_attempts', '1', 'backoff_base', $$'1 hour'::interval$$,
		'backoff_cap', $$'1 day'::interval$$, 'archive', 'false', 'ready_at', 'null::text', 'claimed_at', 'null::text', 'kinds', 'true',
		'archive_keep', $$'30 days'::interval$$, 'dead_keep', $$'0'::interval$$, 'wake', 'true', 'dead_queue', $$'others'$$, 'on_expire', $$'dead'$$]),
	('queue_attach', array['queue', $$'q'$$, 'source', $$'t'::regclass$$, 'pending', $$'state = 0'$$, 'order_by', $$'id'$$, 'on_claim', $$'state = 1'$$,
		'on_complete', $$'state = 2'$$, 'on_release', $$'state = 0'$$, 'on_fail', $$'state = 0'$$, 'claim_mode', $$'update'$$, 'on_extend', $$'state = 1'$$,
		'lease', $$'1 hour'::interval$$, 'wake', 'false', 'ready_at', $$''$$, 'claimed_at', $$''$$]),
	('queue_adopt', array['queue', $$'jobs'$$]),
	('queue_upgrade', array['queue', $$'jobs'$$]),
	('queue_detach', array['queue', $$'t'$$, 'if_exists', 'false']),
	('queue_drop', array['queue', $$'jobs'$$, 'if_exists', 'false']),
	('queue_is_held', array['source', $$'t'::regclass$$, 'identity', $$'1'$$]),
	('queue_lock', array['key', $$'x'$$]),
	('queue_try_lock', array['key', $$'x'$$]),
	('fnv1_64', array['key', $$'x'::text$$]),
	('fnv1a_32', array['key', $$'x'::bytea$$]),
	('fnv_lock_key', array['key', $$'x'::text$$, 'prefix', '0']),
	('lock_throttled_resource', array['resource', $$'test'::text$$, 'details', $$'x'$$]),
	('throttle_acquire', array['resource', $$'test'::text$$, 'details', $$'x'$$]),
	('throttle_create', array['resource', $$'new'::text$$, 'throttle_interval', $$'1 hour'::interval$$, 'grants', '1']),
	('throttle_alter', array['resource', $$'test'::text$$, 'throttle_interval', $$'1 hour'::interval$$, 'grants', '1']),
	('throttle_drop', array['resource', $$'test'::text$$, 'if_exists', 'false']),
	('mutex_acquire', array['task_id', $$'test'$$]),
	('mutex_acquire_fenced', array['task_id', $$'test'$$]),
	('mutex_release', array['task_id', $$'test'$$, 'token', '1']),
	('timeout_acquire', array['task_id', $$'new'$$, 'timeout', $$'1 hour'::interval$$]),
	('timeout_acquire_fenced', array['task_id', $$'new'$$, 'timeout', $$'1 hour'::interval$$]),
	('lock_set_retries', array['task_id', $$'new'$$, 'retries', '5']);

-- Functions that are not there are those that have one argument less than they can, or are
-- asked in another test.
select distinct p.proname as not_tried
from pg_proc as p join pg_depend as d on d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e'
	join pg_extension as e on e.oid = d.refobjid and d.refclassid = 'pg_extension'::regclass
where e.extname = 'queue_ext' and p.prokind <> 'p' and p.proname not in (select function from calls)
order by 1;

-- What an argument of that kind is varied by.
create table variations (n integer generated always as identity, kind text, value text);
insert into variations (kind, value)
select kind, unnest(case kind
	when 'integer' then array['null', '-2147483648', '-32769', '-32768', '-1', '0', '1', '1000', '1001', '10000', '10001', '32767', '32768', '65536', '1000000',
		'1000001', '2147483647']
	when 'id' then array['null', '-9223372036854775808', '0', '9223372036854775807']
	when 'interval' then array['null', '''-1 microsecond''', '''0''', '''1 microsecond''', '''1 month''', '''1000 years''', '''170000000 years''']
	when 'moment' then array['null', '''-infinity''', '''infinity''', '''4714-11-24 00:00:00+00 BC''', '''294276-12-31 23:59:59+00''']
	when 'boolean' then array['null', 'true', 'false']
	when 'payload' then array['null', '''null''', '''{}''', '''[]''', '''{"a":null}''']
	when 'payloads' then array['null', '''{}''', '''{NULL}''', '''{{1,2},{3,4}}''', '''[5:6]={1,2}''', '''{"null"}''']
	when 'ids' then array['null', '''{}''', '''{NULL}''', '''{{1},{2}}''', '''{1,2}''', '''[7:7]={1}''', '''{-1}''']
	when 'names' then array['null', '''{}''', '''{NULL}''', '''{{a},{b}}''', '''{""}''', '''{a,a}''', '''{other}''', '''[2:2]={a}''', '''{id}''', '''{id,state,id}''']
	when 'states' then array['null', '''{}''', '''{NULL}''', '''{done}''', '''{ready,ready}''', '''{READY}''', '''{{ready},{leased}}''', '''{ready,scheduled,leased,dead,done}''']
	when 'errors' then array['null', '''{}''', '''{NULL}''', '''{a,b}''', '''{{a}}''']
	when 'queue' then array['null', '''''', ''' ''', '''none''', '''a.b.c.d''', '''"''', '''pg_class''', 'repeat(''x'', 64)']
	when 'text' then array['null', '''''', ''' ''', '''x''', 'repeat(''x'', 100000)']
	when 'row' then array['null', 'null::t', '''(1,9)''::t', '''(9,1)''::t', '''(,)''::t', 'row(1, 1)', '''x''::text']
	when 'receipt' then array['null', '''''', '''x''', '''AAAA''', '''A A''', 'repeat(''A'', 2000000)', 'queue_receipt(''t'', ''(9,1)''::t)', 'queue_receipt(''t'', ''(1,9)''::t)',
		'queue_receipt(''jobs'', (select j from jobs as j where id = 1))']
	when 'receipts' then array['null', '''{}''', '''{NULL}''', '''{{a},{b}}''', '''{x}''', 'array[queue_receipt(''t'', ''(1,1)''::t), ''x'']',
		'array[queue_receipt(''t'', ''(1,1)''::t), queue_receipt(''t'', ''(1,1)''::t)]', 'array[queue_receipt(''t'', ''(9,1)''::t)]', '''[2:2]={x}''']
	when 'rows' then array['null::t[]', '''{}''::t[]', 'array[null]::t[]', 'array[''(,)'']::t[]', 'array[[''(7,0)''],[''(8,0)'']]::t[]', '''{a}''::text[]']
	when 'table' then array['null', '0', '1', '''pg_class''::regclass', '''queues''::regclass', '''t_pkey''::regclass'] end)
from unnest(array['integer', 'id', 'interval', 'moment', 'boolean', 'payload', 'payloads', 'ids', 'names', 'states', 'errors', 'queue', 'text', 'row', 'receipt', 'receipts', 'rows', 'table']) as kind;

create function kind_of(function text, argument text) returns text language sql as $$
	select case
		when argument in ('priority', 'max_attempts', 'attempt', 'max_jobs', 'grants', 'retries', 'prefix', 'token') then 'integer'
		when argument in ('lease', 'period', 'retry_in', 'backoff_base', 'backoff_cap', 'throttle_interval', 'timeout', 'expires_in') then 'interval'
		when argument in ('archive', 'if_exists', 'wake') then 'boolean'
		when argument = 'dead_queue' then 'queue'
		when argument = 'kinds' and function in ('queue_create', 'queue_alter') then 'boolean'
		when argument = 'kinds' then 'names'
		when argument in ('run_at', 'expires_at') then 'moment'
		when argument in ('ids', 'attempts') then 'ids'
		when argument = 'unique_by' then 'names'
		when argument = 'source' and function = 'queue_pop_rows' then 'row'
		when argument = 'source' then 'table'
		when argument = 'job' then 'row'
		when argument = 'jobs' then 'rows'
		when argument in ('id', 'payload', 'payloads', 'states', 'errors', 'queue', 'receipt', 'receipts') then argument
		else 'text' end
$$;

-- Done, and undone.
create function outcome_of(call text) returns text language plpgsql as $$
begin
	execute 'select count(*) from (select ' || call || ') as c';
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		return 'done';
	when others then
		return sqlstate;
end $$;

create table outcomes (function text, argument text, n integer, value text, outcome text);
do $$
declare
	c record;
	v record;
	i integer;
	j integer;
	call text;
	part text;
begin
	for c in select * from calls order by n loop
		if outcome_of(c.function || '(' || (select string_agg(c.arguments[k] || ' => ' || c.arguments[k + 1], ', ') from generate_series(1, cardinality(c.arguments), 2) as k) || ')') <> 'done' then
			raise warning '% is not good', c.function;
		end if;
		for i in 1 .. cardinality(c.arguments) by 2 loop
			for v in select * from variations where kind = kind_of(c.function, c.arguments[i]) order by n loop
				call := '';
				for j in 1 .. cardinality(c.arguments) by 2 loop
					part := case when j <> i then c.arguments[j + 1]
						-- Of overloaded functions the type has to be said.
						when c.arguments[j + 1] ~ '::\w+(\[\])?$' and v.value !~ '::' then v.value || substring(c.arguments[j + 1] from '::\w+(?:\[\])?$')
						else v.value end;
					call := concat_ws(', ', nullif(call, ''), c.arguments[j] || ' => ' || part);
				end loop;
				insert into outcomes values (c.function, c.arguments[i], v.n, v.value, outcome_of(c.function || '(' || call || ')'));
			end loop;
		end loop;
	end loop;
end $$;

\pset format unaligned
\pset tuples_only on
select function || '.' || argument || ': ' || string_agg(outcome || ' ' || list, '; ' order by first)
from (
	select function, argument, outcome, string_agg(value, ' ' order by n) as list, min(n) as first
	from outcomes
	group by function, argument, outcome
) as o
group by function, argument
order by (select n from calls as c where c.function = o.function), min(array_position((select arguments from calls as c where c.function = o.function), argument));
\pset tuples_only off
select queue_drop('jobs');
drop schema test_argument_table cascade;
select mutex_release('test'), throttle_drop('test');
