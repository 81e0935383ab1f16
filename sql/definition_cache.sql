-- What a session knows of a queue is made again when something of it changes, and only then.

-- Tells what is made for the queues of this test.
create function compiled(command text) returns void language plpgsql as $$
begin
	set local client_min_messages = debug1;
	execute command;
end $$;

select queue_create('kept');
select compiled($$ select * from queue_pop('kept') $$);
select compiled($$ select * from queue_pop('kept') $$);

-- Changes of what is none of its business.
create function nothing() returns integer language sql as 'select 1';
create schema nothing;
create table nothing (id integer primary key, note text);
create temporary table nothing_for_long (id integer);
create type nothing_at_all as enum ('a');
select queue_create('other');
select queue_pause('other');
select queue_alter('other', max_attempts => 3);
select queue_attach('nothing', 'nothing', 'note is null', on_claim => $$note = 'x'$$);
select queue_drop('other');
select queue_detach('nothing');
analyze nothing;
drop schema nothing;
drop function nothing();
select compiled($$ select * from queue_pop('kept') $$);

-- Its own settings, and its table.
select queue_pause('kept');
select compiled($$ select * from queue_pop('kept') $$);
select queue_resume('kept');
select compiled($$ select * from queue_pop('kept') $$);
alter table kept add column note text;
select compiled($$ select * from queue_pop('kept') $$);
select compiled($$ select * from queue_pop('kept') $$);

-- A function of PostgreSQL's own stands for all of them. (Whether it is open to all decides
-- on the direct path, so what is revoked here must come back.)
begin;
revoke execute on function pg_catalog.int4pl(integer, integer) from public;
select compiled($$ select * from queue_pop('kept') $$);
rollback;
select compiled($$ select * from queue_pop('kept') $$);
-- One that nothing depends on.
begin;
revoke execute on function pg_catalog.pg_ls_dir(text) from pg_monitor;
select compiled($$ select * from queue_pop('kept') $$);
rollback;
select compiled($$ select * from queue_pop('kept') $$);

-- The check of a table of the extension's own calls it.
create role cache_worker;
grant all on named_lock to cache_worker;
begin;
set local role cache_worker;
select mutex_acquire('m'), mutex_release('m');
reset role;
revoke execute on function pg_catalog.btrim(text) from public;
set local role cache_worker;
\set VERBOSITY terse
select mutex_acquire('m');
\set VERBOSITY default
rollback;
begin;
set local role cache_worker;
select mutex_acquire('m'), mutex_release('m');
rollback;
revoke all on named_lock from cache_worker;
drop role cache_worker;

-- What fragments name: functions, operators, types, collations, tables, the schemas of them.
create schema parts;
create type parts.mood as enum ('low', 'middle', 'high');
create type parts.spot as (street text, town text);
create type parts.size as (width integer);
create collation parts.plain (locale = 'C');
create table parts.limits (least integer);
create function parts.is_ready(integer) returns boolean immutable language sql as 'select true';
create function parts.is_same(integer, integer) returns boolean immutable language sql as 'select $1 = $2';
create operator parts.=== (function = parts.is_same, leftarg = integer, rightarg = integer);
create table source (id integer primary key, name text, mood parts.mood default 'low', spot parts.spot, taken boolean default false);
insert into source select generate_series(1, 50);
select queue_attach('of_parts', 'source', $$
	not taken and parts.is_ready(id) and id operator(parts.===) id and mood = 'low'::parts.mood
	and mood <> all ('{middle}'::parts.mood[]) and (spot).town is null
	and id > (select coalesce(max(least), 0) from parts.limits)
	and exists (select from json_to_record('{}') as r(size parts.size))$$,
	'name collate parts.plain, id', 'taken = true');
select queue_attach('plain', 'source', 'not taken', 'id', 'taken = true');
create procedure pop_both() language plpgsql as $$
begin
	perform compiled($c$ select * from queue_pop_rows(null::source, 'of_parts') $c$);
	perform compiled($c$ select * from queue_pop_rows(null::source, 'plain') $c$);
