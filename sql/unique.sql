-- queue_unique_insert, queue_unique_insert_many, queue_unique_key.
set client_min_messages = warning;
create schema test_unique;
set search_path = test_unique, public;
select queue_create('jobs', max_attempts => 7);

-- The whole payload, by value: spaces, the order of keys, and zeros do not matter.
select id, inserted from queue_unique_insert('jobs', '{"to": "ada", "n": 1}');
select id, inserted from queue_unique_insert('jobs', '{"n":1.00,"to":"ada"}');
select id, inserted from queue_unique_insert('jobs', '{"n": "1", "to": "ada"}');
select id, inserted from queue_unique_insert('jobs', '1');
select id, inserted from queue_unique_insert('jobs', '1.0');
select id, inserted from queue_unique_insert('jobs', '"1"');
select id, inserted from queue_unique_insert('jobs', '[1]');
select id, inserted from queue_unique_insert('jobs', 'null');
select id, inserted from queue_unique_insert('jobs', 'null');
select id, payload, priority, max_attempts, unique_key is not null as has_key from jobs order by id;

-- Only those that came so are compared.
select queue_send('jobs', '{"plain": true}');
insert into jobs (payload) values ('{"plain": true}');
select id, inserted from queue_unique_insert('jobs', '{"plain": true}');
select count(*) filter (where unique_key is null) as without_key, count(*) as rows from jobs where payload ? 'plain';

-- By keys of the payload: a key that is not there differs from null.
select queue_purge('jobs');
select inserted from queue_unique_insert('jobs', '{"to": "ada", "n": 1}', '{to}');
select inserted from queue_unique_insert('jobs', '{"to": "ada", "n": 2}', '{to}');
select inserted from queue_unique_insert('jobs', '{"to": "bob", "n": 2}', '{to}');
select inserted from queue_unique_insert('jobs', '{"to": null}', '{to}');
select inserted from queue_unique_insert('jobs', '{"n": 1, "x": 1}', '{to,n}');
select inserted from queue_unique_insert('jobs', '{"n": 1}', '{to,n}');
-- Another set of keys is another question; their order and number are not.
select inserted from queue_unique_insert('jobs', '{"to": "ada", "n": 1}', '{n,to}');
select inserted from queue_unique_insert('jobs', '{"n": 1.0, "to": "ada", "x": 1}', '{to,n,to}');
select inserted from queue_unique_insert('jobs', '{"to": "ada", "n": 1}');
-- One in the queue, whatever its payload.
select inserted from queue_unique_insert('jobs', '{"to": "ada"}', '{}');
select inserted from queue_unique_insert('jobs', '"something else"', '{}');

-- All of queue_send's options.
select queue_purge('jobs');
select inserted from queue_unique_insert(
	queue => 'jobs',
	payload => '"all arguments"',
	unique_by => null,
	period => '1 hour',
	states => '{ready,done}',
	priority => -5,
	run_at => '2001-01-01 00:30:00+00',
	max_attempts => 2
);
select payload, priority, run_at = '2001-01-01 00:30:00+00' as run_at, max_attempts, unique_key from jobs;

-- States: which jobs there are in the way of a new one.
select queue_purge('jobs'), queue_purge('jobs', 'done') > 0 as forgotten;
create function is_free(states text[]) returns boolean language plpgsql as $$
declare
	result boolean;
begin
	select inserted into result from queue_unique_insert('jobs', '"job"', states => is_free.states);
	raise exception using message = result, errcode = 'UX001';
exception when sqlstate 'UX001' then
	return result;
end $$;
create function free_states() returns text language sql as $$
	select coalesce(string_agg(state, ' ' order by n) filter (where is_free(array[state])), 'none')
	       || ' of all, ' || case when is_free(null) then 'free' else 'taken' end || ' by default'
	from unnest(array['ready', 'scheduled', 'leased', 'dead', 'done']) with ordinality as s(state, n)
