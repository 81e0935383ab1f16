-- Calls within calls: what is pending, what a claim writes, a default, a check and an
-- index may all be functions that call the extension again, for the same queue too.
set client_min_messages = warning;
set queue_ext.definition_cache_size = '64kB'; -- what no call uses is freed as soon as may be
create schema test_hostile_nested;
set search_path = test_hostile_nested, public;

-- Runs a command at the call of that number, in a session's counting. As a query of
-- ts_rewrite(), a function of PostgreSQL's own, it does so on the direct path, too.
create sequence calls;
create function at_call(number bigint, command text) returns boolean language plpgsql as $$
begin
	if nextval('test_hostile_nested.calls') = number then
		execute command;
	end if;
	return true;
end $$;
create function rewrite(number bigint, command text) returns table (target tsquery, substitute tsquery) language plpgsql as
$$ begin perform at_call(number, command); end $$;
create function query(number bigint, command text) returns text language sql as
$$ select format('ts_rewrite(''a'', %L)', format('select * from test_hostile_nested.rewrite(%s, %L)', number, command)) $$;
create table items (id integer primary key, state integer not null default 0, note text not null) with (fillfactor = 10);
create index on items (id) where state = 0;
create table log (by text, id integer, note text);
create procedure reset_all() language plpgsql as $$
begin
	perform setval('calls', 1, false);
	delete from log;
	delete from items;
	insert into items (id, note) select i, repeat(chr(64 + i), 10 * i) from generate_series(1, 8) i;
end $$;

-- A claim that is evaluated within its own evaluation. The first eight calls are those of
-- the fill; then each claim has two, for what is pending and what is written.
\set inner 'insert into log select ''inner'', j.id, j.note from queue_pop_rows(null::items, ''q'', 2) j'
call reset_all();
select queue_attach('q', 'items', format('state = 0 and %s::text <> (note || ''!'')', query(9, :'inner')), 'id',
	format('state = 1, note = (note || ''!'') || %s::text', query(0, '')));
insert into log select 'outer', j.id, j.note from queue_pop_rows(null::items, 'q', 3) j;
select count(*) = count(distinct id) as is_each_once from log;
select id, note from log where note <> repeat(chr(64 + id), 10 * id) || '!''a''';
select queue_detach('q');
call reset_all();
select queue_attach('q', 'items', format('state = 0 and %s::text <> note', query(0, '')), 'id',
	format('state = 1, note = (note || ''!'') || %s::text', query(10, :'inner')));
insert into log select 'outer', j.id, j.note from queue_pop_rows(null::items, 'q', 3) j;
select count(*) = count(distinct id) as is_each_once from log;
select id, note from log where note <> repeat(chr(64 + id), 10 * id) || '!''a''';
select queue_detach('q');

-- The candidates that the outer claim has in hand are let go of, too, where the inner one is
-- of a queue made anew, with the same ring: a pop soon knows that all rows are locked.
call reset_all();
delete from items where id > 3;
create table fragment (pending text);
insert into fragment values (query(4, 'select test_hostile_nested.attach_anew()') || ' = ''a''');
create function attach_anew() returns void language plpgsql as $$
begin
	perform queue_detach('q', true), queue_attach('q', 'items', pending, 'id', claim_mode => 'transaction') from fragment;
	perform queue_pop_rows(null::items, 'q', 1);
end $$;
select queue_attach('q', 'items', pending, 'id', claim_mode => 'transaction') from fragment;
begin;
select count(*) > 1 as are_popped from queue_pop_rows(null::items, 'q', 3);
select coalesce(sum(sweeps), 0) as sweeps from queue_claim_stats where queue = 'test_hostile_nested.q' \gset
select id from queue_pop_rows(null::items, 'q', 3);
select coalesce(sum(sweeps), 0) < :sweeps + 10 as knows from queue_claim_stats where queue = 'test_hostile_nested.q';
commit;
select queue_detach('q');

-- Indexes and checks that call the extension, for the same queue and lock.
select queue_create('jobs');
create function at_call(number bigint, command text, value anyelement) returns anyelement immutable language plpgsql as
$$ begin perform test_hostile_nested.at_call(number, command); return value; end $$;
create index on jobs (at_call(2, $$select queue_send('test_hostile_nested.jobs', '"inner"')$$, run_at));
select setval('calls', 1, false);
select count(queue_send('jobs', to_jsonb(i))) from generate_series(1, 2) as i;
select array_agg(payload::text order by payload::text) from jobs;
create index on jobs (at_call(2, $$select queue_pop('test_hostile_nested.jobs')$$, run_at));
select setval('calls', 1, false);
select count(*) from queue_send_many('jobs', '{3, 4, 5}');
create index on jobs (at_call(2, $$select queue_unique_insert('test_hostile_nested.jobs', '6')$$, run_at));
select setval('calls', 1, false);
select count(*), count(distinct id), sum(inserted::integer) from queue_unique_insert_many('jobs', '{6, 7, 8}');
select count(*), count(distinct id), count(distinct payload) from jobs;
select count(*) = count(distinct id) as is_each_once, max(attempt) from queue_pop('jobs', 20) as job;
alter table named_lock add constraint nested
	check (ts_rewrite('a', 'select * from test_hostile_nested.rewrite(2, ''select mutex_acquire(''''inner'''')'')') = 'a');
