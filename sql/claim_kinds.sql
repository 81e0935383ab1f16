-- Workers that name the kinds of jobs they take, by each path.
set client_min_messages = warning;
create schema test_claim_kinds;
set search_path = test_claim_kinds, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	detail text;
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics detail = pg_exception_detail, hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(detail, ''), nullif(hint, ''));
end $$;
create view indexes as
select tablename, regexp_replace(indexdef, 'INDEX ("[^"]+"|\S+)', 'INDEX') as index
from pg_indexes where schemaname = 'test_claim_kinds' and indexdef like '%(kind%' order by 1, 2;

-- The index.
select queue_create('jobs', kinds => true, lease => '1 hour');
select queue_create('plain', kinds => false);
table indexes;
select error_of($$select queue_pop('plain', kinds => '{a}')$$);
select error_of($$select queue_complete_pop('plain', null, null, kinds => '{a}')$$);
\set VERBOSITY sqlstate
call queue_wait('plain', '0', kinds => '{a}');
call queue_pop_wait('plain', '0', kinds => '{a}');
\set VERBOSITY default
select queue_alter('plain', kinds => null);
select queue_alter('plain', kinds => true);
select queue_alter('plain', kinds => true);
table indexes;
select queue_pop('plain', kinds => '{a}');
select queue_alter('plain', kinds => false);
select queue_alter('plain', kinds => false);
table indexes;
select error_of($$select queue_pop('plain', kinds => '{a}')$$);
-- One that the owner makes, without a lock that keeps senders out, will do.
create index by_kind on plain (kind, priority, run_at, id) where dead_at is null;
select queue_pop('plain', kinds => '{a}');
-- Others will not: of all jobs, in another order, of other columns.
drop index by_kind;
create index on plain (kind, priority, run_at, id);
create index on plain (kind, priority desc, run_at, id) where dead_at is null;
create index on plain (kind, run_at, id) where dead_at is null;
select error_of($$select queue_pop('plain', kinds => '{a}')$$);

-- What they take, in the order of the queue.
create procedure fill() language sql as $$
	delete from jobs;
	alter sequence jobs_id_seq restart;
	insert into jobs (payload, kind, priority, run_at) values
		('1', 'a', 0, '2001-01-01'), ('2', 'b', 0, '2001-01-02'), ('3', null, 0, '2001-01-03'), ('4', 'c', 0, '2001-01-04'),
		('5', 'a', -1, '2001-01-05'), ('6', 'b', -1, '2001-01-06'), ('7', '', -2, '2001-01-07'), ('8', 'a', 1, '2001-01-08'),
		('9', 'a', 0, 'infinity'), ('10', 'A', 0, '2001-01-10'), ('11', 'a ', 0, '2001-01-11');
$$;
create function popped(kinds text[], max_jobs integer default 1) returns text language sql as
	$$ select string_agg(payload || coalesce(j.kind, '-'), ' ') from queue_pop('jobs', popped.max_jobs, kinds => popped.kinds) as j $$;
call fill();
select popped('{a}'), popped('{b}', 9), popped('{a}', 2), popped('{c,none}'), popped('{none}'), popped('{a}', 9), popped('{A}'), popped(null, 9);
call fill();
select popped('{c,b,a}', 4), popped('{a,b,c,d,e}', 4), popped('{a,b,c}');
call fill();
select popped('{a,a,a}', 2), popped('[7:8]={a,b}', 2), popped(array['a ']), popped(array_fill('none'::text, array[63]) || 'a'::text, 9);
set queue_ext.claim_path = tid;
call fill();
select popped('{a}'), popped('{b}', 9), popped('{a}', 2), popped('{c,none}'), popped('{none}'), popped('{a}', 9), popped('{A}'), popped(null, 9);
call fill();
select popped('{c,b,a}', 4), popped('{a,b,c,d,e}', 4), popped('{a,b,c}');
set queue_ext.claim_path = portable;
call fill();
select popped('{a}'), popped('{b}', 9), popped('{a}', 2), popped('{c,none}'), popped('{none}'), popped('{a}', 9), popped('{A}'), popped(null, 9);
call fill();
select popped('{c,b,a}', 4), popped('{a,b,c,d,e}', 4), popped('{a,b,c}');
reset queue_ext.claim_path;