$$;
select free_states();
select id as job from queue_unique_insert('jobs', '"job"', states => '{ready,scheduled,leased,dead,done}') \gset
select 'ready', free_states();
update jobs set run_at = now() + interval '1 hour';
select 'scheduled', free_states();
update jobs set run_at = now() - interval '1 hour';
select count(*) as popped from queue_pop('jobs');
select 'leased', free_states();
select queue_fail('jobs', :job, 1, retry_in => '0 s');
update jobs set dead_at = now() - interval '1 hour';
select 'dead', free_states();
select queue_requeue('jobs', :job);
select 'ready again', free_states();
select queue_cancel('jobs', :job);
select 'done', free_states();
select (u).id = :job as same, (u).inserted from queue_unique_insert('jobs', '"job"', states => '{done}') as u;
-- One that did not ask is not remembered.
select inserted from queue_unique_insert('jobs', '"other"');
delete from jobs;
select inserted from queue_unique_insert('jobs', '"other"', states => '{done}');
select inserted from queue_unique_insert('jobs', '"other"', states => '{done}');

-- A period: buckets begin on a Monday, midnight UTC.
select queue_purge('jobs'), queue_purge('jobs', 'done') > 0 as forgotten;
create table asked as
select n, moment, u.id, u.inserted
from (values (1, timestamptz '2026-01-05 00:00:00+00'), (2, '2026-01-11 23:59:59.999999+00'), (3, '2026-01-12 00:00:00+00'),
             (4, '2026-01-04 23:59:59.999999+00'), (5, '1999-12-27 00:00:00+00'), (6, '1999-12-26 23:59:59+00'),
             (7, 'infinity'), (8, 'infinity'), (9, '-infinity')) as m(n, moment),
     queue_unique_insert('jobs', '"weekly"', period => '7 days', run_at => moment) as u;
select n, inserted, first_value(n) over (partition by id order by n) as same_as from asked order by n;
-- It holds after the job was done, and its row gone.
select count(*) as popped from queue_pop('jobs', 10);
select count(*) as completed from jobs, queue_complete('jobs', id, attempt) where attempt = 1;
delete from jobs;
select n, u.id = asked.id as same, u.inserted
from asked, queue_unique_insert('jobs', '"weekly"', period => '7 days', run_at => moment) as u
order by n;
-- Not if the caller does not count the done; nor with another period.
select inserted from queue_unique_insert('jobs', '"weekly"', period => '7 days', run_at => '2026-01-05', states => '{ready}');
select inserted from queue_unique_insert('jobs', '"weekly"', period => '8 days', run_at => '2026-01-05');
select inserted from queue_unique_insert('jobs', '"weekly"');
-- Without run_at the clock decides.
select inserted from queue_unique_insert('jobs', '"daily"', period => '1 day') union all
select inserted from queue_unique_insert('jobs', '"daily"', period => '1 day', run_at => now()) union all
select inserted from queue_unique_insert('jobs', '"daily"', period => '1 day', run_at => now() + interval '1 day');

-- Of the call, not of the transaction's start.
begin;
select queue_unique_key('jobs', '"now"', period => '1 second') as key \gset
select inserted from queue_unique_insert('jobs', '"now"', period => '1 second');
select pg_sleep(1.1);
select queue_unique_key('jobs', '"now"', period => '1 second') <> :'key' as is_another;
select inserted from queue_unique_insert('jobs', '"now"', period => '1 second');
rollback;

-- Many: in the order of the array; the first of equal ones wins.
select queue_purge('jobs'), queue_purge('jobs', 'done') > 0 as forgotten;
select inserted from queue_unique_insert('jobs', '"b"');
select ordinality as place, inserted, first_value(ordinality) over (partition by id order by ordinality) as same_as
from queue_unique_insert_many('jobs', array['"a"', '"b"', '"c"', '"a"', '1', '1.0', '"c"']::jsonb[])
	with ordinality
