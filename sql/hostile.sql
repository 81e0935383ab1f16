-- A search path with traps in front of pg_catalog: none must be stepped on.
set client_min_messages = warning;
create schema test_hostile;
create schema test_hostile_evil;
select queue_create('test_hostile.jobs', archive => true);

set search_path = test_hostile_evil, pg_catalog;
create function trap() returns void language plpgsql as 'begin raise ''trapped''; end';
create procedure make_operator(name text, type text, second text, result text) language plpgsql as $$
begin
	execute format('create function %I(%s, %s) returns %s language plpgsql as %L',
		'trap_' || md5(name || type || second), type, second, result,
		'begin perform test_hostile_evil.trap(); return null; end');
	execute format('create operator test_hostile_evil.%s (leftarg = %s, rightarg = %s, function = %I)',
		name, type, second, 'trap_' || md5(name || type || second));
end $$;
do $$
declare
	type text;
	name text;
begin
	foreach type in array array['timestamptz', 'int2', 'int4', 'int8', 'text', 'oid', 'bool', 'jsonb', 'interval'] loop
		foreach name in array array['=', '<>', '<', '<=', '>', '>='] loop
			call test_hostile_evil.make_operator(name, type, type, 'bool');
		end loop;
	end loop;
	call test_hostile_evil.make_operator('=', 'int8', 'int4', 'bool');
	call test_hostile_evil.make_operator('=', 'regclass', 'oid', 'bool');
	call test_hostile_evil.make_operator('=', 'oid', 'regclass', 'bool');
	call test_hostile_evil.make_operator('+', 'int4', 'int4', 'int4');
	call test_hostile_evil.make_operator('-', 'int4', 'int4', 'int4');
	call test_hostile_evil.make_operator('+', 'timestamptz', 'interval', 'timestamptz');
	call test_hostile_evil.make_operator('-', 'timestamptz', 'timestamptz', 'interval');
end $$;
create function now() returns timestamptz language plpgsql as 'begin perform test_hostile_evil.trap(); end';
create function octet_length(text) returns integer language plpgsql as 'begin perform test_hostile_evil.trap(); end';
create function format(text, variadic "any") returns text language internal as 'text_format';
do $$
declare
	type text;
begin
	foreach type in array array['int8', 'int4', 'text', 'timestamptz', 'jsonb'] loop
		execute format('create function unnest(%s[]) returns setof %s language plpgsql as %L', type, type,
			'begin perform test_hostile_evil.trap(); end');
	end loop;
end $$;
create aggregate count(*) (sfunc = pg_catalog.int8inc, stype = int8, initcond = '1000');
create domain int8 as pg_catalog.int8 check (value operator(pg_catalog.<) 0);
create domain jsonb as pg_catalog.text;
create domain timestamptz as pg_catalog.text;
create table queue_definition (name text);
create table queues (queue text);
create table pg_class (oid oid);
create table pg_namespace (oid oid);
create table jobs (id pg_catalog.int8, payload pg_catalog.jsonb);
create table jobs_archive (id pg_catalog.int8);

-- The traps work.
\set VERBOSITY terse
select 1::pg_catalog.int4 + 1::pg_catalog.int4;
select now();
select unnest(array[1]);

-- Life of a job, then all the functions for queues.
select public.queue_send('test_hostile.jobs', '1');
select public.queue_send_many('test_hostile.jobs', '{2,3,4,5,6,7}');
select id, attempt from public.queue_pop('test_hostile.jobs', 6, worker => 'ada');
select public.queue_extend('test_hostile.jobs', 1, 1),
       public.queue_release('test_hostile.jobs', 1, 1),
       public.queue_fail('test_hostile.jobs', 2, 1, retry_in => '0'),
       public.queue_complete('test_hostile.jobs', 3, 1),
       public.queue_cancel('test_hostile.jobs', 7),
       public.queue_requeue('test_hostile.jobs', 1);
select public.queue_extend_many('test_hostile.jobs', '{4}', '{1}');
select public.queue_release_many('test_hostile.jobs', '{4}', '{1}');
select public.queue_fail_many('test_hostile.jobs', '{5}', '{1}', '{broken}', '0');
select public.queue_complete_many('test_hostile.jobs', '{6}', '{1}');
select public.queue_cancel_many('test_hostile.jobs', '{5}');
select public.queue_requeue_many('test_hostile.jobs', '{1}');
select * from public.queue_counts('test_hostile.jobs');
select public.queue_purge('test_hostile.jobs', 'ready');
select public.queue_alter('test_hostile.jobs', lease => '1 hour', max_attempts => 2, archive => false);
select public.queue_pause('test_hostile.jobs');
select public.queue_resume('test_hostile.jobs');
select public.queue_create('test_hostile.more', archive => true);
select public.queue_drop('test_hostile.more');
select queue, lease, max_attempts from public.queues;
select id, state from test_hostile.jobs_archive order by id;
select public.fnv1_32('a'), public.fnv_lock_key('a', 1);

-- A table of one's own: its fragments mean what they meant where it was attached.
set search_path = pg_catalog;
create table test_hostile.own (id integer primary key, state integer not null default 0, note text);
create index on test_hostile.own (id) where state = 0;
insert into test_hostile.own select generate_series(1, 8);
select public.queue_attach('test_hostile.own', 'test_hostile.own', 'state = 0 and now() <= call_time', 'id', 'state = state + 1',
	null, 'state = 0', 'state = 3, note = error', 'update', 'note = (call_time + lease > call_time)::text');
select public.queue_attach('test_hostile.own_' || mode, 'test_hostile.own', 'state = 0', 'id', claim_mode => mode)
from unnest(array['transaction', 'session']) as mode;
set search_path = test_hostile_evil, pg_catalog;
select id, state from public.queue_pop_rows(null::test_hostile.own, 'test_hostile.own', 4);
select public.queue_extend_row('test_hostile.own', row(1, 1, null)::test_hostile.own),
       public.queue_complete_row('test_hostile.own', row(2, 1, null)::test_hostile.own),
       public.queue_release_row('test_hostile.own', row(3, 1, null)::test_hostile.own),
       public.queue_fail_row('test_hostile.own', row(4, 1, null)::test_hostile.own, 'broken');
begin;
select id from public.queue_pop_rows(null::test_hostile.own, 'test_hostile.own_transaction', 2);
select public.queue_complete_row('test_hostile.own_transaction', row(3, 0, null)::test_hostile.own);
commit;
select id from public.queue_pop_rows(null::test_hostile.own, 'test_hostile.own_session', 2);
select public.queue_complete_row('test_hostile.own_session', row(5, 0, null)::test_hostile.own),
       public.queue_release_row('test_hostile.own_session', row(6, 0, null)::test_hostile.own);
select * from test_hostile.own order by id;
select public.queue_detach('test_hostile.own');

-- A table that is made under such a path is not made of the traps.
select public.queue_create('test_hostile.late', archive => true);
select public.queue_send('test_hostile.late', '1', run_at => '2001-01-01');
insert into test_hostile.late (payload) values ('2');
select id, attempt from public.queue_pop('test_hostile.late', 2);
select public.queue_complete('test_hostile.late', 2, 1);

-- A table with the queue's name in front of it in the path is no queue.
set search_path = test_hostile_evil, test_hostile, pg_catalog;
select public.queue_send('jobs', '8');

reset search_path;
set client_min_messages = warning;
select id from queue_pop('test_hostile.jobs');
drop schema test_hostile_evil, test_hostile cascade;