-- Whatever makes a job claimable, the workers of its kind find it, and others do not. Their rings have found nothing before.
delete from jobs;
select popped('{a}'), popped('{b}'), popped('{a,b}'), popped('{z}'), popped(null);
select queue_send('jobs', '"sent"', kind => 'a') is not null as sent;
select popped('{b}'), popped('{a}'), popped('{a}');
select count(*) as sent from queue_send_many('jobs', array(select to_jsonb(n) from generate_series(1, 3) as n), kind => 'a');
select popped('{b}'), popped('{a,b}', 2), popped('{a}'), popped('{a,b}');
select inserted from queue_unique_insert('jobs', '"unique"', kind => 'b');
select popped('{a}'), popped('{b}'), popped('{b}');
insert into jobs (payload, kind) values ('"inserted"', 'a');
select popped('{b}'), popped('{a,b}'), popped('{a,b}');
copy jobs (payload, kind) from stdin;
"copied"	b
\.
select popped('{a}'), popped('{b}'), popped('{b}');
select count(queue_release('jobs', id, attempt)) from jobs where payload = '"sent"';
select popped('{b}'), popped('{a}'), popped('{a}');
select count(queue_fail('jobs', id, attempt, retry_in => '0')) from jobs where payload = '"unique"';
select popped('{a}'), popped('{b}'), popped('{b}');
update jobs set dead_at = '2001-01-01' where payload = '"unique"';
select count(queue_requeue('jobs', id)) from jobs where payload = '"unique"';
select popped('{a}'), popped('{b}'), popped('{b}');
update jobs set kind = 'b', leased_until = null where payload = '"sent"';
select popped('{a}'), popped('{b}'), popped('{b}');
-- By the clock, in the rings that did not claim it, too.
select count(queue_extend('jobs', id, attempt, '1 microsecond')) from jobs where payload = '"sent"';
select popped('{a}'), popped('{a,b}'), popped('{b}');
select queue_send('jobs', '"later"', run_at => clock_timestamp() + '5 s', kind => 'a') is not null as sent \; select popped('{a}'), popped('{b}');
select pg_sleep(5.1);
select popped('{b}'), popped('{a}'), popped('{a}');
-- By the end of a lease, of a job that the others have never heard of.
select popped('{a}'), popped('{a,b}');
begin;
select queue_send('jobs', '"own"', kind => 'a') is not null as sent;
select payload from queue_pop('jobs', lease => '20 ms');
commit;
select pg_sleep(0.1);
select popped('{a}');
-- By a rollback, of a claim by a worker that takes all, and by one that takes more.
select queue_send('jobs', '"back"', kind => 'a') is not null as sent;
begin;
select popped(null);
rollback;
select popped('{a}');
select count(queue_release('jobs', id, attempt)) from jobs where payload = '"back"';
begin;
savepoint s;
select popped('{a,b}');
rollback to s;
select popped('{b}'), popped('{a}');
commit;
select popped(null), popped('{a}');
-- A worker that names its kinds leaves the others' in place.
select queue_send('jobs', '"of no kind"') is not null as sent;
select popped('{a,b,z}'), popped(null);