order by place;
select payload from jobs order by id;
select count(*) as jobs from jobs;
select count(*) as rows, count(*) filter (where inserted) as inserted
from queue_unique_insert_many('jobs', '[3:5]={1,2,3}', '{}');
select id, inserted from queue_unique_insert_many('jobs', '{}');
select inserted from queue_unique_insert_many(
	queue => 'jobs', payloads => '{"{\"k\": 1, \"v\": 1}", "{\"k\": 1, \"v\": 2}"}', unique_by => '{k}', period => '1 hour',
	states => '{ready,done}', priority => 3, run_at => '2001-01-01 00:30:00+00', max_attempts => 4
);
select payload, priority, run_at = '2001-01-01 00:30:00+00' as run_at, max_attempts from jobs where priority = 3;
-- More keys than there are locks for.
select count(*) as rows, count(*) filter (where inserted) as inserted, count(distinct id) as ids
from queue_unique_insert_many('jobs', array(select to_jsonb(i % 3000) from generate_series(1, 9000) as i));
select count(*) as rows, count(*) filter (where inserted) as inserted
from queue_unique_insert_many('jobs', array(select to_jsonb(i % 4000) from generate_series(1, 9000) as i), period => '1 day');
select count(*) as rows, count(*) filter (where inserted) as inserted
from queue_unique_insert_many('jobs', array(select to_jsonb(i % 4000) from generate_series(1, 9000) as i), period => '1 day');

-- A key that the hash does not tell apart: the values are compared.
select queue_purge('jobs'), queue_purge('jobs', 'done') > 0 as forgotten;
select inserted from queue_unique_insert('jobs', '"a"');
update jobs set payload = '"changed"';
select inserted from queue_unique_insert('jobs', '"a"');
select count(distinct unique_key) as keys, count(*) as jobs from jobs;

-- In functions, in one statement, after a rollback to a savepoint.
select queue_purge('jobs');
select count(*) filter (where inserted) as inserted
from generate_series(1, 5) as i, queue_unique_insert('jobs', to_jsonb(i % 2)) as u;
begin;
savepoint s;
select inserted from queue_unique_insert('jobs', '"in a savepoint"', period => '1 day');
rollback to s;
select inserted from queue_unique_insert('jobs', '"in a savepoint"', period => '1 day');
select inserted from queue_unique_insert('jobs', '"in a savepoint"', period => '1 day');
rollback;
do $$
begin
	perform queue_unique_insert('jobs', '"in a block"');
	perform queue_unique_insert('jobs', '"in a block"');
end $$;
select count(*) as jobs from jobs where payload = '"in a block"';

-- At every isolation level.
begin isolation level repeatable read;
select inserted from queue_unique_insert('jobs', '"level"', period => '1 day');
select inserted from queue_unique_insert('jobs', '"level"', period => '1 day');
rollback;
begin isolation level serializable;
select inserted from queue_unique_insert('jobs', '"level"', period => '1 day');
select inserted from queue_unique_insert('jobs', '"level"', period => '1 day');
select inserted from queue_unique_insert_many('jobs', '{1,2}', states => '{ready,done}');
rollback;

-- The locks: of the stripe and of the key.
create view held as
select ((classid::bigint << 32) | objid::bigint) as key, mode
from pg_locks where locktype = 'advisory' and objsubid = 1 and pid = pg_backend_pid();
begin;
select inserted from queue_unique_insert('jobs', '{"to": "ada"}', '{to}', '1 hour', run_at => '2026-01-05 10:20:00+00');
with name as (
	select queue_unique_key('jobs', '{"to": "ada"}', '{to}', '1 hour', '2026-01-05 10:20:00+00') as key
)
select mode, 'key' as lock from held, name where held.key = fnv_lock_key(name.key)
union all
select mode, 'stripe' from held, name
where held.key = fnv_lock_key('unique_stripe|queue=test_unique.jobs|' || (fnv1_32(name.key) & 255));
select count(*) as held from held;
commit;
begin;
select count(*) as called from queue_unique_insert_many('jobs', array(select to_jsonb(i) from generate_series(1, 256) as i));
select mode, count(*) <= 256 as at_most from held group by mode order by mode;
rollback;
begin;
select count(*) as called from queue_unique_insert_many('jobs', array(select to_jsonb(i) from generate_series(1, 40000) as i));
select mode, count(*) <= 256 as at_most from held group by mode;
rollback;
-- With a prefix.
begin;
set local queue_ext.advisory_lock_prefix = 7;
select inserted from queue_unique_insert('jobs', '"prefix"');
select count(*) as with_prefix from held where key >> 32 = 7;
select count(*) as found from held where key = fnv_lock_key(queue_unique_key('jobs', '"prefix"'), 7);
rollback;

