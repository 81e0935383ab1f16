-- queue_ext.claim_path: what it may be, and that either path hands out the same.
set client_min_messages = error;
create schema test_claim_path;
set search_path = test_claim_path, public;
-- The setting comes with the library.
load 'queue_ext';
select boot_val, vartype, enumvals, context from pg_settings where name = 'queue_ext.claim_path';
set queue_ext.claim_path = portable;
set queue_ext.claim_path = direct;
set queue_ext.claim_path = auto;
set queue_ext.claim_path = fast;
set queue_ext.claim_path = '';
show queue_ext.claim_path;
create role claim_path_user;
set role claim_path_user;
set queue_ext.claim_path = portable;
reset role;
drop role claim_path_user;

-- A queue, its twin, and what each path makes of them.
create procedure fill(queue text) language plpgsql as $$
begin
	perform queue_create(queue, lease => '1 hour');
	for n in 1 .. 700 loop
		perform queue_send(queue, to_jsonb(n), n * 7919 % 5 - 2, timestamptz '2020-01-01' + n * 104729 % 97 * interval '1 hour',
			1 + n % 3);
	end loop;
	execute format('update %I set dead_at = run_at where id %% 11 = 0', queue);
	execute format('update %I set run_at = ''infinity'' where id %% 13 = 0', queue);
	execute format('update %I set leased_until = ''infinity'' where id %% 17 = 0', queue);
	execute format('update %I set leased_until = run_at, attempt = 4, max_attempts = 5 where id %% 19 = 0', queue);
	execute format('delete from %I where id %% 23 = 0', queue);
end $$;
create table handed (path text, call integer, place bigint, id bigint, attempt integer, payload jsonb, priority smallint,
	run_at timestamptz, max_attempts integer, leased_by text, last_error text, is_leased boolean);
create procedure drain(queue text, chosen text) language plpgsql as $$
declare
	calls integer := 0;
	n bigint;
begin
	perform set_config('queue_ext.claim_path', chosen, false);
	loop
		calls := calls + 1;
		insert into handed
		select chosen, calls, p.ordinality, p.id, p.attempt, p.payload, p.priority, p.run_at, p.max_attempts, p.leased_by, p.last_error,
			p.leased_until > clock_timestamp() + interval '59 minutes'
		from queue_pop(queue, (array[1, 2, 3, 10, 64, 65, 100])[1 + calls % 7], worker => 'w') with ordinality as p;
		get diagnostics n = row_count;
		commit;
		exit when n = 0;
	end loop;
end $$;
call fill('one');
call fill('two');
call drain('one', 'direct');
call drain('two', 'portable');
reset queue_ext.claim_path;
select path, count(*), count(distinct id), max(call) as calls, bool_and(is_leased) from handed group by path order by path;
select count(*) as different
from (select * from handed where path = 'direct') as d
full join (select * from handed where path = 'portable') as p on (p.call, p.place) = (d.call, d.place)
where to_jsonb(d) - 'path' is distinct from to_jsonb(p) - 'path';
select count(*) as different
from one full join two using (id)
where (one.run_at, one.attempt, one.max_attempts, one.priority, one.leased_by, one.last_error, one.payload)
		is distinct from (two.run_at, two.attempt, two.max_attempts, two.priority, two.leased_by, two.last_error, two.payload)
	or (one.dead_at is null) <> (two.dead_at is null) or (one.leased_until is null) <> (two.leased_until is null);

-- Attached tables: no order, one column, several, descending, many types.
create table t (id integer primary key, state text not null default 'new', rank numeric, name text collate "C", at date,
	tries integer not null default 0, flag boolean, extra jsonb);
create table u (like t including all);
create procedure compare(order_by text, is_ordered boolean) language plpgsql as $$
declare
	by_direct text[];
	by_portable text[];
	more text[];
begin
	truncate t, u;
	insert into t (id, rank, name, at, flag)
	select n, n * 7919 % 31 / 4.0, repeat(chr(97 + n % 26), 1 + n % 60), date '2020-01-01' + n * 13 % 50, n % 3 = 0
	from generate_series(1, 600) as n;
	insert into u select * from t;
	perform queue_attach('t', 't', 'state = ''new'' and flag', order_by, 'state = ''taken'', tries = tries + 1'),
		queue_attach('u', 'u', 'state = ''new'' and flag', order_by, 'state = ''taken'', tries = tries + 1');
	loop
		perform set_config('queue_ext.claim_path', 'direct', true);
		more := array(select j::text from queue_pop_rows(null::t, 't', 7) as j);
		by_direct := by_direct || more;
		perform set_config('queue_ext.claim_path', 'portable', true);
		by_portable := by_portable || array(select j::text from queue_pop_rows(null::u, 'u', 7) as j);
		exit when more = '{}';
	end loop;
	if not is_ordered then
		by_direct := array(select unnest(by_direct) order by 1);
		by_portable := array(select unnest(by_portable) order by 1);
	end if;
	raise info '%: % rows, the same: %', order_by, cardinality(by_direct), by_direct = by_portable;
	perform queue_detach('t'), queue_detach('u');
end $$;
call compare(null, false);
call compare('id', true);
call compare('id desc', true);
call compare('rank, id', true);
call compare('rank desc, id', true);
call compare('name, id', true);
call compare('at desc, name desc, id desc', true);

-- With nulls in the order's columns the direct path still hands out all.
create table v (id integer primary key, state integer not null default 0, rank integer);
insert into v select n, 0, nullif(n % 4, 0) from generate_series(1, 700) as n;
select queue_attach('v', 'v', 'state = 0', 'rank, id', 'state = 1');
set queue_ext.claim_path = direct;
create procedure drain_v() language plpgsql as $$
declare
	ids integer[];
	more integer[];
begin
	loop
		more := array(select id from queue_pop_rows(null::v, 'v', 5));
		exit when more = '{}';
		ids := ids || more;
		commit;
	end loop;
	raise info '% rows, in order: %', cardinality(ids), ids = array(select id from v order by rank, id);
end $$;
call drain_v();

reset queue_ext.claim_path;
drop schema test_claim_path cascade;
