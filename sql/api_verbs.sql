-- What each function makes of a job in each state that a job can be in, by trial: the
-- result, and what is different in the row afterwards. Both paths do the same.
set client_min_messages = error;
create schema test_verb_table;
set search_path = test_verb_table, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 3, backoff_base => '3 hours', backoff_cap => '5 hours', archive => true);

-- Job 1 is in the state of that name; its moments are minutes from now. Job 2 is leased.
create table states (n integer generated always as identity, name text, run_at integer, leased_until integer, dead_at integer, attempt integer);
insert into states (name, run_at, leased_until, dead_at, attempt) values
	('scheduled', 90, null, null, 0),
	('ready', -90, null, null, 0),
	('ready again', -90, null, null, 1),
	('leased', -90, 30, null, 1),
	('leased for the last time', -90, 30, 30, 3),
	('left behind', -90, -30, null, 1),
	('left behind for the last time', -90, -30, -30, 3),
	('dead', -90, null, -30, 3),
	('dead early', -90, null, -30, 1),
	('dead later', 90, null, 60, 3),
	('none', null, null, null, null);
create procedure make_job(state text) language sql as $$
	insert into jobs (id, payload, run_at, leased_until, leased_by, dead_at, attempt, max_attempts, last_error, created_at, priority)
	overriding system value
	select 1, '"a"', now() + make_interval(mins => run_at), now() + make_interval(mins => leased_until),
		case when leased_until is not null then 'ada' end, now() + make_interval(mins => dead_at), attempt, 3,
		case when attempt > 1 then 'before' end, '2020-01-01', 5
	from states where name = state and attempt is not null;
	insert into jobs (id, payload, run_at, leased_until, leased_by, attempt, max_attempts, created_at, priority)
	overriding system value
	values (2, '"b"', now() - interval '2 hours', now() + interval '2 hours', 'bob', 1, 25, '2020-01-01', 7);
$$;

-- Minutes from now.
create function show_moment(at timestamptz) returns text immutable language sql as $$
	select case at when 'infinity' then 'never' when '-infinity' then 'ever' else coalesce(round(extract(epoch from at - now()) / 60)::text, 'null') end
$$;
create view job as
select id, attempt::text, show_moment(run_at) as run_at, coalesce(max_attempts::text, 'null') as max_attempts,
	show_moment(leased_until) as leased_until, coalesce(leased_by, 'null') as leased_by, show_moment(dead_at) as dead_at,
	coalesce(last_error, 'null') as last_error, priority::text, show_moment(created_at) = show_moment('2020-01-01') as is_as_old,
	payload::text, coalesce(unique_key, 'null') as unique_key
from jobs;

-- What is different in a job.
create function difference(old jsonb, new jsonb) returns text language sql as $$
	select case
		when old is null and new is null then null
		when new is null then 'removed'
		when old is null then 'added'
		else string_agg(key || ' ' || value, ', ' order by key) end
	from jsonb_each_text(coalesce(new, '{"": ""}')) where old ->> key is distinct from value
$$;
create function what_happens(call text, state text) returns text language plpgsql as $$
declare
	result text;
	was jsonb[];
	outcome text;
begin
	call make_job(state);
	was := array[(select to_jsonb(j) from job as j where id = 1), (select to_jsonb(j) from job as j where id = 2)];
	execute 'select coalesce(string_agg(r::text, '' ''), ''nothing'') from (select ' || call || ') as c (r)' into result;
	outcome := result || coalesce('; ' || difference(was[1], (select to_jsonb(j) from job as j where id = 1)), '')
		|| coalesce('; 2: ' || difference(was[2], (select to_jsonb(j) from job as j where id = 2)), '')
		|| coalesce('; archived ' || (select string_agg(id::text, ' ' order by id) from jobs_archive), '')
		|| coalesce('; new ' || (select string_agg(id::text, ' ' order by id) from jobs where id > 2), '');
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		return outcome;
	when others then
		return sqlstate;
end $$;

