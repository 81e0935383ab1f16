-- Orders that a ring cannot read on behind a row: rows that tie where nothing tells them apart, and
-- columns in mixed directions. No row is skipped, and the order is the table's.
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
select queue_detach('ties'), queue_detach('parts');
drop schema test_claim_order_shapes cascade;
