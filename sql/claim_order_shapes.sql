-- Orders that need more than a comparison of rows to be read on: rows that tie where nothing tells
-- them apart, and columns in mixed directions. No row is skipped, and the order is the table's.
set client_min_messages = error;
create schema test_claim_order_shapes;
set search_path = test_claim_order_shapes, public;
set queue_ext.claim_path = direct;

-- Without a key, and more ties than one fill reads.
create table ties (due integer not null, state integer not null default 0);
create index on ties (due) where state = 0;
insert into ties select i / 1500 from generate_series(1, 3000) as i;
select queue_attach('ties', 'ties', 'state = 0', 'due', 'state = 1');
create table popped (n integer, due integer);
do $$ begin
	for n in 1 .. 40 loop
		insert into popped select n, due from queue_pop_rows(null::ties, 'ties', 100);
	end loop;
end $$;
select count(*), bool_and(due = n / 16 or n in (15, 16, 30, 31)) as in_order from popped;
select state, count(*) from ties group by state;

-- Of a part of the key.
create table parts (a integer not null, b integer not null, state integer not null default 0, primary key (a, b));
create index on parts (a) where state = 0;
insert into parts select i / 1500, i from generate_series(1, 3000) as i;
select queue_attach('parts', 'parts', 'state = 0', 'a', 'state = 1');
truncate popped;
do $$ begin
	for n in 1 .. 40 loop
		insert into popped select n, a from queue_pop_rows(null::parts, 'parts', 100);
	end loop;
end $$;
select count(*), count(distinct due) as values from popped;
select state, count(*) from parts group by state;

-- By another unique key than the primary one: read on behind a row; with a null in it, not.
create table coded (id integer primary key, code integer not null unique, maybe integer unique, state integer not null default 0);
create index on coded (code) where state = 0;
create index on coded (maybe) where state = 0;
insert into coded select i, 4000 - i, i from generate_series(1, 1000) as i;
select queue_attach('coded', 'coded', 'state = 0', 'code', 'state = 1'), queue_attach('maybe', 'coded', 'state = 0', 'maybe', 'state = 1');
select min(code), max(code) from queue_pop_rows(null::coded, 'coded', 400);
select count(*) from queue_pop_rows(null::coded, 'maybe', 300);
select queue, fills > 0 as reads_on from queue_claim_stats where source = 'coded'::regclass order by queue;

-- Mixed directions, both ways round.
create table mixed (id integer primary key, priority integer not null, weight integer not null, state integer not null default 0);
insert into mixed select i, i % 2, i / 2 % 5 from generate_series(1, 3000) as i;
create index on mixed (priority desc, id) where state = 0;
create index on mixed (priority, id desc) where state = 0;
create index on mixed (priority, weight desc, id) where state = 0;
create table popped_in_order (n integer generated always as identity, priority integer, weight integer, id integer);
create function pop_all(order_by text) returns boolean language plpgsql as $$
declare
	is_right boolean;
begin
	update mixed set state = 0;
	truncate popped_in_order restart identity;
	perform queue_attach('mixed', 'mixed', 'state = 0', order_by, 'state = 1');
	for n in 1 .. 40 loop
		insert into popped_in_order (priority, weight, id) select priority, weight, id from queue_pop_rows(null::mixed, 'mixed', 100);
	end loop;
	perform queue_detach('mixed');
	execute format('select array_agg(id order by n) = array_agg(id order by %s) and count(*) = 3000 from popped_in_order', order_by)
	into is_right;
	return is_right;
end $$;
select pop_all('priority desc, id');
select pop_all('priority, id desc');
select pop_all('priority desc, id desc');
select pop_all('priority, weight desc, id');
-- What is read behind a row is counted; the clock may bring a sweep instead, so rounds go on until then.
create function reads_on(order_by text, source regclass default 'mixed') returns boolean language plpgsql as $$
declare
	gone_on bigint := 0;
begin
	perform queue_attach('read_on', source, 'state = 0', order_by, 'state = 1');
	for round in 1 .. 20 loop
		execute format('update %s set state = 0', source);
		execute format('select count(*) from queue_pop_rows(null::%s, %L, 1000)', source, 'read_on');
		select fills into gone_on from queue_claim_stats as s where s.source = reads_on.source and queue like '%read_on';
		exit when gone_on > 0;
	end loop;
	perform queue_detach('read_on');
	return gone_on > 0;
