-- What each function asks of its caller, by trial: every function, under every set of
-- rights on its table, on both paths. Where a set does not suffice it is 42501; and what
-- suffices is the same whether a statement does it or not.
set client_min_messages = error;
create schema test_privilege_table;
create role regress_right;
grant usage on schema test_privilege_table to regress_right;
set search_path = test_privilege_table, public;

select queue_create('jobs', lease => '1 hour');
create table u (id integer primary key, state integer not null default 0);
create index on u (id) where state = 0;
create table x (like u including all);
create table s (like u including all);
do $$ begin
	perform queue_send_many('jobs', '{1,2,3,4}');
	perform queue_pop('jobs');
	update jobs set dead_at = '2000-01-01', leased_until = null where id = 2;
	perform queue_unique_insert('jobs', '"there"');
	insert into u select generate_series(1, 4);
	insert into x select generate_series(1, 4);
	insert into s select generate_series(1, 4);
	perform queue_attach('u', 'u', 'state = 0', 'id', 'state = 1', on_complete => 'state = 2', on_release => 'state = 0',
		on_fail => 'state = 3', on_extend => 'state = 1');
	perform queue_attach('x', 'x', 'state = 0', 'id', claim_mode => 'transaction', on_release => 'state = 0', on_extend => 'state = 0');
	perform queue_attach('s', 's', 'state = 0', 'id', claim_mode => 'session', on_release => 'state = 0', on_extend => 'state = 0');
	update u set state = 1 where id = 1;
	perform throttle_create('there', '1 hour');
	perform mutex_acquire('held'), mutex_acquire('free'), mutex_release('free');
end $$;