-- More jobs of other kinds than a fill reads, in front and between.
delete from jobs;
insert into jobs (payload, kind, priority) select to_jsonb(n), case when n % 1000 = 0 then 'rare' else 'common' end, n / 500 from generate_series(1, 5000) as n;
select popped('{rare}', 3), popped('{rare,none}', 9), popped('{rare}');
update jobs set leased_until = null where kind = 'rare';
select count(*), min(payload::integer), max(payload::integer) from queue_pop('jobs', 700, kinds => '{common}');
select popped('{rare,common}', 3);
-- Not more is read for them than there is.
create function reads_few(kinds text[], queue text default 'jobs') returns boolean language plpgsql as $$
declare
	before bigint := (select idx_tup_fetch + seq_tup_read from pg_stat_xact_user_tables where relid = queue::regclass);
begin
	perform queue_pop(queue, 2, kinds => kinds);
	return (select idx_tup_fetch + seq_tup_read from pg_stat_xact_user_tables where relid = queue::regclass) - before < 1200;
end $$;
insert into jobs (payload, kind, priority) select to_jsonb(n), 'kind ' || n % 30, 100 from generate_series(1, 9000) as n;
insert into jobs (payload, kind, priority) select to_jsonb(n), 'last', 200 from generate_series(1, 600) as n;
analyze jobs;
set queue_ext.claim_path = auto;
select reads_few('{last}'), reads_few('{last,kind 1,kind 2,kind 3}'), reads_few(array(select 'kind ' || n from generate_series(1, 30) as n));
reset queue_ext.claim_path;
-- Nor where the planner believes that there is but one kind, so that any index would do.
select queue_create('single', kinds => true);
insert into single (payload, kind) select to_jsonb(n), 'first' from generate_series(1, 5000) as n;
analyze single;
insert into single (payload, kind, priority) select to_jsonb(n), 'last', 1 from generate_series(1, 600) as n;
set queue_ext.claim_path = auto;
select reads_few('{last}', 'single'), reads_few('{last,none}', 'single');
set queue_ext.claim_path = portable;
select reads_few('{last}', 'single');
reset queue_ext.claim_path;
-- More kinds than there are rings.
select count(popped(array['kind ' || n % 30, 'x' || n])) from generate_series(1, 200) as n;
select count(*) from queue_pop('jobs', 10000, kinds => array(select 'kind ' || n from generate_series(0, 29) as n));
select popped('{kind 1}'), popped('{kind 29,kind 7}');

-- Where row security applies, and by a trigger on UPDATE, claims are by TID.
delete from jobs;
create role regress_claim_kinds;
grant usage on schema test_claim_kinds to regress_claim_kinds;
grant select, update, insert on jobs to regress_claim_kinds;
grant usage on jobs_id_seq to regress_claim_kinds;
alter table jobs enable row level security;
create policy odd on jobs to regress_claim_kinds using (id % 2 = 1);
insert into jobs (id, payload, kind) overriding system value select n, to_jsonb(n), case when n < 5 then 'a' else 'b' end from generate_series(1, 8) as n;
set role regress_claim_kinds;
select popped('{a}', 9), popped('{b}', 1), popped('{a,b}', 9), popped(null, 9);
reset role;
select popped('{b}', 9), popped(null, 9);
alter table jobs disable row level security;
update jobs set leased_until = null;
create function note() returns trigger language plpgsql as 'begin return new; end';
create trigger note before update on jobs for each row execute function note();
select popped('{a}', 9), popped('{b}', 1), popped('{c}'), popped('{a,b}', 9), popped(null, 9);
drop trigger note on jobs;

-- A paused queue. Waiting.
update jobs set leased_until = null;
select queue_pause('jobs');
select popped('{a}'), completed, payload from queue_complete_pop('jobs', null, null, kinds => '{a}');
select queue_resume('jobs');
select completed, payload, kind from queue_complete_pop('jobs', null, null, kinds => '{b}');
call queue_wait('jobs', '1 hour', '{a,b}');
call queue_wait('jobs', '10 ms', '{c}');
call queue_pop_wait('jobs', '0', lease => '1 hour', kinds => '{a}') \gset
\echo :payload :kind
call queue_pop_wait('jobs', '10 ms', kinds => '{c}') \gset
\echo :{?payload} :{?kind}
set queue_ext.claim_path = portable;
call queue_wait('jobs', '1 hour', '{a,b}');
call queue_wait('jobs', '10 ms', '{c}');
call queue_pop_wait('jobs', '1 hour', lease => '1 hour', kinds => '{a}') \gset
\echo :payload :kind
reset queue_ext.claim_path;

