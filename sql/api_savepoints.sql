-- Every function in a savepoint that is rolled back, in an exception block, in a savepoint
-- within one that is rolled back, in one that is released, and in a transaction that is
-- rolled back: rows, queues and advisory locks are as before, or as the function alone
-- leaves them; pops hand out what a plain query finds, in its order; and the same call
-- again has the same result.
set client_min_messages = error;
set synchronous_commit = off;
set timezone = 'UTC';
set datestyle = 'ISO';
create schema test_savepoint_table;
set search_path = test_savepoint_table, public;

-- Jobs 1 and 2 are claimed, 3 is dead, 4 is of a unique insert, 5 to 7 are ready, in
-- another order. Of the attached tables, all rows are pending but the last one's.
select queue_create('jobs', lease => '1 hour', backoff_base => '1 hour');
select queue_create('kept', lease => '1 hour', backoff_base => '1 hour', archive => true);
create table u (id integer primary key, state integer not null default 0, tries integer not null default 0, note text);
create index on u (id desc) where state = 0;
create table x (like u including all);
create table s (like u including all);
create table plain (like u including all);
create procedure attach(queue text) language plpgsql as $$ begin
	perform queue_attach(queue, queue::regclass, 'state = 0', 'id desc',
		on_claim => case queue when 'u' then 'state = 1, tries = tries + 1' end, on_complete => 'state = 2',
		on_release => case queue when 'u' then 'state = 0, note = ''released''' else 'note = ''released''' end,
		on_fail => 'state = 3, note = error', on_extend => 'tries = tries + 1', wake => true,
		claim_mode => case queue when 'x' then 'transaction' when 's' then 'session' else 'update' end);
end $$;
insert into u select generate_series(1, 5);
update u set state = 9 where id = 1;
insert into x select * from u;
insert into s select * from u;
insert into plain select * from u;
do $$
declare
	queue text;
begin
	foreach queue in array array['jobs', 'kept'] loop
		execute format($c$insert into %s (id, run_at, created_at, leased_until, dead_at, attempt, priority, payload) overriding system value values
			(1, '2000-01-01', '2000-01-01', '2100-01-01', null, 1, 0, '1'), (2, '2000-01-02', '2000-01-01', '2100-01-01', null, 1, 0, '2'),
			(3, '2000-01-03', '2000-01-01', null, '2000-02-01', 25, 0, '3'), (5, '2000-01-05', '2000-01-01', null, null, 0, 0, '5'),
			(6, '2000-01-06', '2000-01-01', null, null, 0, -1, '6'), (7, '2000-01-04', '2000-01-01', null, null, 1, 0, '7')$c$, queue);
		execute format('alter table %s alter id restart 4', queue);
		perform queue_unique_insert(queue, '"there"', run_at => '2000-01-04');
		execute format('update %s set created_at = ''2000-01-01''', queue);
		execute format('alter table %s alter id restart 99', queue);
		perform queue_unique_insert(queue, '"past"', states => '{done}', priority => -9);
		perform queue_complete(queue, id, attempt) from queue_pop(queue);
		perform setval(pg_get_serial_sequence(queue, 'id'), 1000);
	end loop;
	call attach('u');
	call attach('x');
	call attach('s');
	perform throttle_create('savepoint', '1 hour'), throttle_create('savepoint full', '1 hour');
	perform lock_throttled_resource('savepoint full', 'before');
	perform mutex_acquire('savepoint held'), mutex_acquire('savepoint free'), mutex_release('savepoint free');
end $$;
create table jobs_was as table jobs;
create table kept_was as table kept;
create table kept_archive_was as table kept_archive;
create table u_was as table u;
create table x_was as table x;
create table s_was as table s;
create table plain_was as table plain;
create table memory_was as select source::text as queue, m.* from queue_unique_job as m where source in ('jobs'::regclass, 'kept'::regclass);
create table throttles_was as select * from throttled_resource where resource like 'savepoint%';
create table locks_was as select * from named_lock where task_id like 'savepoint%';