-- Receipts for callers who may not make them.
create table receipts (queue text, receipt text);
insert into receipts values ('u', queue_receipt('u', '(1,1)'::u)), ('s', queue_receipt('s', '(1,0)'::s)), ('x', queue_receipt('x', '(1,0)'::x));
insert into receipts select 'jobs', queue_receipt('jobs', j) from jobs as j where id = 1;
create function receipt(of text) returns text language sql security definer as 'select receipt from test_privilege_table.receipts where queue = of';
-- before: what a superuser does first, in the same transaction.
create table calls (n integer generated always as identity, target regclass, call text, before text);
insert into calls (target, call, before) values
	('jobs', 'queue_send(''jobs'', ''1'')', null),
	('jobs', 'queue_send_many(''jobs'', ''{1,2}'')', null),
	('jobs', 'queue_unique_insert(''jobs'', ''"new"'')', null),
	('jobs', 'queue_unique_insert(''jobs'', ''"there"'')', null),
	('jobs', 'queue_unique_insert(''jobs'', ''"new"'', states => ''{ready,scheduled,leased,dead,done}'')', null),
	('jobs', 'queue_unique_insert(''jobs'', ''"there"'', on_conflict => ''replace'')', null),
	('jobs', 'queue_unique_insert_many(''jobs'', ''{"5","6"}'')', null),
	('u', 'queue_unique_insert_row(''(9,0)''::u, ''{id}'')', null),
	('u', 'queue_unique_insert_row(''(1,0)''::u, ''{id}'')', null),
	('u', 'queue_unique_insert_rows(array[''(8,0)'', ''(9,0)'']::u[], ''{id}'')', null),
	('jobs', 'queue_pop(''jobs'')', null),
	('jobs', 'queue_pop(''jobs'', 100)', null),
	('jobs', 'queue_pop_any(''{jobs}'')', null),
	('jobs', 'queue_pop(''jobs'')', 'update jobs set leased_until = ''infinity'''),
	('jobs', 'queue_pop_rows(null::jobs)', null),
	('u', 'queue_pop_rows(null::u)', null),
	('u', 'queue_pop_rows(null::u)', 'update u set state = 1'),
	('x', 'queue_pop_rows(null::x)', null),
	('s', 'queue_pop_rows(null::s)', null),
	('s', 'queue_pop_rows(null::s, max_jobs => 100)', null),
	('jobs', 'queue_complete(''jobs'', 1, 1)', null),
	('jobs', 'queue_complete(''jobs'', 99, 1)', null),
	('jobs', 'queue_complete_pop(''jobs'', 1, 1)', null),
	('jobs', 'queue_complete_pop(''jobs'', null, null)', null),
	('jobs', 'queue_complete_many(''jobs'', ''{1,99}'', ''{1,1}'')', null),
	('jobs', 'queue_complete_many(''jobs'', ''{}'', ''{}'')', null),
	('jobs', 'queue_fail(''jobs'', 1, 1)', null),
	('jobs', 'queue_fail_many(''jobs'', ''{1}'', ''{1}'')', null),
	('jobs', 'queue_release(''jobs'', 1, 1)', null),
	('jobs', 'queue_release_many(''jobs'', ''{1}'', ''{1}'')', null),
	('jobs', 'queue_extend(''jobs'', 1, 1)', null),
	('jobs', 'queue_extend_many(''jobs'', ''{1}'', ''{1}'')', null),
	('jobs', 'queue_cancel(''jobs'', 3)', null),
	('jobs', 'queue_cancel_many(''jobs'', ''{3}'')', null),
	('jobs', 'queue_requeue(''jobs'', 2)', null),
	('jobs', 'queue_requeue_many(''jobs'', ''{2}'')', null),
	('jobs', 'queue_purge(''jobs'')', null),
	('jobs', 'queue_purge(''jobs'', ''done'')', null),
	('jobs', 'queue_counts(''jobs'')', null),
	('jobs', 'queue_result(''jobs'', 1)', null),
	('jobs', 'queue_result(''jobs'', 99)', null),
	('jobs', 'queue_claim_path(''jobs'') is null', null),
	('u', 'queue_complete_row(''u'', ''(1,1)''::u)', null),
	('u', 'queue_release_row(''u'', ''(1,1)''::u)', null),
	('u', 'queue_fail_row(''u'', ''(1,1)''::u)', null),
	('u', 'queue_extend_row(''u'', ''(1,1)''::u)', null),
	('x', 'queue_complete_row(''x'', ''(1,0)''::x)', 'select from queue_pop_rows(null::x)'),
	('x', 'queue_release_row(''x'', ''(1,0)''::x)', 'select from queue_pop_rows(null::x)'),
	('x', 'queue_fail_row(''x'', ''(1,0)''::x)', 'select from queue_pop_rows(null::x)'),
	('x', 'queue_extend_row(''x'', ''(1,0)''::x)', 'select from queue_pop_rows(null::x)'),
	('s', 'queue_complete_row(''s'', ''(1,0)''::s)', 'select from queue_pop_rows(null::s)'),
	('s', 'queue_release_row(''s'', ''(1,0)''::s)', 'select from queue_pop_rows(null::s)'),
	('s', 'queue_fail_row(''s'', ''(1,0)''::s)', 'select from queue_pop_rows(null::s)'),
	('s', 'queue_extend_row(''s'', ''(1,0)''::s)', 'select from queue_pop_rows(null::s)'),
	('u', 'queue_receipt(''u'', ''(1,1)''::u) is null', null),
	('s', 'queue_receipt(''s'', ''(1,1)''::s) is null', null),
	('u', 'queue_complete_receipt(''u'', receipt(''u''))', null),
	('jobs', 'queue_complete_receipt(''jobs'', receipt(''jobs''))', null),
	('jobs', 'queue_complete_receipts(''jobs'', array[receipt(''jobs'')]) is null', null),
	('jobs', 'queue_complete_receipts(''jobs'', ''{}'')', null),
	('u', 'queue_release_receipt(''u'', receipt(''u''))', null),
	('u', 'queue_release_receipts(''u'', array[receipt(''u'')]) is null', null),
	('s', 'queue_release_receipt(''s'', receipt(''s''))', 'select from queue_pop_rows(null::s)'),
	('u', 'queue_fail_receipt(''u'', receipt(''u''))', null),
	('x', 'queue_fail_receipt(''x'', receipt(''x''))', 'select from queue_pop_rows(null::x)'),
	('jobs', 'queue_fail_receipts(''jobs'', array[receipt(''jobs'')]) is null', null),
	('u', 'queue_extend_receipt(''u'', receipt(''u'')) is null', null),
	('u', 'queue_extend_receipts(''u'', array[receipt(''u'')]) is null', null),
	('throttled_resource', 'lock_throttled_resource(''there'', ''x'')', null),
	('throttled_resource', 'lock_throttled_resource(''there'', ''x'')', 'select lock_throttled_resource(''there'', ''before'')'),
	('throttled_resource', 'throttle_acquire(''there'', ''x'') is null', null),
	('throttled_resource', 'throttle_acquire(''there'', ''x'') is null', 'select lock_throttled_resource(''there'', ''before'')'),
	('throttled_resource', 'throttle_create(''new'', ''1 hour'')', null),
	('throttled_resource', 'throttle_alter(''there'', ''2 hours'')', null),
	('throttled_resource', 'throttle_drop(''there'')', null),
	('named_lock', 'mutex_acquire(''free'')', null),
	('named_lock', 'mutex_acquire(''held'')', null),
	('named_lock', 'mutex_acquire(''new'')', null),
	('named_lock', 'mutex_acquire_fenced(''free'')', null),
	('named_lock', 'timeout_acquire(''free'', ''1 hour'')', null),
	('named_lock', 'timeout_acquire(''held'', ''1 hour'')', null),
	('named_lock', 'timeout_acquire_fenced(''free'', ''1 hour'')', null),
	('named_lock', 'mutex_release(''held'')', null),
	('named_lock', 'mutex_release(''free'')', null),
	('named_lock', 'mutex_release(''held'', 1)', null),
	('named_lock', 'lock_set_retries(''free'', 5)', null),
	('named_lock', 'lock_set_retries(''new'', 5)', null);

