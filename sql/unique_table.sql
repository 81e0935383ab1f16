-- Whether a job is inserted, where one like it is in each state already, by trial: for each
-- way of saying what is the same and which states count. Both forms do the same, and so do
-- both paths; the second insertion of one statement finds the first.
set client_min_messages = error;
create schema test_unique_table;
set search_path = test_unique_table, public;
select queue_create('jobs', lease => '1 hour', max_attempts => 3);

create table states (n integer generated always as identity, name text, change text);
insert into states (name, change) values
	('scheduled', 'update jobs set run_at = now() + interval ''1 day'''),
	('ready', null),
	('ready again', 'update jobs set attempt = 1'),
	('leased', 'update jobs set attempt = 1, leased_until = now() + interval ''1 hour'''),
	('leased for the last time', 'update jobs set attempt = 3, leased_until = now() + interval ''1 hour'', dead_at = now() + interval ''1 hour'''),
	('left behind', 'update jobs set attempt = 1, leased_until = now() - interval ''1 hour'''),
	('left behind for the last time', 'update jobs set attempt = 3, leased_until = now() - interval ''1 hour'', dead_at = now() - interval ''1 hour'''),
	('dead', 'update jobs set dead_at = now() - interval ''1 hour'''),
	('done', 'select queue_complete(''jobs'', p.id, p.attempt) from queue_pop(''jobs'') as p'),
	('cancelled', 'select queue_cancel(''jobs'', id) from jobs'),
	('purged', 'select queue_purge(''jobs'')'),
	('deleted', 'delete from jobs'),
	('not unique', 'update jobs set unique_key = null'),
	('none', 'delete from jobs; truncate queue_unique_job');

-- What is inserted first, and then; %s stands for queue_unique_insert's other arguments.
create table ways (n integer generated always as identity, first text, second text, arguments text);
insert into ways (first, second, arguments)
select first, second, coalesce(', ' || arguments, '')
from (values
	('{"a":1,"b":1}', '{"b": 1, "a": 1.0}', null),
	('{"a":1,"b":1}', '{"a":1,"b":2}', null),
	('{"a":1,"b":1}', '{"a":1,"b":2}', 'unique_by => ''{a}'''),
	('{"a":1,"b":1}', '{"a":1,"b":2}', 'unique_by => ''{b}'''),
	('{"a":1}', '{"a":1,"b":null}', 'unique_by => ''{a,b}'''),
	('{"a":1}', '{"a":"1"}', 'unique_by => ''{a}'''),
	('{"a":1}', '{"a":1}', 'states => ''{scheduled}'''),
	('{"a":1}', '{"a":1}', 'states => ''{ready}'''),
	('{"a":1}', '{"a":1}', 'states => ''{leased}'''),
	('{"a":1}', '{"a":1}', 'states => ''{dead}'''),
	('{"a":1}', '{"a":1}', 'states => ''{done}'''),
	('{"a":1}', '{"a":1}', 'states => ''{scheduled,ready,leased}'''),
	('{"a":1}', '{"a":1}', 'states => ''{scheduled,ready,leased,dead,done}'''),
	('{"a":1}', '{"a":1}', 'period => ''1000 days'', run_at => ''2020-01-01'''),
	('{"a":1}', '{"a":1}', 'period => ''1000 days'', run_at => ''2020-01-01'', states => ''{done}''')
) as w (first, second, arguments);

create function outcome_of(way ways, state states, is_many boolean) returns text language plpgsql as $$
declare
	call text := case when is_many then 'select string_agg(inserted::text || case when u.id is null then '' without id'' when u.id = %L then '' 1'' else '''' end, '' '')
			from queue_unique_insert_many(''jobs'', array[%L, %2$L]::jsonb[]%s) as u'
		else 'select inserted::text || case when u.id is null then '' without id'' when u.id = %L then '' 1'' else '''' end
			from queue_unique_insert(''jobs'', %L::jsonb%s) as u' end;
	first_id bigint;
	outcome text;
begin
	execute format('select id from queue_unique_insert(''jobs'', %L::jsonb%s)', way.first, way.arguments) into first_id;
	if state.change is not null then
		execute state.change;
	end if;
	execute format(call, first_id, way.second, way.arguments) into outcome;
	raise sqlstate 'UNDO0';
exception
	when sqlstate 'UNDO0' then
		return outcome;
	when others then
		return sqlstate;
end $$;

create table outcomes (path text, way integer, state integer, one text, two text);
create procedure try_all(path text) language plpgsql as $$
begin
	perform set_config('queue_ext.claim_path', path, false);
	insert into outcomes
	select path, w.n, s.n, outcome_of(w, s, false), outcome_of(w, s, true) from ways as w, states as s;
end $$;
call try_all('direct');
call try_all('portable');
reset queue_ext.claim_path;
\pset format unaligned
\pset tuples_only on
select first || ', ' || second || arguments || E'\n' || string_agg('  ' || names || ': ' || outcome, E'\n' order by state)
from (
	select w.n, w.first, w.second, w.arguments, o.one || ', ' || o.two as outcome, string_agg(s.name, ', ' order by s.n) as names, min(s.n) as state
	from ways as w, states as s, outcomes as o
	where o.way = w.n and o.state = s.n and o.path = 'direct'
	group by w.n, w.first, w.second, w.arguments, o.one, o.two
) as a
group by n, first, second, arguments
order by n;
select 'other on the other path: ' || d::text || p::text
from outcomes as d join outcomes as p using (way, state)
where d.path = 'direct' and p.path = 'portable' and (d.one, d.two) is distinct from (p.one, p.two);
\pset tuples_only off
select queue_drop('jobs');
drop schema test_unique_table cascade;
