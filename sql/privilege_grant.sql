-- A missing privilege: the error has PostgreSQL's words, the GRANT that is missing, and none of our
-- statements in its context. A role that does what the hints say gets there.
set client_min_messages = error;
create schema test_grant;
create role regress_grant;
grant usage on schema test_grant to regress_grant;
set search_path = test_grant, public;
select queue_create('jobs', archive => true), queue_create('unfinished');
create table things (id integer primary key, state integer not null default 0, owner text);
create table "Odd ""Table" (id integer primary key, a integer, "B c" integer);
create table allowed (id integer);
create index on things (id) where state = 0;
select queue_attach('things', 'things', 'state = 0 and id in (select id from allowed)', 'id', 'state = 1',
	on_complete => 'state = 2', on_release => 'state = 0', on_fail => 'state = 3', on_extend => 'owner = ''me''');
select queue_attach('held', 'things', 'state = 0', claim_mode => 'transaction');
select queue_attach('odd', '"Odd ""Table"', 'a = 0', on_claim => '"B c" = 1, a = 1');
insert into allowed select generate_series(1, 9);
insert into "Odd ""Table" values (1, 0);
insert into things select generate_series(1, 9);
do $$ begin
	perform throttle_create('test_grant', '1 hour');
	perform queue_send_many('jobs', '{1,2,3,4,5,6,7,8,9}');
end $$;

-- Makes the call as the role; does what the hint says, and makes it again, until there is no error.
-- Undoes all that. The context is that of our library: its first lines, down to the EXECUTE.
create function steps(call text, before text default null) returns setof text language plpgsql as $$
declare
	hint text;
	context text;
	error text;
begin
	if before is not null then
		execute before;
	end if;
	for i in 1 .. 6 loop
		begin
			set local role regress_grant;
			execute 'select ' || call;
			reset role;
			return next 'done';
			raise sqlstate 'UNDO0';
		exception
			when sqlstate 'UNDO0' then
				exit;
			when others then
				get stacked diagnostics hint = pg_exception_hint, context = pg_exception_context;
				context := substring(context from '^(.*?)\n?SQL statement "select ');
				return next concat_ws(' | ', sqlstate, sqlerrm, nullif(hint, ''), nullif(context, ''));
				if hint not like 'The owner can run GRANT %.' then
					exit;
				end if;
				execute substring(hint from 'The owner can run (.*)\.$');
		end;
	end loop;
	revoke all on jobs, jobs_archive, unfinished, things, "Odd ""Table", allowed, named_lock, throttled_resource from regress_grant;
	revoke all on schema test_grant from regress_grant;
	grant usage on schema test_grant to regress_grant;