-- The key as text.
create schema "Odd ""Schema";
select queue_create('"Odd ""Schema"."Queue 1"');
select queue_unique_key('jobs', '{"b": 1.50, "aa": ["x\u0001y", null, {"z": {}}, []], "c": "\"\\/é"}');
select queue_unique_key('jobs', '{"b": 1.50, "aa": 1, "c": 2}', '{zz,b,aa,b}');
select queue_unique_key('jobs', '"x"', '{}', '1 hour', '2026-01-05 10:20:00+00');
select queue_unique_key('jobs', '100.10', null, '0.25 s', '1969-12-31 23:59:59.9+00');
select queue_unique_key('jobs', 'true', null, '1 day 01:00:00', '2026-01-05 10:20:00+00');
select queue_unique_key('jobs', '1', null, '1 hour', 'infinity');
select queue_unique_key('"Odd ""Schema"."Queue 1"', '{"k,|": 1e3}', array['k,|']);
-- It does not depend on settings.
set timezone = 'Asia/Tokyo';
set datestyle = 'German';
set intervalstyle = 'sql_standard';
set quote_all_identifiers = on;
set extra_float_digits = -15;
select queue_unique_key('jobs', '{"t": 1.10}', '{t}', '90 minutes', '2026-01-05 10:20:00+00'::timestamptz);
reset all;
set client_min_messages = warning;
set search_path = test_unique, public;
select queue_drop('"Odd ""Schema"."Queue 1"');
drop schema "Odd ""Schema";

-- What is remembered: expired rows go, those of dropped queues, too.
select queue_purge('jobs'), queue_purge('jobs', 'done') >= 0 as forgotten;
select inserted from queue_unique_insert('jobs', '"past"', period => '1 second', run_at => '2001-01-01');
select inserted from queue_unique_insert('jobs', '"kept"', states => '{done}');
select count(*) as remembered, count(*) filter (where expires_at > now() + interval '9 minutes') as for_a_while
from queue_unique_job where source = 'jobs'::regclass;
update queue_unique_job set expires_at = now() - interval '1 second' where expires_at < 'infinity';
select queue_purge('jobs', 'dead');
select count(*) as remembered from queue_unique_job where source = 'jobs'::regclass;
select queue_create('gone');
select inserted from queue_unique_insert('gone', '1', states => '{done}');
select queue_drop('gone');
select queue_create('gone');
select inserted from queue_unique_insert('gone', '1', states => '{done}');
drop table gone;
select queue_create('gone');
select count(*) as remembered from queue_unique_job;
select inserted from queue_unique_insert('gone', '1', states => '{done}');
select queue_detach('gone');
select count(*) as remembered from queue_unique_job;

-- With a trigger that swallows rows.
create function swallow() returns trigger language plpgsql as 'begin if new.payload = ''"no"'' then return null; end if; return new; end';
create trigger swallow before insert on jobs for each row execute function swallow();
select id is null as no_id, inserted from queue_unique_insert('jobs', '"no"', period => '1 day');
select id is null as no_id, inserted
from queue_unique_insert_many('jobs', '{"\"no\"", "\"yes\"", "\"no\"", "\"yes\""}', states => '{ready,done}');
drop trigger swallow on jobs;