select setval('calls', 1, false);
select mutex_acquire('outer 1'), mutex_acquire('outer 2'), mutex_acquire('inner');
select setval('calls', 1, false);
select mutex_release('outer 1'), mutex_release('outer 2'), mutex_release('inner');
delete from named_lock where task_id in ('outer 1', 'outer 2', 'inner');
alter table named_lock drop constraint nested;

-- The same, of whatever the code may do, at each of its calls: in what is pending and in
-- what is written (as a function, so by statements, as a query of ts_rewrite(), as a check
-- of a domain while a literal is parsed, and as a function that is called while a statement
-- is planned), and in a trigger while a job is completed. Whatever comes of it, it is no job
-- twice, no internal error, and no crash.
create function do_attack() returns boolean language plpgsql set search_path = test_hostile_nested, public as $$
begin
	if nextval('calls') = current_setting('nested.call')::bigint then
		if current_setting('nested.is_caught')::boolean then
			begin
				execute current_setting('nested.command');
			exception when others then
				null;
			end;
		else
			execute current_setting('nested.command');
		end if;
	end if;
	return true;
end $$;
create function attack() returns boolean language sql as 'select test_hostile_nested.do_attack()';
create function attack_query() returns table (target tsquery, substitute tsquery) language plpgsql as
$$ begin perform test_hostile_nested.attack(); end $$;
create function attack_value(integer) returns boolean language sql as 'select test_hostile_nested.attack()';
create domain checked as integer check (attack_value(value));
create type pair as (value checked);
create function attack_planned(integer) returns boolean immutable language plpgsql as
$$ begin return test_hostile_nested.attack(); end $$;
create function attack_trigger() returns trigger language plpgsql as
$$ begin perform test_hostile_nested.attack(); return coalesce(new, old); end $$;

-- Of what is combined with each other here one in so many is tried, or all.
\set sample 1
\getenv sample QUEUE_EXT_SAMPLE
set nested.sample = :sample;
create sequence runs;
create table attacks (command text, n integer generated always as identity);
insert into attacks values
	('insert into log select ''inner'', id from queue_pop_rows(null::items, ''q'', 2); select 1 / 0'),
	('insert into log select ''inner'', id from queue_pop_rows(null::items, ''q'', 2)'),
	('insert into log select ''other'', id from queue_pop_rows(null::items, ''other'', 2)'),
	('insert into log select ''inner'', j.id from unnest(array[1, 2, 4, 5, 6]) as n, queue_pop_rows(null::items, ''q'', n) as j'),
	('select queue_complete_row(''q'', i) from items as i'),
	('select queue_release_row(''q'', i) from items as i'),
	('select queue_detach(''q'')'),
	('select queue_detach(''q''); select attach_q(mode) from now_tested; insert into log select ''inner'', id from queue_pop_rows(null::items, ''q'', 2)'),
	('select queue_detach(''q''); select attach_q(''update''); insert into log select ''other'', id from queue_pop_rows(null::items, ''q'', 2)'),
	('select queue_detach(''q''); select attach_q(''session''); insert into log select ''other'', id from queue_pop_rows(null::items, ''q'', 2)'),
	('drop table items'),
	('truncate items'),
	('alter table items add column more text default 1'),
	('alter table items drop column note'),
	('alter table items rename column state to status'),
	('alter table items rename to things'),
	('alter table items set schema public'),
	('create index on items (note)'),
	('create trigger more before update or delete on items for each row execute function attack_trigger()'),
	('create rule more as on update to items do instead nothing'),
	('alter table items enable row level security'),
	('create function more() returns void language sql as ''''; insert into log select ''inner'', id from queue_pop_rows(null::items, ''q'', 2)'),
	('drop extension queue_ext cascade'),
	('discard plans; discard sequences'),
	('select pg_advisory_unlock_all(); select queue_is_held(''items''::regclass, id::text) from items'),
	('update items set state = 1'),
	('delete from items'),
	('set local queue_ext.claim_path = portable; insert into log select ''inner'', id from queue_pop_rows(null::items, ''q'', 2)'),
	('create or replace function attack() returns boolean language sql as ''select true''');