create table calls (n integer generated always as identity, call text);
insert into calls (call) values
	('to_jsonb(j) - ''{payload,run_at,created_at,leased_until,kind}''::text[] from queue_pop(''jobs'', 9, worker => ''cleo'') as j'),
	('queue_complete(''jobs'', 1, 1)'),
	('queue_complete(''jobs'', 1, 3)'),
	('queue_complete(''jobs'', 1, 0)'),
	('queue_complete_many(''jobs'', ''{2,1,9}'', ''{1,1,1}'')'),
	('queue_complete_many(''jobs'', ''{1,1}'', ''{1,3}'')'),
	('queue_complete_row(''jobs'', j) from jobs as j where id = 1'),
	('queue_fail(''jobs'', 1, 1, ''now'', ''4 hours'')'),
	('queue_fail(''jobs'', 1, 3, ''now'', ''4 hours'')'),
	('queue_fail(''jobs'', 1, 3)'),
	('queue_fail(''jobs'', 1, 0, ''now'')'),
	('queue_fail(''jobs'', 1, 1, retry_in => ''0'')'),
	('queue_fail_many(''jobs'', ''{2,1,9}'', ''{1,1,1}'', ''{x,y,z}'', ''4 hours'')'),
	('queue_fail_many(''jobs'', ''{1}'', ''{3}'', null, ''4 hours'')'),
	('queue_fail_row(''jobs'', j, ''now'', ''4 hours'') from jobs as j where id = 1'),
	('queue_release(''jobs'', 1, 1)'),
	('queue_release(''jobs'', 1, 3, now() + interval ''9 hours'')'),
	('queue_release(''jobs'', 1, 0)'),
	('queue_release_many(''jobs'', ''{2,1,9}'', ''{1,1,1}'')'),
	('queue_release_many(''jobs'', ''{1}'', ''{3}'', now() + interval ''9 hours'')'),
	('queue_release_row(''jobs'', j) from jobs as j where id = 1'),
	('queue_release_row(''jobs'', j, now() + interval ''9 hours'') from jobs as j where id = 1'),
	('queue_extend(''jobs'', 1, 1)'),
	('queue_extend(''jobs'', 1, 3, ''9 hours'')'),
	('queue_extend(''jobs'', 1, 1, ''1 minute'')'),
	('queue_extend(''jobs'', 1, 0)'),
	('queue_extend_many(''jobs'', ''{2,1,9}'', ''{1,1,1}'')'),
	('queue_extend_many(''jobs'', ''{1}'', ''{3}'', ''9 hours'')'),
	('show_moment((queue_extend_row(''jobs'', j)).leased_until) from jobs as j where id = 1'),
	('queue_cancel(''jobs'', 1)'),
	('queue_cancel(''jobs'', 1, 0)'),
	('queue_cancel(''jobs'', 1, 1)'),
	('queue_cancel(''jobs'', 1, 3)'),
	('queue_cancel_many(''jobs'', ''{2,1,9}'')'),
	('queue_cancel_many(''jobs'', ''{1,1}'', ''{0,3}'')'),
	('queue_requeue(''jobs'', 1)'),
	('queue_requeue(''jobs'', 1, 1)'),
	('queue_requeue(''jobs'', 1, 3)'),
	('queue_requeue_many(''jobs'', ''{2,1,9}'')'),
	('queue_requeue_many(''jobs'', ''{1,1}'', ''{1,3}'')'),
	('queue_counts(''jobs'')'),
	('queue_purge(''jobs'')'),
	('queue_purge(''jobs'', ''ready'')'),
	('queue_purge(''jobs'', ''scheduled'')'),
	('queue_purge(''jobs'', ''leased'')'),
	('queue_purge(''jobs'', ''dead'')'),
	('queue_purge(''jobs'', ''done'')');

-- On each path; a line for both where they agree.
create table outcomes (path text, state text, call text, outcome text);
create procedure try_all(path text) language plpgsql as $$
begin
	perform set_config('queue_ext.claim_path', path, false);
	insert into outcomes
	select path, s.name, c.call, what_happens(c.call, s.name) from states as s, calls as c order by s.n, c.n;
end $$;
call try_all('direct');
call try_all('portable');
reset queue_ext.claim_path;
\pset format unaligned
\pset tuples_only on
select call || E'\n' || string_agg('  ' || states || ': ' || outcome, E'\n' order by first)
from (
	select c.n, c.call, string_agg(s.name, ', ' order by s.n) as states, min(s.n) as first,
		d.outcome || case when d.outcome <> p.outcome then ' (portable: ' || p.outcome || ')' else '' end as outcome
	from calls as c, states as s, outcomes as d, outcomes as p
	where (d.path, d.call, d.state) = ('direct', c.call, s.name) and (p.path, p.call, p.state) = ('portable', c.call, s.name)
	group by c.n, c.call, d.outcome, p.outcome
) as o
group by n, call
order by n;
\pset tuples_only off
drop view job;
select queue_drop('jobs');
drop schema test_verb_table cascade;