-- Children inherit: they are looked at, too.
create table children () inherits (jobs);
insert into children (id, payload, unique_key) select 1000, payload, unique_key from jobs where payload = '"yes"';
delete from only jobs;
select id, inserted from queue_unique_insert('jobs', '"yes"');
drop table children;
-- Columns of other types are read as what they can be cast to, or not at all.
alter table jobs alter id type integer;
select inserted from queue_unique_insert('jobs', '"yes"');
select inserted from queue_unique_insert('jobs', '"yes"');
alter table jobs alter id type bigint;
-- Without its index it is slower, not wrong.
drop index jobs_unique_key_idx;
select inserted from queue_unique_insert('jobs', '"slow"');
select inserted from queue_unique_insert('jobs', '"slow"');
-- Nor is an index taken for it that does not have all keys.
select queue_create('partly') \g /dev/null
drop index partly_unique_key_idx;
create index on partly (unique_key) where leased_by is not null;
select inserted from queue_unique_insert('partly', '1');
select inserted from queue_unique_insert('partly', '1');

-- Bad input.
\set VERBOSITY sqlstate
select queue_unique_insert(null, '1');
select queue_unique_insert('jobs', null);
select queue_unique_insert('no_such_queue', '1');
select queue_unique_insert('jobs', '1', array['a', null]);
select queue_unique_insert('jobs', '{}', '{{a},{b}}');
select queue_unique_insert('jobs', '1', '{a}');
select queue_unique_insert('jobs', '[]', '{a}');
select queue_unique_insert('jobs', '{}', array[repeat('a', 1001)]);
select queue_unique_insert('jobs', '1', period => '0');
select queue_unique_insert('jobs', '1', period => '-1 hour');
select queue_unique_insert('jobs', '1', period => '1 month');
select queue_unique_insert('jobs', '1', period => '1 year');
select queue_unique_insert('jobs', '1', period => '200000000 days');
select queue_unique_insert('jobs', '1', states => '{}');
select queue_unique_insert('jobs', '1', states => '{ready,unready}');
select queue_unique_insert('jobs', '1', states => array['ready', null]);
select queue_unique_insert('jobs', '1', states => '{{ready},{dead}}');
select queue_unique_insert('jobs', '1', priority => null);
select queue_unique_insert('jobs', '1', priority => 32768);
select queue_unique_insert('jobs', '1', max_attempts => 0);
select queue_unique_insert_many(null, '{1}');
select queue_unique_insert_many('jobs', null);
select queue_unique_insert_many('jobs', array['1', null]::jsonb[]);
select queue_unique_insert_many('jobs', '{{1},{2}}');
select queue_unique_insert_many('jobs', '{"{}",1}', '{a}');
select queue_unique_insert_many('no_such_queue', '{1}');
select queue_unique_key(null, '1');
select queue_unique_key('jobs', null);
select queue_unique_key('no_such_queue', '1');
create table own (id integer primary key, state text);
create index on own (id) where state is null;
select queue_attach('own', 'own', 'state is null', on_claim => 'state = ''taken''', order_by => 'id');
select queue_unique_insert('own', '1');
select queue_unique_insert_many('own', '{1}');
select queue_unique_key('own', '1');
begin read only;
select queue_unique_insert('jobs', '1');
rollback;
begin read only;
select queue_unique_insert_many('jobs', '{1}');
rollback;
\set VERBOSITY default
select queue_unique_insert('jobs', '1', period => '1 month');
select queue_unique_insert('jobs', '1', states => '{ready,unready}');
select queue_unique_insert('jobs', '1', states => '{}');
select queue_unique_insert('jobs', '1', '{a}');