end $$;
call pop_both();
call pop_both();
create or replace function parts.is_ready(integer) returns boolean immutable language sql as 'select $1 > 0';
call pop_both();
alter operator parts.=== (integer, integer) set (restrict = eqsel);
call pop_both();
alter type parts.mood rename value 'high' to 'fine'; -- named nowhere
call pop_both();
alter type parts.mood rename value 'low' to 'down';
call pop_both();
alter type parts.mood rename value 'down' to 'low';
call pop_both();
alter type parts.mood rename value 'middle' to 'fair';
call pop_both();
alter type parts.mood rename value 'fair' to 'middle';
call pop_both();
begin;
alter type parts.spot rename attribute town to place;
alter type parts.spot rename attribute street to town;
commit;
call pop_both();
begin;
alter type parts.size rename to width;
alter type parts.width rename to size;
commit;
call pop_both();
alter table parts.limits add column note text;
call pop_both();
begin;
alter collation parts.plain rename to simple;
alter collation parts.simple rename to plain;
commit;
call pop_both();
alter schema parts rename to pieces;
call pop_both();
alter schema pieces rename to parts;
call pop_both();
-- Of that schema nothing is named but a collation.
create schema sorts;
create collation sorts.plain (locale = 'C');
select queue_attach('sorted', 'source', 'not taken', 'name collate sorts.plain, id', 'taken = true');
select compiled($$ select * from queue_pop_rows(null::source, 'sorted') $$);
select compiled($$ select * from queue_pop_rows(null::source, 'sorted') $$);
begin;
alter schema sorts rename to orders;
alter schema orders rename to sorts;
commit;
select compiled($$ select * from queue_pop_rows(null::source, 'sorted') $$);
select queue_detach('sorted');
drop schema sorts cascade;
-- Values that are written as names of objects, and what XMLTABLE returns.
create schema named;
create type named.kind as enum ('a');
create function named.tell(integer) returns integer immutable language sql as 'select $1';
create operator named.=== (function = int4eq, leftarg = integer, rightarg = integer);
create collation named.plain (locale = 'C');
create text search configuration named.words (copy = simple);
create text search dictionary named.word (template = simple);
create role cache_named;
select queue_attach('of_names', 'source', $$
	not taken and pg_typeof(taken) <> 'named.kind'::regtype and 'named.tell'::regproc is not null
	and 'named.tell(integer)'::regprocedure <> id and 'named.==='::regoper is not null
	and 'named.===(integer,integer)'::regoperator <> id and 'named.plain'::regcollation <> id
	and to_tsvector('named.words', name) is null and 'named.word'::regdictionary <> id
	and 'named'::regnamespace <> id and 'cache_named'::regrole <> id and 'source'::regclass <> id
	and (id > 0 or exists (select from xmltable('/a' passing null columns size parts.size path 'a')))$$,
	'id', 'taken = true');
select queue_pop_rows(null::source, 'of_names');
-- Each is given another name, and its own again.
do $$
declare
	change text;
begin
	foreach change in array array[
		'type named.kind rename to other|type named.other rename to kind',
		'function named.tell rename to other|function named.other rename to tell',
		'operator named.=== (integer, integer) set schema public|operator public.=== (integer, integer) set schema named',
		'collation named.plain rename to other|collation named.other rename to plain',
		'text search configuration named.words rename to other|text search configuration named.other rename to words',
		'text search dictionary named.word rename to other|text search dictionary named.other rename to word',
		'role cache_named rename to cache_other|role cache_other rename to cache_named',
		'type parts.size rename to other|type parts.other rename to size',
		'schema named rename to other|schema other rename to named',
		'table source rename to other|table other rename to source'
	] loop
		raise notice '%', change;
		execute 'alter ' || split_part(change, '|', 1);
		execute 'alter ' || split_part(change, '|', 2);
		perform compiled($c$ select * from queue_pop_rows(null::source, 'of_names') $c$);
	end loop;
end $$;
select queue_detach('of_names');
drop schema named cascade;
drop role cache_named;
create function parts.unrelated() returns integer language sql as 'select 1';
call pop_both();