end $$;
create table calls (n integer generated always as identity, call text, before text);
insert into calls (call, before) values
	('queue_send(''jobs'', ''1'')', null),
	('queue_send_many(''jobs'', ''{1,2}'')', null),
	('queue_send(''jobs'', ''1'')', 'grant insert (payload) on jobs to regress_grant'),
	('queue_unique_insert(''jobs'', ''"new"'')', null),
	('queue_unique_insert(''jobs'', ''"new"'')', 'grant insert, select (id) on jobs to regress_grant'),
	('queue_unique_insert_many(''jobs'', ''{"5","6"}'')', null),
	('queue_unique_insert_row(''(10,0,)''::things, ''{id}'')', null),
	('queue_unique_insert_row(''(10,0,)''::things, ''{id}'', ''owner is null'')', 'grant insert on things to regress_grant'),
	('queue_pop(''jobs'') is null', null),
	('queue_pop(''jobs'') is null', 'grant select on jobs to regress_grant'),
	('queue_pop(''jobs'') is null', 'grant select, update (attempt) on jobs to regress_grant'),
	('queue_pop(''jobs'') is null', 'grant update on jobs to regress_grant'),
	('queue_pop_rows(null::things, ''things'') is null', null),
	('queue_pop_rows(null::things, ''things'') is null', 'grant select, update on things to regress_grant'),
	('queue_pop_rows(null::things, ''things'') is null', 'grant select (id), update (owner) on things to regress_grant'),
	('queue_pop_rows(null::things, ''held'') is null', null),
	('queue_pop_rows(null::"Odd ""Table") is null', 'grant select, update (a) on "Odd ""Table" to regress_grant'),
	('queue_complete(''jobs'', 1, 1)', null),
	('queue_complete(''jobs'', 1, 1)', 'grant select, delete on jobs to regress_grant'),
	('queue_complete(''unfinished'', 1, 1)', null),
	('queue_complete(''unfinished'', 1, 1)', 'grant delete on unfinished to regress_grant'),
	('queue_complete_many(''jobs'', ''{1}'', ''{1}'')', null),
	('queue_fail(''jobs'', 1, 1)', null),
	('queue_fail(''jobs'', 1, 1)', 'grant update (attempt), select on jobs to regress_grant'),
	('queue_fail_many(''jobs'', ''{1}'', ''{1}'')', 'grant delete on jobs to regress_grant'),
	('queue_release(''jobs'', 1, 1)', null),
	('queue_extend(''jobs'', 1, 1)', null),
	('queue_cancel(''jobs'', 1)', null),
	('queue_requeue(''jobs'', 1)', null),
	('queue_complete_row(''things'', ''(1,1,)''::things)', null),
	('queue_complete_row(''things'', ''(1,1,)''::things)', 'grant select, update (owner) on things to regress_grant'),
	('queue_release_row(''things'', ''(1,1,)''::things)', null),
	('queue_fail_row(''things'', ''(1,1,)''::things)', 'grant update (owner) on things to regress_grant'),
	('queue_extend_row(''things'', ''(1,1,)''::things)', null),
	('queue_counts(''jobs'')', null),
	('queue_counts(''jobs'')', 'grant select (id) on jobs to regress_grant'),
	('queue_purge(''jobs'')', null),
	('queue_purge(''jobs'')', 'grant delete on jobs to regress_grant'),
	('queue_purge(''jobs'', ''done'')', 'grant update on jobs to regress_grant'),
	('queue_claim_path(''jobs'') is null', null),
	('lock_throttled_resource(''test_grant'', ''x'')', null),
	('lock_throttled_resource(''test_grant'', ''x'')', 'grant insert on throttled_resource to regress_grant'),
	('throttle_acquire(''test_grant'', ''x'') is null', null),
	('throttle_create(''test_grant 2'', ''1 hour'')', null),
	('throttle_alter(''test_grant'', ''1 hour'')', null),
	('throttle_drop(''test_grant'')', null),
	('mutex_acquire(''test_grant'')', null),
	('mutex_acquire(''test_grant'')', 'grant insert on named_lock to regress_grant'),
	('mutex_acquire(''test_grant'')', 'grant select, update on named_lock to regress_grant'),
	('timeout_acquire(''test_grant'', ''1 hour'')', null),
	('mutex_release(''test_grant'')', null),
	('mutex_release(''test_grant'')', 'grant select, update (held) on named_lock to regress_grant'),
	('lock_set_retries(''test_grant'', 1)', null),
	('queue_create(''mine'')', null),
	('queue_create(''mine'')', 'revoke usage on schema test_grant from regress_grant'),
	('queue_pop(''test_grant.jobs'') is null', 'revoke usage on schema test_grant from regress_grant'),
	('queue_attach(''also'', ''things'', ''state = 0'', on_claim => ''state = 1'')', null),
	('queue_pause(''jobs'')', null);
select n, call, coalesce(before, '') as before, step from calls, lateral steps(call, before) as step order by n;
drop schema test_grant cascade;
drop owned by regress_grant;
drop role regress_grant;
select throttle_drop('test_grant');
