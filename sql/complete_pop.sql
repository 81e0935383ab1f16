-- queue_complete_pop: one call for the end of a job and the next.
\set SHOW_CONTEXT never
create schema test_complete_pop;
set search_path = test_complete_pop, public;
select queue_create('jobs');
select count(queue_send('jobs', to_jsonb(n))) from generate_series(1, 4) as n;

-- A worker's loop: the first call has nothing to complete, and the last finds no job.
create function turn(id bigint, attempt integer) returns table (id bigint, attempt integer, text text) language sql as $$
	select id, attempt, format('%s %s %s %s %s %s', coalesce(completed::text, 'null'), payload, attempt, priority, leased_by,
		leased_until > now() + interval '50 minutes')
	from queue_complete_pop('jobs', $1, $2, '1 hour', 'me')
$$;
do $$
declare
	id bigint;
	attempt integer;
	text text;
begin
	for i in 1 .. 5 loop
		select * into id, attempt, text from turn(id, attempt);
		raise notice '%', text;
	end loop;
end $$;
select count(*) from jobs;

-- A stale receipt completes nothing, and claims nothing.
select count(queue_send('jobs', to_jsonb(n))) from generate_series(1, 2) as n;
select id, attempt from queue_pop('jobs') \gset
select completed, id is null as has_no_job from queue_complete_pop('jobs', :id, :attempt + 1);
select completed, id is null as has_no_job from queue_complete_pop('jobs', -1, 1);
select count(*) as jobs, count(leased_until) as leased from jobs;

-- Both are undone together.
begin;
select completed, payload from queue_complete_pop('jobs', :id, :attempt);
select count(*) as jobs, count(leased_until) as leased from jobs;
rollback;
select count(*) as jobs, count(leased_until) as leased from jobs;
begin;
savepoint s;
select completed, payload from queue_complete_pop('jobs', :id, :attempt);
rollback to s;
commit;
select count(*) as jobs, count(leased_until) as leased from jobs;

-- A paused queue completes, and hands out nothing.
select queue_pause('jobs');
select completed, id is null as has_no_job from queue_complete_pop('jobs', :id, :attempt);
select queue_resume('jobs');
select count(*) as jobs, count(leased_until) as leased from jobs;

-- An archived queue, by a statement.
select queue_create('kept', archive => true);
select count(queue_send('kept', to_jsonb(n))) from generate_series(1, 2) as n;
select id, attempt, completed is null as first from queue_complete_pop('kept', null, null) \gset
select completed, payload from queue_complete_pop('kept', :id, :attempt);
select count(*) from kept_archive;

-- A job that does not fit into work_mem, as a trigger has made it larger, leaves no file behind.
select queue_create('grown');
select count(queue_send('grown', to_jsonb(n))) from generate_series(1, 2) as n;
create function grow() returns trigger language plpgsql as $$ begin
	new.payload := to_jsonb(repeat('x', 200000));
	return new;
end $$;
create trigger grow before update on grown for each row execute function grow();
set work_mem = '64kB';
select id, attempt, length(payload::text) from queue_complete_pop('grown', null, null) \gset
select completed, length(payload::text) from queue_complete_pop('grown', :id, :attempt);
reset work_mem;

-- Errors.
select queue_complete_pop(null, 1, 1);
select queue_complete_pop('jobs', 1, null);
select queue_complete_pop('jobs', null, 1);
select queue_complete_pop('jobs', 1, 1, '0');
select queue_complete_pop('nosuch', 1, 1);
create table t (id integer primary key, done boolean);
create index on t (id) where done is null;
select queue_attach('t', 't', pending => 'done is null', order_by => 'id', on_claim => 'done = false');
select queue_complete_pop('t', 1, 1);
create role regress_complete_pop;
grant usage on schema test_complete_pop to regress_complete_pop;
grant select, delete on jobs to regress_complete_pop;
set role regress_complete_pop;
select queue_complete_pop('jobs', -1, 1);
select queue_complete_pop('jobs', null, null);
reset role;
revoke delete on jobs from regress_complete_pop;
grant update on jobs to regress_complete_pop;
set role regress_complete_pop;
select queue_complete_pop('jobs', -1, 1);
reset role;
drop owned by regress_complete_pop;
drop role regress_complete_pop;
drop schema test_complete_pop cascade;
