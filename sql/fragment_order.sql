-- Rows come in the order that "order_by" says, in all modes, with any types,
-- directions, places of NULLs and collations, with indexes and without.
set client_min_messages = error;
create schema test_order;
set search_path = test_order, public;
create type mood as enum ('sad', 'ok', 'happy');
alter type mood add value 'calm' before 'ok';
create domain score as numeric check (value >= 0);
create type place as (shelf integer, slot integer);
create collation upper_first (provider = icu, locale = 'und-u-kf-upper');
create table t (
	id integer primary key,
	a integer,
	b text,
	c mood,
	d score,
	e timestamptz,
	f jsonb,
	g integer[],
	h place,
	i inet,
	j int4range,
	k text collate upper_first,
	taken boolean not null default false
);
insert into t
select n, nullif(n % 4, 0), nullif(substr('ab', 1 + n % 2, 1) || n % 3, 'a0'), (enum_range(null::mood))[1 + n % 5],
	nullif(n % 3, 1)::score / 7, timestamptz '2020-01-01 00:00Z' + nullif(n % 5, 2) * interval '1 day',
	nullif(jsonb_build_object('n', n % 7), '{"n": 3}'), case when n % 6 > 0 then array[n % 3, n % 2] end,
	case when n % 5 > 0 then row(n % 2, n % 3)::place end, ('10.0.' || n % 4 || '.1')::inet,
	case n % 4 when 0 then 'empty'::int4range when 1 then null else int4range(n % 5, n % 5 + 3) end,
	(array['a', 'A', 'b', 'B', 'ä', null])[1 + n % 6]
from generate_series(1, 60) as n;
create index on t (a, b desc nulls last);
create index on t (c) where not taken;

-- Pops all by the order and compares with SELECT under the same order.
create procedure compare(order_by text, mode text default 'update') language plpgsql as $$
declare
	wanted integer[];
	popped integer[];
	n integer;
begin
	execute format(E'select array_agg(id order by %s\n) from t', order_by) into wanted;
	perform queue_attach('q', 'test_order.t', 'not taken', order_by, case mode when 'update' then 'taken = true' end,
		claim_mode => mode);
	popped := array(select id from queue_pop_rows(null::t, 'q', 7));
	popped := popped || array(select id from queue_pop_rows(null::t, 'q'));
	popped := popped || array(select id from queue_pop_rows(null::t, 'q', 1000));
	if wanted is distinct from popped then
		raise info 'order by %, mode %: % instead of %', order_by, mode, popped, wanted;
	end if;
	perform queue_detach('q');
	rollback;
end $$;

-- Every column by itself, each way.
create procedure each_column(mode text) language plpgsql as $$
declare
	clause text;
	tried integer := 0;
begin
	for clause in
		select concat_ws(' ', col, dir, nulls) || ', id'
		from unnest(string_to_array('a b c d e f g h i j k', ' ')) as col
		cross join unnest(array[null, 'asc', 'desc']) as dir
		cross join unnest(array[null, 'nulls first', 'nulls last']) as nulls
	loop
		call compare(clause, mode);
		tried := tried + 1;
	end loop;
	raise info '% orders in mode %', tried, mode;
end $$;
call each_column('update');
call each_column('transaction');
call each_column('session');

-- Many columns, and expressions.
create procedure each_list() language plpgsql as $$
declare
	clause text;
	mode text;
	tried integer := 0;
begin
	foreach clause in array array[
		'a, b, c, d, id',
		'a desc, b asc, c desc, d asc, id desc',
		'a nulls first, b desc nulls last, c, d desc nulls first, id',
		'c desc nulls first, a desc nulls last, d nulls first, b nulls last, id',
		'a, b desc nulls last, id',
		'a desc, b nulls first, id',
		'g desc, h, f desc nulls last, j nulls first, id desc',
		'coalesce(a, 2) desc, lower(b) nulls first, id',
		'a + d, id',
		'case when a > 1 then 0 when a is null then 1 end nulls first, c desc, id',
		'(a is null), -a, id',
		'b collate "C" desc, id',
		'b collate "POSIX", b collate upper_first desc, id',
		'k, id',
		'k collate "C" desc nulls first, id',
		'k || b, id',
		'f ->> ''n'' desc, id',
		'(f -> ''n'')::integer % 3, f #>> ''{n}'' nulls first, id',
		'g[1] desc nulls last, g[2], id',
		'(h).slot, (h).shelf desc nulls last, id',
		'c::text, id',
		'd::integer, d desc, id',
		'e at time zone ''UTC'', extract(dow from e) desc, id',
		'(select count(*) from t o where o.a < t.a) desc, id',
		'row(a, b), id',
		'upper(j) nulls first, id',
		'a nulls last, "id" DESC NULLS LAST',
		'id -- and no more',
		'id'
	] loop
		foreach mode in array array['update', 'transaction', 'session'] loop
			call compare(clause, mode);
			tried := tried + 1;
		end loop;
	end loop;
	raise info '% lists', tried;
end $$;
call each_list();

-- The comparison above can fail.
select array_agg(id order by c, id) = array_agg(id order by c::text, id) as same_for_enums,
       array_agg(id order by k, id) = array_agg(id order by k collate "C", id) as same_for_collations,
       array_agg(id order by d nulls first, id) = array_agg(id order by d, id) as same_for_nulls
from t;

-- Without an order any row will do, but each comes once.
select queue_attach('q', 't', 'not taken', on_claim => 'taken = true') \g /dev/null
select count(distinct id) from (select id from queue_pop_rows(null::t, 'q', 40) union all select id from queue_pop_rows(null::t, 'q', 40)) s;
drop schema test_order cascade;