end $$;
select order_by, reads_on(order_by)
from unnest(array['priority desc, id', 'priority, id desc', 'priority, weight desc, id', 'priority, weight', 'priority desc, weight']) as order_by;
-- Three changes of direction, and a column twice.
create table directions (a integer not null, b integer not null, c integer not null, d integer not null, state integer not null default 0);
insert into directions select i / 400, i / 100 % 4, i / 10 % 10, i % 10 from generate_series(0, 2399) as i order by md5(i::text);
create index on directions (a, b desc, c, d desc) where state = 0;
create function all_in_order(source regclass, order_by text, keys text) returns boolean language plpgsql as $$
declare
	is_right boolean;
begin
	execute format('update %s set state = 0', source);
	perform queue_attach('shape', source, 'state = 0', order_by, 'state = 1');
	create temporary table popped_rows (n integer generated always as identity, keys text);
	for n in 1 .. 40 loop
		execute format('insert into popped_rows (keys) select row(%s)::text from queue_pop_rows(null::%s, %L, 100)', keys, source, 'shape');
	end loop;
	perform queue_detach('shape');
	execute format('select (select array_agg(keys order by n) from popped_rows) = array_agg(row(%s)::text order by %s) from %s', keys, order_by, source)
	into is_right;
	drop table popped_rows;
	return is_right;
end $$;
select order_by, all_in_order('directions', order_by, 'a, b, c, d'), reads_on(order_by, 'directions')
from unnest(array['a, b desc, c, d desc', 'a, a desc, b desc, c, d desc', 'd desc, c desc, b, a']) as order_by;
select order_by, all_in_order('directions', order_by, keys), reads_on(order_by, 'directions')
from (values ('a, b desc, c', 'a, b, c'), ('a, b', 'a, b'), ('c desc, b', 'c, b')) as s(order_by, keys);

-- Equal, though not the same bytes: 1.0 and 1.00.
create table scaled (k numeric not null, note text collate "C" not null, state integer not null default 0);
insert into scaled select (i / 90)::numeric(9, 0) + case i % 3 when 0 then 0 when 1 then 0.0 else 0.00 end, i % 7 from generate_series(1, 1300) as i;
create index on scaled (k) where state = 0;
select all_in_order('scaled', 'k', 'round(k)'), reads_on('k', 'scaled');

-- Children have no key in common: the same keys in both.
set queue_ext.claim_path = auto;
create table parent (id integer primary key, state integer not null default 0);
create table child (primary key (id)) inherits (parent);
insert into parent select generate_series(1, 1000);
insert into child select generate_series(1, 1000);
create index on parent (id) where state = 0;
create index on child (id) where state = 0;
select all_in_order('parent', 'id', 'id'), all_in_order('parent', 'id desc', 'id'), reads_on('id', 'parent');
-- Before PostgreSQL 18 a child's column may be null where its parent's may not.
create table strict (a integer not null, b integer not null, state integer not null default 0);
create table lax () inherits (strict);
create index on strict (a, b) where state = 0;
create index on lax (a, b) where state = 0;
insert into strict select i / 400, i from generate_series(1, 1199) as i;
do $$ begin
	alter table lax alter b drop not null;
	insert into lax values (0, null), (1, null), (2, null);
exception when invalid_table_definition or not_null_violation then
end $$;
select all_in_order('strict', 'a, b', 'a, b');

-- More ties than one fill reads, and all locked by this transaction: each pop reads them once, and leaves
-- the rest to a statement.
create table alike (id integer primary key, due integer not null default 0, done boolean not null default false);
create index on alike (due) where not done;
insert into alike select generate_series(1, 1000);
select queue_attach('alike', 'alike', 'not done', 'due', claim_mode => 'transaction');
begin;
create temporary table known as select id from queue_pop_rows(null::alike, max_jobs => 300);
do $$ begin
	for n in 1 .. 20 loop
		insert into known select id from queue_pop_rows(null::alike, max_jobs => 10);
	end loop;
end $$;
select count(*), count(distinct id) from known;
select fills + sweeps < 100 as few from queue_claim_stats where source = 'alike'::regclass;
rollback;
select queue_detach('ties'), queue_detach('parts');
drop schema test_claim_order_shapes cascade;