-- Bad input.
select error_of($$select queue_pop('jobs', kinds => '{}')$$);
select error_of($$select queue_pop('jobs', kinds => '{a,NULL}')$$);
select error_of($$select queue_pop('jobs', kinds => '{{a},{b}}')$$);
select error_of($$select queue_pop('jobs', kinds => array[''])$$);
select error_of($$select queue_pop('jobs', kinds => array[repeat('k', 256)])$$);
select error_of($$select queue_pop('jobs', kinds => array(select n::text from generate_series(1, 65) as n))$$);
select error_of($$select queue_complete_pop('jobs', null, null, kinds => '{}')$$);
select error_of($$call queue_wait('jobs', '0', kinds => '{}')$$);
select error_of($$select queue_create('other', kinds => null)$$);
create table t (id integer primary key, kind text);
create index on t (id) where kind is not null;
select queue_attach('t', 't', 'kind is not null', 'id', 'kind = null');
\set VERBOSITY sqlstate
call queue_wait('t', '0', kinds => '{a}');
\set VERBOSITY default
select error_of($$select queue_alter('t', kinds => true)$$);
\getenv source_directory PG_ABS_SRCDIR
\set layout :source_directory /test/layouts/queue_0_1.sql
\set ECHO none
\set queue old
\i :layout
\set ECHO all
select queue_adopt('old');
select error_of($$select queue_pop('old', kinds => '{a}')$$);
select error_of($$select queue_alter('old', kinds => true)$$);
create index on old (lower(leased_by) collate "C", priority, run_at, id) where dead_at is null;
select queue_alter('old', kinds => false);
select count(*) from pg_indexes where tablename = 'old' and indexdef like '%lower%';
select queue_upgrade('old');
select queue_alter('old', kinds => true);
select queue_pop('old', kinds => '{a}');

-- The statistics of the queue are those of all its jobs, whoever reads some of them.
set queue_ext.claim_path = auto;
select queue_pop('old');
select queue_send_many('old', '{1,2}', kind => 'a') is not null as sent;
select queue_send('old', '3', run_at => '2001-01-01') is not null as sent;
select count(*) from queue_pop('old', kinds => '{a}');
select ready, leased, oldest_ready_at = '2001-01-01' as oldest from queue_stats where source = 'old'::regclass;
-- Where nothing has been counted yet, a pop of some kinds leaves it unknown how many are ready, and one of all that finds none counts.
select queue_create('later', kinds => true);
select queue_send_many('later', '{1,2}', kind => 'a') is not null as sent;
select queue_detach('later');
select queue_adopt('later');
select count(*) from queue_pop('later');
select ready, leased from queue_stats where source = 'later'::regclass;
select count(*) from queue_pop('later', kinds => '{a}');
select ready, leased from queue_stats where source = 'later'::regclass;
select count(*) from queue_pop('later', kinds => '{a}');
select ready, leased from queue_stats where source = 'later'::regclass;
select count(*) from queue_pop('later');
select ready, leased from queue_stats where source = 'later'::regclass;
reset queue_ext.claim_path;
-- The jobs of a queue that is adopted again: the index is the table's.
select queue_detach('old');
select queue_adopt('old');
select count(*) from queue_pop('old', kinds => '{a}');

-- Hints name the queue as it can be found from here.
select queue_alter('old', kinds => false);
reset search_path;
select error_of from test_claim_kinds.error_of($$select queue_pop('test_claim_kinds.old', kinds => '{a}')$$);
drop schema test_claim_kinds cascade;
drop role regress_claim_kinds;