-- As that role, and undone: "done", or the SQLSTATE.
create function attempt(call text, before text, caller text default 'regress_right') returns text language plpgsql as $$
begin
	if before is not null then
		execute before;
	end if;
	perform set_config('role', caller, true);
	execute 'select ' || call;
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		return 'done';
	when others then
		return sqlstate;
end $$;

-- Each call is first made by a superuser, so that whatever a session keeps is there; and
-- the sets of rights come and go, with none last.
create table outcomes (path text, rights text, call integer, outcome text);
create procedure try_all(path text) language plpgsql as $$
declare
	verbs text[] := '{select,insert,update,delete}';
	rights text;
	place regclass;
begin
	perform set_config('queue_ext.claim_path', path, false);
	for bits in reverse 15 .. 0 loop
		rights := (select string_agg(verbs[i], ' ' order by i) from generate_series(1, 4) as i where bits & (1 << (i - 1)) <> 0);
		for place in select distinct target from calls loop
			execute format('revoke all on %s from regress_right', place);
			if rights is not null then
				execute format('grant %s on %s to regress_right', replace(rights, ' ', ', '), place);
			end if;
		end loop;
		commit;
		perform attempt(call, before, 'none') from calls order by n;
		insert into outcomes select path, coalesce(rights, 'nothing'), n, attempt(call, before) from calls order by n;
		commit;
	end loop;
	reset queue_ext.claim_path;
end $$;
create view claims as
select coalesce(sum(claims), 0) as claims from queue_claim_stats where source in ('jobs'::regclass, 'u'::regclass, 'x'::regclass, 's'::regclass);
select claims as before from claims \gset
call try_all('direct');
select claims > :before + 100 as was_direct, claims as before from claims \gset
\echo :was_direct
call try_all('portable');
select claims = :before as was_portable from claims;

-- The least that suffices, and what is raised otherwise.
create function is_part(part text, whole text) returns boolean immutable language sql
return part = 'nothing' or string_to_array(part, ' ') <@ string_to_array(whole, ' ');
create view needs as
select n, call, before is not null as prepared,
	(select string_agg(distinct o.rights, ' or ') from outcomes as o where o.call = n and o.path = 'direct' and o.outcome = 'done'
	 and not exists (select from outcomes as less where less.call = n and less.path = 'direct' and less.outcome = 'done'
	                 and less.rights <> o.rights and is_part(less.rights, o.rights))) as needs,
	(select string_agg(distinct o.outcome, ' ') from outcomes as o where o.call = n and o.path = 'direct' and o.outcome <> 'done') as otherwise
from calls;
select call, prepared, needs, otherwise from needs order by n;
-- More is never worse.
select c.call, o.path, o.rights, o.outcome from outcomes as o join calls as c on n = o.call
where o.outcome <> 'done'
	and exists (select from outcomes as less where less.call = o.call and less.path = o.path and less.outcome = 'done' and is_part(less.rights, o.rights));
-- Both paths ask for the same.
select c.call, rights, d.outcome as direct, p.outcome as portable
from outcomes as d join outcomes as p using (rights, call) join calls as c on n = d.call
where d.path = 'direct' and p.path = 'portable' and d.outcome <> p.outcome
order by n, rights;