-- given: what is done, and committed, before; before: what the transaction does first.
create table verbs (n integer generated always as identity primary key, queue text, given text, before text, call text);
insert into verbs (queue, call)
select q, replace(c, 'Q', quote_literal(q))
from unnest('{jobs,kept}'::text[]) as q, unnest(array[
	'queue_send(Q, ''1'')',
	'queue_send(Q, ''1'', priority => -2)',
	'queue_send(Q, ''1'', run_at => ''2100-01-01'')',
	'queue_send_many(Q, ''{1,2}'', priority => -2)',
	'queue_unique_insert(Q, ''"new"'')',
	'queue_unique_insert(Q, ''"new"'', states => ''{ready,scheduled,leased,dead,done}'')',
	'queue_unique_insert(Q, ''"past"'', states => ''{ready,scheduled,leased,dead,done}'')',
	'queue_unique_insert(Q, ''"there"'')',
	'queue_unique_insert(Q, ''"there"'', priority => 7, on_conflict => ''replace'')',
	'queue_unique_insert(Q, ''"there"'', run_at => ''2100-01-04'', on_conflict => ''postpone'')',
	'queue_unique_insert_many(Q, ''{"\"new\"","\"there\""}'', period => ''1 day'', run_at => ''2000-01-04'')',
	'queue_pop(Q)',
	'queue_pop(Q, 2)',
	'queue_pop(Q, 100)',
	'queue_pop_rows(null::' || q || ')',
	'queue_complete(Q, 1, 1)',
	'queue_complete(Q, 1, 2)',
	'queue_complete_many(Q, ''{1,2,3}'', ''{1,1,1}'')',
	'queue_complete(Q, id, attempt) from queue_pop(Q)',
	'queue_fail(Q, 1, 1)',
	'queue_fail(Q, 1, 1, retry_in => ''0'')',
	'queue_fail_many(Q, ''{1,2}'', ''{1,1}'', retry_in => ''0'')',
	'queue_release(Q, 1, 1)',
	'queue_release(Q, 1, 1, run_at => ''2100-01-01'')',
	'queue_release_many(Q, ''{1,2}'', ''{1,1}'')',
	'queue_release(Q, id, attempt) from queue_pop(Q)',
	'queue_extend(Q, 1, 1)',
	'queue_extend_many(Q, ''{1,2}'', ''{1,1}'')',
	'queue_cancel(Q, 5)',
	'queue_cancel_many(Q, ''{1,3,6}'')',
	'queue_requeue(Q, 3)',
	'queue_requeue_many(Q, ''{3}'')',
	'queue_purge(Q)',
	'queue_purge(Q, ''ready'')',
	'queue_purge(Q, ''done'')',
	'queue_complete_row(Q, j) from ' || q || ' as j where id = 1',
	'queue_release_row(Q, j) from ' || q || ' as j where id = 1',
	'queue_fail_row(Q, j, retry_in => ''0'') from ' || q || ' as j where id = 1',
	'queue_extend_row(Q, j) from ' || q || ' as j where id = 1',
	'queue_complete_receipt(Q, queue_receipt(Q, j)) from ' || q || ' as j where id = 1',
	'count(*) from queue_complete_receipts(Q, array(select queue_receipt(Q, j) from ' || q || ' as j where id < 4))',
	'queue_release_receipt(Q, queue_receipt(Q, j)) from ' || q || ' as j where id = 1',
	'count(*) from queue_fail_receipts(Q, array(select queue_receipt(Q, j) from ' || q || ' as j where id < 4), retry_in => ''0'')',
	'queue_extend_receipt(Q, queue_receipt(Q, j)) is null from ' || q || ' as j where id = 1',
	'queue_pause(Q)',
	'queue_resume(Q)',
	'queue_alter(Q, lease => ''2 hours'')',
	'queue_alter(Q, max_attempts => 2)',
	'queue_alter(Q, archive => false)',
	'queue_upgrade(Q)',
	'queue_detach(Q)',
	'queue_drop(Q)']) as c