-- Privileges are those of SELECT and INSERT; row security hides rows.
create role regress_unique_sender;
grant usage on schema test_unique to regress_unique_sender;
set role regress_unique_sender;
\set VERBOSITY sqlstate
select queue_unique_insert('jobs', '"slow"');
reset role;
grant insert on jobs to regress_unique_sender;
set role regress_unique_sender;
select queue_unique_insert('jobs', '"slow"');
select queue_unique_insert('jobs', '"new"');
select queue_purge('jobs', 'done');
reset role;
grant select on jobs to regress_unique_sender;
set role regress_unique_sender;
select inserted from queue_unique_insert('jobs', '"slow"');
select inserted from queue_unique_insert('jobs', '"new"', states => '{ready,done}');
select count(*) from queue_unique_job;
set queue_ext.advisory_lock_prefix = 1;
-- Of the columns that are looked at is enough.
reset role;
revoke select on jobs from regress_unique_sender;
grant select (id, run_at, leased_until, dead_at, payload, unique_key) on jobs to regress_unique_sender;
set role regress_unique_sender;
select inserted from queue_unique_insert('jobs', '"slow"');
select inserted from queue_unique_insert('jobs', '"by columns"', period => '1 day');
select inserted from queue_unique_insert_many('jobs', '{"\"by columns\"", "\"slow\""}', period => '1 day');
begin isolation level repeatable read;
select inserted from queue_unique_insert('jobs', '"by columns"', period => '1 day');
rollback;
reset role;
revoke select (payload) on jobs from regress_unique_sender;
set role regress_unique_sender;
select inserted from queue_unique_insert('jobs', '"slow"');
reset role;
grant select on jobs to regress_unique_sender;
revoke insert on jobs from regress_unique_sender;
set role regress_unique_sender;
select inserted from queue_unique_insert('jobs', '"slow"');
select inserted from queue_unique_insert('jobs', '"another"');
reset role;
grant insert on jobs to regress_unique_sender;
alter table jobs enable row level security;
create policy senders on jobs to regress_unique_sender using (payload = '"mine"') with check (true);
set role regress_unique_sender;
select inserted from queue_unique_insert('jobs', '"mine"');
select inserted from queue_unique_insert('jobs', '"mine"');
select inserted from queue_unique_insert('jobs', '"mine"', states => '{done}');
select inserted from queue_unique_insert('jobs', '"mine"', period => '1 day');
reset role;
alter table jobs disable row level security;
drop owned by regress_unique_sender;
drop role regress_unique_sender;

-- A queue that was found empty knows of new jobs at once, however they are inserted.
select queue_create('idle') \g /dev/null
select count(*) as popped from queue_pop('idle');
select inserted from queue_unique_insert('idle', '1', priority => 5, max_attempts => 2);
select payload, priority, max_attempts from queue_pop('idle');
select count(*) as popped from queue_pop('idle');
select inserted from queue_unique_insert_many('idle', '{1, 2, 3, 2}');
select payload from queue_pop('idle', max_jobs => 3);
create function untouched() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger untouched before insert on idle for each row execute function untouched();
select inserted from queue_unique_insert('idle', '4');
select payload from queue_pop('idle');
select inserted from queue_unique_insert_many('idle', '{4, 5, 6}');
select payload from queue_pop('idle', max_jobs => 3);
select count(unique_key) as keyed, count(distinct unique_key) as keys from idle;

-- What is remembered of a done job is remembered for its criteria: another period is another
-- job, also where keys tell jobs apart.
select queue_create('periods');
select inserted from queue_unique_insert('periods', '{"a": 1}', unique_by => '{a}', period => '1000 days', states => '{ready,done}');
select queue_complete('periods', id, attempt) from queue_pop('periods');
select inserted from queue_unique_insert('periods', '{"a": 1}', unique_by => '{a}', period => '1000 days', states => '{ready,done}');
select inserted from queue_unique_insert('periods', '{"a": 1}', unique_by => '{a}', period => '2000 days', states => '{ready,done}');
select queue_complete('periods', id, attempt) from queue_pop('periods');
select inserted from queue_unique_insert('periods', '{"a": 1}', unique_by => '{a}', states => '{ready,done}');

drop schema test_unique cascade;