-- Rights on columns suffice, too, where they are those that the statement uses: with all
-- columns but one, as none of the rights is one on the table.
truncate outcomes;
create table variants (n integer generated always as identity, target regclass, verb text, missing name);
insert into variants (target, verb, missing) values (null, null, null);
insert into variants (target, verb, missing)
select target, verb, attname
from (select distinct target from calls) as c
join pg_attribute on attrelid = target and attnum > 0 and not attisdropped
cross join unnest(array['select', 'insert', 'update']) as verb
order by target::text, attnum, verb;
create procedure try_columns(path text) language plpgsql as $$
declare
	variant variants;
	place regclass;
	verb text;
begin
	perform set_config('queue_ext.claim_path', path, false);
	for variant in select * from variants order by n loop
		for place in select distinct target from calls where target = coalesce(variant.target, target) loop
			execute format('revoke all on %s from regress_right', place);
			execute format('grant delete on %s to regress_right', place);
			foreach verb in array array['select', 'insert', 'update'] loop
				execute format('grant %s (%s) on %s to regress_right', verb, string_agg(quote_ident(attname), ', '), place)
				from pg_attribute where attrelid = place and attnum > 0 and not attisdropped
					and (verb is distinct from variant.verb or attname is distinct from variant.missing or variant.missing is null);
			end loop;
		end loop;
		commit;
		insert into outcomes select path, coalesce(variant.verb || ' ' || variant.missing, 'all'), calls.n, attempt(call, before)
		from calls where target = coalesce(variant.target, target) order by calls.n;
		commit;
	end loop;
	reset queue_ext.claim_path;
end $$;
call try_columns('direct');
call try_columns('portable');
select c.call, outcome from outcomes as o join calls as c on n = o.call where rights = 'all' and outcome <> 'done' order by n, path;
select distinct outcome from outcomes where rights <> 'all' order by 1;
select c.call, c.before is not null as prepared,
	string_agg(split_part(rights, ' ', 2), ', ' order by v.n) filter (where verb = 'select') as "select",
	string_agg(split_part(rights, ' ', 2), ', ' order by v.n) filter (where verb = 'insert') as "insert",
	string_agg(split_part(rights, ' ', 2), ', ' order by v.n) filter (where verb = 'update') as "update"
from outcomes as o
join calls as c on n = o.call
left join variants as v on v.target = c.target and v.verb || ' ' || missing = rights
where path = 'direct' and (outcome <> 'done' or rights = 'all')
group by c.n, c.call, c.before order by c.n;
select c.call, rights, d.outcome as direct, p.outcome as portable
from outcomes as d join outcomes as p using (rights, call) join calls as c on n = d.call
where d.path = 'direct' and p.path = 'portable' and d.outcome <> p.outcome
order by n, rights;

-- Row security: what a role may not see is not there, for the calls as for the statements.
-- With no policy, with one that hides some rows (of the jobs 3 and the one that is unique,
-- elsewhere 1, or what is there, free or held), for the owner, and for the owner by force.
create function result_of(call text, before text) returns text language plpgsql as $$
declare
	result text;
begin
	if before is not null then
		execute before;
	end if;
	perform set_config('role', 'regress_right', true);
	execute format('select string_agg(to_jsonb(r)::text, '' '') from (select %s as r) as c', call) into result;
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		-- The ids of new jobs are from 1000 on.
		result := regexp_replace(result, '"(attempt|payload|run_at|created_at|leased_until|leased_by|dead_at|claimed_at|kind|max_attempts|priority|last_error|unique_key)": ("[^"]*"|[^,}]*)(, )?', '', 'g');
		return regexp_replace(regexp_replace(result, ', }', '}', 'g'), '\m1\d\d\d\M', 'new', 'g');
	when others then
		return sqlstate;
end $$;
alter table jobs alter id restart 1000;
create table results (variant text, path text, call integer, result text);
create procedure try_results(variant text) language plpgsql as $$
declare
	path text;
begin
	foreach path in array array['direct', 'portable'] loop
		perform set_config('queue_ext.claim_path', path, false);
		insert into results select variant, path, n, result_of(call, before) from calls order by n;
		commit;
	end loop;
	reset queue_ext.claim_path;