where q = 'jobs' or c ~ 'complete|cancel|archive|detach|drop|past';
insert into verbs (queue, given, call) values
	('jobs', 'queue_pause(''jobs'')', 'queue_resume(''jobs'')'),
	('jobs', 'queue_pause(''jobs'')', 'queue_pop(''jobs'')'),
	('jobs', 'queue_detach(''jobs'')', 'queue_adopt(''jobs'')'),
	('plain', null, 'queue_attach(''plain'', ''plain'', ''state = 0'', ''id desc'', ''state = 1'')'),
	('plain', null, 'queue_attach(''plain'', ''plain'', ''state = 0'', ''id desc'', ''state = 1'', wake => true)'),
	('new', null, 'queue_create(''new'')'),
	('new', null, 'queue_create(''new'', archive => true)'),
	(null, null, 'lock_throttled_resource(''savepoint'', ''x'')'),
	(null, null, 'lock_throttled_resource(''savepoint full'', ''x'')'),
	(null, null, 'throttle_create(''savepoint new'', ''1 hour'')'),
	(null, null, 'throttle_alter(''savepoint full'', ''1 microsecond'', grants => 2)'),
	(null, null, 'throttle_drop(''savepoint full'')'),
	(null, null, 'mutex_acquire(''savepoint free'')'),
	(null, null, 'mutex_acquire(''savepoint held'')'),
	(null, null, 'mutex_acquire(''savepoint new'')'),
	(null, null, 'mutex_acquire_fenced(''savepoint free'')'),
	(null, null, 'mutex_acquire_fenced(''savepoint new'')'),
	(null, null, 'timeout_acquire(''savepoint free'', ''1 hour'')'),
	(null, null, 'timeout_acquire(''savepoint new'', ''1 hour'')'),
	(null, null, 'timeout_acquire_fenced(''savepoint free'', ''1 hour'')'),
	(null, null, 'mutex_release(''savepoint held'')'),
	(null, null, 'mutex_release(''savepoint held'', 1)'),
	(null, null, 'mutex_release(''savepoint free'')'),
	(null, null, 'lock_set_retries(''savepoint free'', 1)'),
	(null, null, 'lock_set_retries(''savepoint new'', 0)'),
	(null, null, 'queue_lock(''savepoint'')'),
	(null, null, 'queue_try_lock(''savepoint'')');
-- Row 5 is the first. It is claimed before by all but those that claim themselves: for good,
-- or by the transaction.
insert into verbs (queue, given, before, call)
select q, case when c ~ 'where' and (q <> 'x') and not is_late then p end, case when c ~ 'where' and is_late then p end, replace(replace(c, 'Q', quote_literal(q)), 'T', q)
from unnest('{u,x,s}'::text[]) as q, unnest(array[
	'queue_pop_rows(null::T)',
	'queue_pop_rows(null::T, max_jobs => 2)',
	'queue_pop_rows(null::T, max_jobs => 100)',
	'queue_complete_row(Q, j) from T as j where id = 5',
	'queue_release_row(Q, j) from T as j where id = 5',
	'queue_fail_row(Q, j) from T as j where id = 5',
	'queue_extend_row(Q, j) from T as j where id = 5',
	'(select count(*) from (select queue_extend_row(Q, j) as e from T as j where id = 5 offset 0) as e where queue_complete_row(Q, e))',
	'queue_complete_row(Q, j) from queue_pop_rows(null::T) as j',
	'queue_release_row(Q, j) from queue_pop_rows(null::T) as j',
	'queue_fail_row(Q, j) from queue_pop_rows(null::T, max_jobs => 2) as j',
	'(select count(*) from queue_pop_rows(null::T) as j, queue_release_row(Q, j) as r, queue_pop_rows(null::T, max_jobs => 2) as k)',
	'queue_unique_insert_row(''(9,0,0,)''::T, ''{id}'')',
	'queue_unique_insert_row(''(4,0,0,)''::T, ''{id}'')',
	'queue_unique_insert_rows(array[''(9,0,0,)'', ''(4,0,0,)'', ''(8,0,0,)'']::T[], ''{id}'')',
	'queue_pause(Q)',
	'queue_alter(Q, lease => ''2 hours'')',
	'queue_detach(Q)']) with ordinality as c (c, place),
	lateral (select 'queue_pop_rows(null::' || q || ')') as p (p), unnest('{false,true}'::boolean[]) as is_late