-- One worker's round: claims three, and completes them.
alter table log drop column note;
create procedure work() language plpgsql as $$
declare
	job record;
begin
	for job in execute 'select j::text, j.id from queue_pop_rows(null::items, ''q'', 3) as j' loop
		insert into log values ('outer', job.id);
		execute 'select queue_complete_row(''q'', $1::items)' using job.j;
	end loop;
end $$;
create function set_up() returns void language plpgsql as $$
begin
	perform pg_advisory_unlock_all();
	delete from log;
	drop table if exists things, public.items, items cascade;
	drop function if exists more();
	create or replace function attack() returns boolean language sql as 'select true';
	create table items (id integer primary key, state integer default 0, note text) with (fillfactor = 10);
	create index on items (id) where state = 0;
	insert into items select generate_series(1, 4);
	create trigger attack before delete on items for each row execute function attack_trigger();
	perform attach_q(mode), queue_attach('other', 'items', 'state = 0', 'id', 'state = 1') from now_tested;
	create or replace function attack() returns boolean language sql as 'select test_hostile_nested.do_attack()';
end $$;

-- Each command at each of these calls; its errors are caught there, or break off the round.
create procedure attack_all(calls integer[], commits boolean default false) language plpgsql as $$
declare
	round record;
	run bigint := nextval('test_hostile_nested.runs');
	sample integer := current_setting('nested.sample');
begin
	for round in
		select a.command, c.call, is_caught
		from attacks as a, unnest(calls) as c(call), unnest(array[true, false]) as is_caught
		where (not commits or (is_caught and a.command !~ 'extension')) and (a.n + c.call + is_caught::integer + run) % sample = 0
	loop
		perform setval('calls', 1, false), set_config('nested.call', round.call::text, true),
			set_config('nested.command', round.command, true), set_config('nested.is_caught', round.is_caught::text, true);
		begin
			call work();
			if exists (select from log where by <> 'other' group by id having count(*) > 1) then
				raise exception 'handed out twice';
			end if;
		exception when sqlstate 'XX000' or sqlstate 'XX001' or sqlstate 'XX002' or raise_exception then
			raise warning '%: %', round, sqlerrm;
		when others then
			null;
		end;
		if commits then
			commit;
			perform set_up();
			commit;
		end if;
		rollback;
	end loop;
end $$;
create table now_tested (mode text, way text);
insert into now_tested values ('update', 'query');
create function attach_q(mode text) returns void language plpgsql as $$
declare
	attacked text := case way when 'query' then 'ts_rewrite(''a'', ''select * from test_hostile_nested.attack_query()'') = ''a'''
		when 'literal' then '''(1)''::test_hostile_nested.pair is not null'
		when 'planned' then 'test_hostile_nested.attack_planned(1)'
		else 'test_hostile_nested.attack()' end from now_tested;
begin
	perform queue_attach('q', 'items', 'state = 0 and ' || attacked, 'id',
		case when mode = 'update' then format('state = case when %s then 1 end', attacked) end, claim_mode => mode);
end $$;

create procedure test_next(new_mode text, new_way text) language plpgsql as $$
begin
	update now_tested set mode = new_mode, way = new_way;
	perform set_up();
end $$;
call test_next('update', 'query');
call attack_all('{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}');
call attack_all('{1, 5, 8, 11}', true);
call test_next('update', 'function');
call attack_all('{1, 2, 4, 5, 7, 8, 10}');
call test_next('transaction', 'query');
call attack_all('{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}');
call test_next('transaction', 'function');
call attack_all('{1, 2, 4, 5, 7, 8, 10}');
call test_next('session', 'query');
call attack_all('{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}');
call attack_all('{1, 5, 8, 11}', true);
call test_next('session', 'function');
call attack_all('{1, 2, 4, 5, 7, 8, 10}');
-- A table, or a function of a statement, that is gone by the time the statement has been
-- parsed, or planned, is an internal error of PostgreSQL's own, in any SELECT.
delete from attacks where command ~ '^drop';
call test_next('update', 'literal');
call attack_all('{1, 2, 3, 4, 5, 6, 7, 8}');
call test_next('transaction', 'literal');
call attack_all('{1, 2, 3, 4, 5, 6}');
call test_next('session', 'literal');
call attack_all('{1, 2, 3, 4, 5, 6}');
call test_next('update', 'planned');
call attack_all('{1, 2, 3, 4, 5, 6}');
call test_next('transaction', 'planned');
call attack_all('{1, 2, 3, 4}');
call test_next('session', 'planned');
call attack_all('{1, 2, 3, 4, 5}');

drop schema test_hostile_nested cascade;