end $$;
create procedure for_all(command text) language plpgsql as $$
declare
	place regclass;
begin
	for place in select distinct target from calls loop
		execute format(command, place);
	end loop;
end $$;
call for_all('grant select, insert, update, delete on %s to regress_right');
call try_results('all');
call for_all('alter table %s enable row level security');
call try_results('none');
create policy part on jobs using (id not in (3, 5)) with check (true);
create policy part on u using (id <> 1) with check (true);
create policy part on x using (id <> 1) with check (true);
create policy part on s using (id <> 1) with check (true);
create policy part on throttled_resource using (resource <> 'there') with check (true);
create policy part on named_lock using (task_id = 'new') with check (true);
call try_results('part');
call for_all('drop policy part on %s');
call for_all('alter table %s owner to regress_right');
call try_results('owner');
call for_all('alter table %s force row level security');
call try_results('forced');
call for_all('alter table %s no force row level security');
call for_all('alter table %s disable row level security');
call for_all('alter table %s owner to current_user');

select c.call,
	max(result) filter (where variant = 'all') as "all", max(result) filter (where variant = 'none') as none,
	max(result) filter (where variant = 'part') as part, max(result) filter (where variant = 'owner') as owner,
	max(result) filter (where variant = 'forced') as forced
from results as r join calls as c on n = r.call where path = 'direct' group by n, c.call order by n;
select variant, c.call, d.result as direct, p.result as portable
from results as d join results as p using (variant, call) join calls as c on n = d.call
where d.path = 'direct' and p.path = 'portable' and d.result is distinct from p.result
order by variant, n;
select c.call, o.result as owner, a.result as other
from results as o join results as a using (path, call) join calls as c on n = o.call
where o.variant = 'owner' and a.variant = 'all' and o.result is distinct from a.result order by n;

-- In a read-only transaction what writes is refused, whoever calls, and before anything
-- else is looked at. (As on a standby.)
create function attempt_reading(call text) returns text language plpgsql as $$
begin
	set local transaction_read_only = on;
	execute 'select ' || call;
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		return 'done';
	when others then
		return sqlstate;
end $$;
insert into calls (target, call) values
	('jobs', 'queue_create(''mine'')'),
	('jobs', 'queue_adopt(''jobs'')'),
	('jobs', 'queue_upgrade(''jobs'')'),
	('jobs', 'queue_schedule(''jobs'', ''s'', ''1 hour'')'),
	('jobs', 'queue_unschedule(''jobs'', ''s'')'),
	('jobs', 'queue_attach(''also'', ''jobs'', ''attempt < 0'', on_claim => ''attempt = 0'')'),
	('jobs', 'queue_alter(''jobs'', lease => ''1 hour'')'),
	('jobs', 'queue_pause(''jobs'')'),
	('jobs', 'queue_resume(''jobs'')'),
	('jobs', 'queue_detach(''jobs'')'),
	('jobs', 'queue_drop(''jobs'')'),
	('jobs', 'queue_unique_key(''jobs'', ''1'')'),
	('jobs', 'queue_lock(''name'')'),
	('jobs', 'queue_try_lock(''name'')'),
	('jobs', 'queue_is_held(''jobs''::regclass, ''1'')'),
	('jobs', 'queue_claim_counters()'),
	('jobs', 'queue_health(''jobs'')'),
	('jobs', 'queue_claim_stats_reset()'),
	('jobs', 'queue_stats_counters()'),
	('jobs', 'queue_stats_buckets(true)'),
	('jobs', 'queue_stats_reset()');
select outcome, string_agg(distinct split_part(call, '(', 1), ' ') as calls
from (select call, attempt_reading(call) as outcome from calls) as c group by outcome;
select count(*) as left_over from jobs where id <> all ('{1,2,3,4,5}');
-- All functions of the extension are among these calls, but for those that compute; wait.sql and
-- queue_repair.sql have the procedures.
select distinct proname from pg_proc
join pg_depend on classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
join pg_extension as e on refobjid = e.oid and extname = 'queue_ext'
where proname not in (select split_part(call, '(', 1) from calls) and prokind <> 'p' order by 1;

do $$ begin
	perform throttle_drop('there');
	delete from named_lock where task_id in ('held', 'free');
end $$;
drop schema test_privilege_table cascade;
drop owned by regress_right;
drop role regress_right;