where (c ~ 'where' or not is_late) and (q <> 'x' or is_late or c !~ 'where')
order by q, place, is_late;

-- Everything as it was at first.
create function prepare(target text) returns void language plpgsql as $$
begin
	perform pg_advisory_unlock_all();
	if target in ('jobs', 'kept') then
		if to_regclass(target) is null then
			perform queue_create(target, lease => '1 hour', backoff_base => '1 hour', archive => target = 'kept');
			perform setval(pg_get_serial_sequence(target, 'id'), 1000);
		elsif not exists (select from queues where source = target::regclass) then
			perform queue_adopt(target);
			perform setval(pg_get_serial_sequence(target, 'id'), 1000);
		end if;
		perform queue_resume(target) from queues where source = target::regclass and paused;
		if exists (select from queues where source = target::regclass and (lease <> '1 hour' or max_attempts <> 25 or (archive is null) = (target = 'kept'))) then
			perform queue_alter(target, lease => '1 hour', max_attempts => 25, archive => target = 'kept');
		end if;
		execute format('delete from %s', target);
		execute format('insert into %s overriding system value table %1$s_was', target);
		if target = 'kept' then
			delete from kept_archive;
			insert into kept_archive table kept_archive_was;
		end if;
		delete from queue_unique_job where source = target::regclass;
		insert into queue_unique_job (source, digest, job, expires_at)
		select target::regclass, digest, job, expires_at from memory_was as m where m.queue = target;
	elsif target in ('u', 'x', 's') then
		if not exists (select from queues where source = target::regclass) then
			call attach(target);
		end if;
		perform queue_resume(target), queue_alter(target, lease => '30 seconds') from queues where source = target::regclass and (paused or lease <> '30 seconds');
		execute format('delete from %s', target);
		execute format('insert into %s table %1$s_was', target);
	elsif target = 'plain' then
		perform queue_detach('plain', if_exists => true);
		delete from plain;
		insert into plain table plain_was;
	elsif target = 'new' then
		perform queue_drop('new', if_exists => true);
	else
		delete from throttled_resource where resource like 'savepoint%';
		insert into throttled_resource table throttles_was;
		delete from named_lock where task_id like 'savepoint%';
		insert into named_lock table locks_was;
	end if;
end $$;

-- All that a function changes. What differs from one run to the next is made the same:
-- moments that are not those above, and numbers of new jobs.
create function state_of(target text) returns text language plpgsql as $$
declare
	place text;
	part text;
	state text;
begin
	foreach place in array case when target is null then array['throttled_resource', 'named_lock'] else array[target, target || '_archive'] end loop
		if to_regclass(place) is not null then
			execute format('select string_agg(r::text, e''\n'' order by r::text collate "C") from %s as r %s', place,
				case place when 'throttled_resource' then 'where resource like ''savepoint%''' when 'named_lock' then 'where task_id like ''savepoint%''' end) into part;
			state := concat_ws(e'\n', state, place || ':', part);
		end if;
	end loop;
	if target is not null then
		state := concat_ws(e'\n', state, (select q::text from queues as q where q.queue = 'test_savepoint_table.' || target),
			(select string_agg(tgname, ' ' order by tgname) from pg_trigger where tgrelid = to_regclass(target)),
			(select string_agg(digest::text || ' ' || job, ' ' order by digest) from queue_unique_job where source = to_regclass(target)));
	end if;
	return state;
end $$;
create function alike(state text) returns text language sql
return regexp_replace(regexp_replace(state, '(?!2000|2100)\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+00(:00)?|Z)', 'a moment', 'g'), '\m1\d\d\d\M', 'new', 'g');
create function locks() returns text language sql
return (select string_agg(concat_ws(' ', classid, objid, objsubid, mode), ', ' order by classid::bigint, objid::bigint)
        from pg_locks where locktype = 'advisory' and pid = pg_backend_pid());

