-- Code of the user's that runs while a statement is parsed: a literal of a composite type is
-- read then, and with it the domains of its columns are checked. It may claim from the same
-- queue, and have the session forget the plan whose place the outer claim's was to take.
set client_min_messages = warning;
create schema test_hostile_parsed;
set search_path = test_hostile_parsed, public;
create table items (id integer primary key, state integer not null default 0);
create index on items (id) where state = 0;
insert into items select generate_series(1, 200);
create table log (id integer);
create sequence calls;
create function claim_others() returns boolean language plpgsql set search_path = test_hostile_parsed, public as $$
begin
	if nextval('calls') = current_setting('parsed.call')::bigint then
		insert into log select id from unnest('{6, 7, 8, 9, 3}'::integer[]) as n, queue_pop_rows(null::items, 'q', n);
	end if;
	return true;
end $$;
create domain checked as integer check (test_hostile_parsed.claim_others());
create type pair as (value checked);
set parsed.call = 0;
select queue_attach('q', 'items', $$state = 0 and '(1)'::test_hostile_parsed.pair is not null$$, 'id', 'state = 1');
set queue_ext.claim_path = portable;
insert into log select id from unnest('{1, 2, 4, 5}'::integer[]) as n, queue_pop_rows(null::items, 'q', n);
-- The next statement to be parsed is that of a claim of three.
select setval('calls', 1, false);
set parsed.call = 1;
insert into log select id from queue_pop_rows(null::items, 'q', 3);
select last_value > 1 as has_claimed from calls;
-- What is made now would stand where a plan that was freed twice did.
do $$
begin
	for i in 1..50 loop
		execute format('prepare p%s(integer) as select count(*) from items where id = $1 and state <> %s', i, i);
		execute format('execute p%s(1)', i);
	end loop;
end $$;
deallocate all;
insert into log select id from unnest('{1, 2, 3, 4, 5, 6, 7, 8, 9}'::integer[]) as n, queue_pop_rows(null::items, 'q', n);
select count(*), count(distinct id) from log;
reset queue_ext.claim_path;

-- A unique insert, for other nulls, while the statement that looks is parsed.
create table pairs (id integer, a integer, b integer);
create function insert_unique(id integer, a integer, b integer, out inserted boolean) language sql as $$
	select (public.queue_unique_insert_row((id, a, b)::test_hostile_parsed.pairs, array['a', 'b'],
		$_$'(1)'::test_hostile_parsed.pair is not null$_$)).inserted
$$;
create or replace function claim_others() returns boolean language plpgsql set search_path = test_hostile_parsed, public as $$
begin
	if nextval('calls') = current_setting('parsed.call')::bigint then
		perform insert_unique(2, null, 7);
	end if;
	return true;
end $$;
set client_min_messages = error; -- no index is for these
set parsed.call = 0;
select insert_unique(1, 1, 1);
select setval('calls', 1, false);
set parsed.call = 1;
select insert_unique(3, 7, null);
select insert_unique(4, null, 7), insert_unique(5, 7, null);
select * from pairs order by id;
set client_min_messages = warning;
drop schema test_hostile_parsed cascade;
