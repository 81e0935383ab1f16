-- Code of the user's that lets go of what a session holds, or takes it, in the midst of
-- the calls that claim it and finish it.
set client_min_messages = warning;
create schema test_hostile_hold;
set search_path = test_hostile_hold, public;
create table items (id integer primary key);
create view held as
select count(*) as locks from pg_locks
where locktype = 'advisory' and classid = 'items'::regclass::oid and pid = pg_backend_pid();
insert into items select generate_series(1, 6);

-- Lets go of all advisory locks, and has the session find that out.
create function let_go() returns boolean language plpgsql as $$
begin
	perform pg_advisory_unlock_all();
	perform queue_is_held('items'::regclass, id::text) from items;
	return true;
end $$;
create function let_go_before() returns trigger language plpgsql as $$
begin
	perform let_go();
	return coalesce(new, old);
end $$;

-- While a job is being finished. It was held when its ending was written. (By
-- statements: the direct path finds rows that were let go by hand a moment later.)
set queue_ext.claim_path = portable;
select queue_attach('q', 'items', 'id > 0', 'id', on_release => 'id = id + 10', claim_mode => 'session');
create trigger let_go before update or delete on items for each row execute function let_go_before();
select id from queue_pop_rows(null::items, 'q', 4);
select queue_complete_row('q', row(1)::items);
select * from held;
select queue_complete_row('q', row(2)::items) as lost;
select id from queue_pop_rows(null::items, 'q', 2);
begin;
select queue_release_row('q', row(2)::items);
rollback;
select queue_release_row('q', row(2)::items) as lost;
select id from items order by id;
drop trigger let_go on items;
reset queue_ext.claim_path;
select queue_detach('q');

-- While a row is looked at: no lock, no claim. And no endless reading of the row.
create function pg_temp.pops(queue text, count integer) returns text language sql as
$$ select string_agg(j.id::text, ',') from queue_pop_rows(null::test_hostile_hold.items, queue, count) as j $$;
select queue_attach('q', 'items', 'let_go()', 'id', claim_mode => 'session');
select pg_temp.pops('q', 1), pg_temp.pops('q', 9);
select * from held;
select queue_detach('q');
create function let_go_if_held() returns boolean language plpgsql as $$
declare
	is_free boolean := (select locks = 0 from held);
begin
	return let_go() and is_free;
end $$;
select queue_attach('q', 'items', 'let_go_if_held()', 'id', claim_mode => 'session');
select pg_temp.pops('q', 1), pg_temp.pops('q', 9);
select * from held;
select queue_detach('q');

-- PostgreSQL's own functions can do so, too, on the direct path.
create function rewrite(call text) returns table (target tsquery, substitute tsquery) language plpgsql as $$
declare
	is_true boolean;
begin
	execute 'select ' || call into is_true;
	return query select 'a'::tsquery, 'b'::tsquery where not is_true;
end $$;
select queue_attach('q', 'items', $$ts_rewrite('a', 'select * from test_hostile_hold.rewrite(''let_go()'')') = 'a'$$, 'id',
	claim_mode => 'session');
select pg_temp.pops('q', 1), pg_temp.pops('q', 9);
select * from held;
select queue_detach('q');
select queue_attach('q', 'items', $$ts_rewrite('a', 'select * from test_hostile_hold.rewrite(''let_go_if_held()'')') = 'a'$$, 'id',
	claim_mode => 'session');
select pg_temp.pops('q', 1), pg_temp.pops('q', 9);
select * from held;
select queue_detach('q');

-- A function that claims, after its row was locked or read: each row once.
insert into items select generate_series(1, 6) on conflict do nothing;
create table claimed (by text, id integer);
create function claim(mode text, own integer) returns boolean language plpgsql as $$
begin
	if own = 3 and not exists (select from claimed) then
		insert into claimed select 'inner', id from queue_pop_rows(null::items, 'inner_' || mode, 3);
	end if;
	return true;
end $$;
create procedure nest(mode text) language plpgsql as $$
begin
	truncate claimed;
	perform queue_attach('inner_' || mode, 'items', 'id > 0', 'id', claim_mode => mode);
	perform queue_attach('outer_' || mode, 'items', format('id > 0 and claim(%L, id)', mode), 'id', claim_mode => mode);
	insert into claimed select 'outer', id from queue_pop_rows(null::items, 'outer_' || mode, 6);
	perform queue_detach('inner_' || mode), queue_detach('outer_' || mode);
end $$;
begin;
call nest('transaction');
select by, array_agg(id order by id) as ids from claimed group by 1 order by 1;
rollback;
begin;
call nest('session');
select by, array_agg(id order by id) as ids from claimed group by 1 order by 1;
select * from held;
rollback;
select * from held;

drop schema test_hostile_hold cascade;