-- What the calls did alone; what was there before those that are undone.
create table alone (n integer, path text, result text, state text, locks text, primary key (n, path));
create table noted (state text, locks text);
create function path() returns text language sql return current_setting('queue_ext.claim_path');
create function expect(n integer, kind text, what text, got text, wanted text) returns void language plpgsql as $$
begin
	if got is distinct from wanted then
		raise info e'%, %, %, %: %\nnot\n%', (select call from verbs where verbs.n = expect.n), path(), kind, what,
			(select string_agg(e'\n' || l, '') from (select string_to_table(got, e'\n') except all select string_to_table(wanted, e'\n')) as d (l)),
			(select string_agg(l, e'\n') from (select string_to_table(wanted, e'\n') except all select string_to_table(got, e'\n')) as d (l));
	end if;
end $$;
create function result_of(call text) returns text language plpgsql as $$
declare
	result text;
begin
	execute format('select string_agg(r::text, e''\n'') from (select %s) as c (r)', call) into result;
	return alike(result);
end $$;
create function attempt(n integer, kind text) returns void language plpgsql as $$
declare
	result text := result_of((select call from verbs where verbs.n = attempt.n));
begin
	perform expect(n, kind, 'result', result, (select a.result from alone as a where a.n = attempt.n and a.path = path()));
end $$;
create function attempt_in_vain(n integer, kind text) returns void language plpgsql as $$
begin
	perform attempt(n, kind);
	raise sqlstate 'UNDO0';
exception when sqlstate 'UNDO0' then
	null;
end $$;
create function attempt_in_block(n integer, kind text) returns void language plpgsql as $$
begin
	perform attempt(n, kind);
exception when division_by_zero then
	null;
end $$;
create function attempt_alone(n integer) returns void language plpgsql as $$ begin
	insert into alone values (n, path(), result_of((select call from verbs where verbs.n = attempt_alone.n)));
end $$;
create function do_before(n integer) returns void language plpgsql as $$ begin
	perform result_of(before) from verbs where verbs.n = do_before.n and before is not null;
end $$;
create function note(n integer) returns void language plpgsql as $$ begin
	delete from noted;
	insert into noted select state_of(queue), locks() from verbs where verbs.n = note.n;
end $$;
create function note_alone(n integer) returns void language plpgsql as $$ begin
	update alone as a set state = alike(state_of(queue)), locks = locks() from verbs as v where v.n = note_alone.n and a.n = v.n and path = path();
end $$;
create function expect_as_noted(n integer, kind text) returns void language plpgsql as $$ begin
	perform expect(n, kind, 'rows', state_of((select queue from verbs where verbs.n = expect_as_noted.n)), (select state from noted));
	perform expect(n, kind, 'locks', locks(), (select locks from noted));
end $$;
create function expect_as_alone(n integer, kind text) returns void language plpgsql as $$
declare
	alone alone := (select a from alone as a where a.n = expect_as_alone.n and path = path());
begin
	perform expect(n, kind, 'rows', alike(state_of((select queue from verbs where verbs.n = expect_as_alone.n))), alone.state);
	perform expect(n, kind, 'locks', locks(), alone.locks);
end $$;
-- What a pop of all hands out. The transaction has claimed that row before, or none.
create function expect_pops(n integer, kind text, claimed integer default null) returns void language plpgsql as $$
declare
	target text := (select v.queue from verbs as v where v.n = expect_pops.n);
	definition queues;
	popped text;
	wanted text;
begin
	select * into definition from queues as q where q.queue = 'test_savepoint_table.' || target;
	if definition.source is null then
		return;
	end if;
	if not definition.paused then
		execute format('select string_agg(j.id::text, '' '' order by %s) from %s as j where %s and id is distinct from $1 and not exists
			(select from pg_locks where locktype = ''advisory'' and pid = pg_backend_pid() and classid = %L::regclass and objsubid = 2 and objid = id)',
			definition.order_by, target, replace(definition.pending, 'call_time', 'clock_timestamp()'), target)
		into wanted using claimed;
	end if;
	execute format('select string_agg((j).id::text, '' '') from (select queue_pop_rows(null::%s, %L, max_jobs => 100) as j) as p', target, target)
	into popped;
	perform expect(n, kind, 'pops', popped, wanted);