-- A child more is told to the table, one less is not.
create table parent (id integer primary key, taken boolean default false);
create table child () inherits (parent);
select queue_attach('of_parent', 'parent', 'not taken', 'id', 'taken = true');
select compiled($$ select * from queue_pop_rows(null::parent, 'of_parent') $$);
create table more (id integer);
select compiled($$ select * from queue_pop_rows(null::parent, 'of_parent') $$);
drop table child;
select compiled($$ select * from queue_pop_rows(null::parent, 'of_parent') $$);
-- So now the primary key tells its rows apart.
insert into parent values (1);
select queue_complete_row('of_parent', p) from queue_pop_rows(null::parent, 'of_parent') as p;

-- What compares the keys, by its name.
create schema compared;
create function compared.lt(integer, integer) returns boolean immutable strict language internal as 'int4lt';
create function compared.le(integer, integer) returns boolean immutable strict language internal as 'int4le';
create function compared.eq(integer, integer) returns boolean immutable strict language internal as 'int4eq';
create function compared.ge(integer, integer) returns boolean immutable strict language internal as 'int4ge';
create function compared.gt(integer, integer) returns boolean immutable strict language internal as 'int4gt';
create operator compared.<% (function = compared.lt, leftarg = integer, rightarg = integer);
create operator compared.<=% (function = compared.le, leftarg = integer, rightarg = integer);
create operator compared.=% (function = compared.eq, leftarg = integer, rightarg = integer);
create operator compared.>=% (function = compared.ge, leftarg = integer, rightarg = integer);
create operator compared.>% (function = compared.gt, leftarg = integer, rightarg = integer);
create operator class compared.own for type integer using btree as operator 1 compared.<%, operator 2 compared.<=%,
	operator 3 compared.=%, operator 4 compared.>=%, operator 5 compared.>%, function 1 btint4cmp(integer, integer);
create table keyed (id integer not null, taken boolean default false);
create unique index on keyed (id compared.own);
create index on keyed (id) where not taken;
insert into keyed select generate_series(1, 6);
select queue_attach('keyed', 'keyed', 'not taken', 'id', 'taken = true');
select queue_complete_row('keyed', k) from queue_pop_rows(null::keyed, 'keyed') as k;
alter schema compared rename to compares;
select queue_complete_row('keyed', k) from queue_pop_rows(null::keyed, 'keyed') as k;
alter operator compares.=% (integer, integer) set schema public;
select queue_complete_row('keyed', k) from queue_pop_rows(null::keyed, 'keyed') as k;
-- A completion by a statement has the name in its text.
set queue_ext.claim_path = portable;
select queue_complete_row('keyed', k) from queue_pop_rows(null::keyed, 'keyed') as k;
alter operator public.=% (integer, integer) set schema compares;
select queue_complete_row('keyed', k) from queue_pop_rows(null::keyed, 'keyed') as k;
alter schema compares rename to compared;
select queue_complete_row('keyed', k) from queue_pop_rows(null::keyed, 'keyed') as k;
alter schema compared rename to compares;
reset queue_ext.claim_path;

-- The rules of unique rows.
create table whole (id integer, day date, name text) partition by list (day);
create table part partition of whole for values in ('2026-11-22');
create index on part (name);
create procedure insert_unique() language plpgsql as $$
begin
	perform compiled($c$ select queue_unique_insert_row((1, '2026-11-22', 'a')::part, array['name']) $c$);
end $$;
call insert_unique();
call insert_unique();
create function nothing() returns integer language sql as 'select 1';
create schema nothing;
select queue_create('other');
call insert_unique();
-- The lock's name is the whole's, and so its name and schema count.
alter table whole rename to entire;
call insert_unique();
alter table part add check (id > 0);
call insert_unique();
call insert_unique();

-- No more is kept than the setting allows.
create procedure pop_many(count integer) language plpgsql as $$
begin
	for i in 1 .. count loop
		perform queue_send('many_' || i, '1');
		perform * from queue_pop('many_' || i);
	end loop;
end $$;
create function kept(out queues bigint) language sql as $$
	select count(*) from pg_backend_memory_contexts where name = 'queue_ext definition'