end $$;

-- What is run for each function; V stands for the arguments n and kind.
create table kinds (n integer generated always as identity, kind text, statements text);
insert into kinds (kind, statements) values
	('alone', 'begin; select do_before(N); select attempt_alone(N); commit; select note_alone(N)'),
	('rollback to', 'begin; select do_before(N); select note(N); savepoint a; select attempt(V); rollback to a; select expect_as_noted(V);
		savepoint b; select attempt(V); rollback to b; select expect_as_noted(V); select attempt(V); commit; select expect_as_alone(V); select expect_pops(V)'),
	('exception', 'begin; select do_before(N); select note(N); select attempt_in_vain(V); select expect_as_noted(V); select attempt_in_vain(V); savepoint c; select expect_pops(V, C);
		rollback to c; select expect_as_noted(V); select attempt(V); commit; select expect_as_alone(V); select expect_pops(V)'),
	('outer', 'begin; select do_before(N); select note(N); savepoint a; savepoint b; select attempt(V); release b; savepoint c; release c; rollback to a;
		select expect_as_noted(V); select expect_pops(V, C); rollback to a; select expect_as_noted(V); select attempt(V); rollback to a; commit;
		select expect_as_noted(V); select expect_pops(V)'),
	('released', 'begin; select do_before(N); savepoint a; savepoint b; select attempt_in_block(V); release b; release a; commit;
		select expect_as_alone(V); select expect_pops(V)'),
	('rollback', 'begin; select note(N); commit; begin; select do_before(N); select attempt(V); rollback; select expect_as_noted(V); begin; select expect_pops(V); rollback; select expect_as_noted(V);
		begin; select do_before(N); select attempt(V); commit; select expect_as_alone(V); select expect_pops(V)');
-- What no path is for is tried on one.
-- Of what is combined with each other here one in so many is tried, or all.
\set sample 1
\getenv sample QUEUE_EXT_SAMPLE
set savepoints.sample = :sample;
create view cases as
select path, v.n as verb, k.n as kind, queue, given, replace(replace(replace(statements, 'V', format('%s, %L', v.n, kind)), 'N', v.n::text),
	'C', case when before is null then 'null' else '5' end) as statements
from verbs as v, kinds as k, unnest('{direct,portable}'::text[]) as path
where (path = 'direct' or queue in ('jobs', 'kept', 'u', 'x', 's') and call !~ 'queue_(purge|pause|resume|alter|detach|drop|adopt|unique_insert_row)')
	and (kind = 'alone' or (v.n + k.n + (path = 'direct')::integer) % current_setting('savepoints.sample')::integer = 0);

\o /dev/null
\set ECHO none
select format('rollback; set queue_ext.claim_path = %s; select prepare(%L)', path, queue), 'select ' || given, statements
from cases order by path, verb, kind \gexec
\set ECHO all
\o
reset queue_ext.claim_path;
select queue, path, count(distinct verb) as calls from cases group by queue, path order by queue, path;
-- The paths differ in nothing.
select call from alone as d join alone as p using (n) join verbs using (n)
where d.path = 'direct' and p.path = 'portable' and (d.result, d.state, d.locks) is distinct from (p.result, p.state, p.locks);
select source, sum(claims) > 0 as was_direct from queue_claim_stats
where source in ('jobs'::regclass, 'u'::regclass, 'x'::regclass, 's'::regclass) group by source order by source::text;

do $$ begin
	perform pg_advisory_unlock_all();
	delete from throttled_resource where resource like 'savepoint%';
	delete from named_lock where task_id like 'savepoint%';
end $$;
drop schema test_savepoint_table cascade;
reset synchronous_commit;
reset timezone;
reset datestyle;