$$;
select count(queue_create('many_' || i)) from generate_series(1, 120) as i;
set queue_ext.definition_cache_size = '1MB';
call pop_many(120);
select queues between 3 and 60 as is_bound from kept();
-- Within one transaction, too: what a call may be using stays.
begin;
call pop_many(120);
select queues between 3 and 60 as is_bound from kept();
commit;
-- Each statement counts, whenever it was prepared: that a pop found nothing, too.
create procedure add_many(count integer) language plpgsql as $$
begin
	for i in 1 .. count loop
		execute format('insert into many_%s (payload) values (''1'')', i);
	end loop;
end $$;
create procedure pop_last(count integer) language plpgsql as $$
begin
	for i in 121 - count .. 120 loop
		perform * from queue_pop('many_' || i);
	end loop;
end $$;
create function kept_bytes() returns numeric language sql as $$
	select sum(total_bytes) from pg_backend_memory_contexts
	where name in ('queue_ext definition', 'queue_ext fragments', 'queue_ext compiled claim', 'queue_ext queue name',
		'CachedPlanSource', 'CachedPlanQuery', 'CachedPlan', 'SPI Plan')
$$;
set queue_ext.definition_cache_size = '64kB';
call pop_last(1);
select kept_bytes() as bytes \gset
set queue_ext.definition_cache_size = '1MB';
call add_many(120);
set queue_ext.claim_path = portable;
call pop_last(120);
select kept_bytes() - :bytes between 512 * 1024 and 1280 * 1024 as is_bound;
call pop_last(10);
select kept_bytes() - :bytes between 512 * 1024 and 1280 * 1024 as is_bound;
reset queue_ext.claim_path;
-- Of more sizes than are kept each has its plan for a while.
create function plans() returns bigint language sql as $$
	select count(*) from pg_backend_memory_contexts where name = 'CachedPlanSource'
$$;
set queue_ext.claim_path = portable;
begin;
do $$ begin for i in 1 .. 12 loop perform queue_pop('kept', 1 + i % 6); end loop; end $$;
select plans() as plans \gset
do $$ begin for i in 1 .. 60 loop perform queue_pop('kept', 1 + i % 6); end loop; end $$;
select plans() - :plans < 10 as is_bound;
commit;
reset queue_ext.claim_path;
-- A call that others are made within is still using its own.
create table outermost (id integer primary key, taken boolean default false);
create index on outermost (id) where not taken;
create function pop_within() returns trigger language plpgsql as $$
begin
	call pop_many(60);
	return new;
end $$;
create trigger pop_within before update on outermost for each row execute function pop_within();
insert into outermost values (1), (2);
select queue_attach('outermost', 'outermost', 'not taken', 'id', 'taken = true', on_complete => 'taken = null');
select id, queue_complete_row('outermost', o) from queue_pop_rows(null::outermost, 'outermost', 2) as o;
select * from outermost order by id;
-- Row after row the session's claim looks once more whether each is pending.
create function is_wanted(integer) returns boolean volatile language plpgsql as $$
begin
	call pop_many(60);
	return $1 > 0;
end $$;
create table looked (id integer primary key);
insert into looked select generate_series(1, 3);
select queue_attach('looked', 'looked', 'is_wanted(id)', 'id', claim_mode => 'session');
select id, queue_release_row('looked', l) from queue_pop_rows(null::looked, 'looked', 3) as l;
-- Which may have been kept still.
drop table outermost;
set queue_ext.definition_cache_size = '256MB';
call pop_many(120);
select queues from kept();
reset queue_ext.definition_cache_size;
select count(queue_drop('many_' || i)) from generate_series(1, 120) as i;

drop table keyed, source, parent, more, entire, nothing, looked;
set client_min_messages = warning;
drop schema parts, nothing, compares cascade;
drop type nothing_at_all;
drop function nothing(), compiled(text), kept(), kept_bytes(), plans(), pop_within(), is_wanted(integer);
drop procedure pop_both(), insert_unique(), pop_many(integer), add_many(integer), pop_last(integer);
select queue_drop('kept'), queue_drop('other');
