-- Keys of every kind in every claim mode on both paths: the right row is popped, held,
-- finished and given back, and no other; a receipt that names another row, or an earlier
-- claim, does nothing; and a row is inserted only once.
set client_min_messages = error;
set synchronous_commit = off;
create schema test_key_types;
set search_path = test_key_types, public;
create type mood as enum ('it''s', ' ', 'B', 'a');
create type pair as (a integer, b text);
create domain word as text;
create domain number as bigint;
-- Without ICU none is nondeterministic: then nothing equals 'A' but 'A'.
do $$ begin
	create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
exception when feature_not_supported or undefined_object or invalid_parameter_value then
	create collation any_case from "C";
end $$;

-- columns, key: those of the key, in the table's order and in the key's.
-- rows: their values. alike: the key of the first again, in other bytes.
-- identity: the text whose hash is the number of the row's lock (null: the key itself).
-- declared: what else makes the table.
create table kinds (
	n integer generated always as identity,
	kind text,
	columns text,
	key text[],
	rows text[],
	alike text[],
	identity text default 'k::text',
	declared text default 'alter table t add primary key (%s)'
);
insert into kinds (kind, columns, key, rows, alike, identity) values
	('smallint', 'k smallint', '{k}', '{7,-32768,0,32767}', null, null),
	('integer', 'k integer', '{k}', '{0,2147483647,-1,-2147483648}', null, null),
	('domain over bigint', 'k number', '{k}', '{0,3,-1,-2147483648}', null, null);
insert into kinds (kind, columns, key, rows, alike) values
	('bigint', 'k bigint', '{k}', '{2147483648,-9223372036854775808,9223372036854775807,-2147483649}', null),
	('oid', 'k oid', '{k}', '{7,4294967295,2147483648,1}', null),
	('numeric', 'k numeric', '{k}', '{1.00,0.1,-5,10000000000000000000000.50}', array['1.0']),
	('numeric NaN', 'k numeric', '{k}', '{0,''NaN'',''Infinity'',''-Infinity'',-1}', array['0.000']),
	('numeric(5,2)', 'k numeric(5,2)', '{k}', '{1,0.1,-5,999.99}', array['1.00']),
	('text', 'k text', '{k}', array['''''', ''' ''', '''it''''s''', '''a\b\''', '''"q"''', '''ü,(x)''', 'e''a\nb''', '''{}'''], null),
	('text of any case', 'k text collate any_case', '{k}', array['''a''', '''bÖ''', '''c"''''d''', ''' ''', ''''''],
		(select case when not collisdeterministic then array['''A'''] end from pg_collation where oid = 'any_case'::regcollation)),
	('char(n)', 'k char(5)', '{k}', array['''ab''', ''' ''', '''ü''''"\''', '''AB'''], array['''ab   ''']),
	('varchar', 'k varchar(9)', '{k}', array['''ab''', ''' ''', '''ü''''"\''', '''ab '''], null),
	('name', 'k name', '{k}', array['''ab''', '''''', '''ü''''"\''', 'repeat(''x'', 63)'], array['repeat(''ab'', 1)']),
	('"char"', 'k "char"', '{k}', array['''a''', '''''', '''"''', '''\''', '''A'''], null),
	('uuid', 'k uuid', '{k}', array['''00000000-0000-0000-0000-00000000000a''', '''ffffffff-ffff-ffff-ffff-ffffffffffff''',
		'''00000000-0000-0000-0000-000000000000''', '''a0000000-0000-0000-0000-000000000000'''], array['''{0000000000000000000000000000000A}''']),
	('boolean', 'k boolean', '{k}', '{true,false}', array['''on''']),
	('enum', 'k mood', '{k}', array['''a''', '''B''', ''' ''', '''it''''s'''], null),
	('domain over text', 'k word', '{k}', array['''a''', '''''', '''it''''s \''', '''ü'''], null),
	('array of a key''s type', 'k text[]', '{k}', array['''{}''', 'array[''a"\'', null]', 'array[''NULL'']', 'array[array['''', '' ''], array[''{'', ''ü'']]'], null),
	('float8', 'k float8', '{k}', '{''-0'',-1,''NaN'',''Infinity'',''-Infinity'',0.1,1e-320}', array['0']),
	('float4', 'k float4', '{k}', '{''-0'',-1,''NaN'',3.4028235e38,0.1}', array['0']),
	('interval', 'k interval', '{k}', array['''1 month''', '''-1 day +02:00''', '''0''', '''178000000 years'''], array['''30 days''']),
	('inet', 'k inet', '{k}', array['''10.0.0.1''', '''10.0.0.1/8''', '''::1''', '''0.0.0.0/0'''], array['''10.0.0.1/32''']),
	('bit', 'k bit(3)', '{k}', array['''000''', '''111''', '''010''', '''100'''], null),
	('bit varying', 'k bit varying', '{k}', array['''''', '''0''', '''00''', '''1'''], null),
	('integer[]', 'k integer[]', '{k}', array['''{}''', '''{1,NULL}''', '''{1}''', '''[0:0]={1}''', '''{{1,2},{3,4}}'''], null),
	('range', 'k int4range', '{k}', array['''[1,5)''', '''empty''', '''(,)''', '''[1,6)'''], array['''(0,4]''']),
	('jsonb', 'k jsonb', '{k}', array['''{"a": 1.0}''', '''null''', '''"it''''s \\ \" ü"''', '''[]'''], array['''{"a": 1.000}''']),
	('composite', 'k pair', '{k}', array['row(1, ''it''''s, "\" (x)'')', 'row(1, null)', 'row(null, '''')', 'row(null, null)'], null);
insert into kinds (kind, columns, key, rows, alike, identity) values
	('bytea', 'k bytea', '{k}', array['''\x''', '''\x00''', '''\xff5c27''', '''\x5c'''], null, 'encode(k, ''hex'')'),
	('date', 'k date', '{k}', array['''2000-02-29''', '''infinity''', '''-infinity''', '''0001-01-01 BC''', '''5874897-12-31'''], array['''29 Feb 2000'''], 'extract(epoch from k)::text'),
	('timestamp', 'k timestamp', '{k}', array['''2000-01-01 00:00:00.000001''', '''2000-01-01''', '''infinity''', '''4713-01-01 BC'''], null, 'extract(epoch from k)::text'),
	('timestamptz', 'k timestamptz', '{k}', array['''2000-01-01 00:00:00.000001+00''', '''2000-01-01 00:00+00''', '''infinity''', '''-infinity'''],
		array['''2000-01-01 05:30:00.000001+05:30'''], 'extract(epoch from k)::text'),
	('two columns', 'a integer, b integer', '{a,b}', array['2, 2', '1, 2', '2, 1', '1, 1', '3, 1'], null, 'row(a::text, b::text)::text'),
	('three columns', 'a text, b numeric, c timestamptz', '{a,b,c}', array['''it''''s'', 1.0, ''2000-01-01 00:00+00''', '''it''''s'', 1.0, ''2001-01-01 00:00+00''',
		'''it''''s'', 2, ''2000-01-01 00:00+00''', ''''', 1.0, ''2000-01-01 00:00+00''', '''a,b'', 2, ''infinity'''], array['''it''''s''', '1.00', '''2000-01-01 01:00+01'''],
		'row(a::text, b::text, extract(epoch from c)::text)::text'),
	('columns of one text', 'a text, b text', '{a,b}', array['''a,b'', ''c''', '''a'', ''b,c''', '''"a'', ''b"''', ''''', ''''', '''a'', '''''], null,
		'row(a::text, b::text)::text'),
	('key in another order', 'a integer, b integer, c text', '{c,a,b}', array['1, 2, ''x''', '2, 1, ''x''', '1, 1, ''y''', '1, 1, ''x''', '1, 2, ''y'''], null,
		'row(c::text, a::text, b::text)::text'),
	('name to be quoted', '"Key ""K""" integer, "select" text', array['Key "K"', 'select'], array['1, ''x''', '1, ''y''', '2, ''x''', '0, ''y'''], null,
		'row("Key ""K"""::text, "select"::text)::text');
insert into kinds (kind, columns, key, rows, alike, identity, declared) values
	('after a dropped column', 'gone integer default 5, a integer, lost text default ''l'', b integer', '{a,b}', array['2, 2', '1, 2', '2, 1', '1, 1'], null,
		'row(a::text, b::text)::text', 'alter table t drop column gone, drop column lost, add primary key (%s)'),
	('unique index', 'a integer not null, b text not null', '{b,a}', array['1, ''x''', '2, ''x''', '1, ''y''', '2, ''y'''], null,
		'row(b::text, a::text)::text', 'create unique index on t (%s)'),
	('unique constraint', 'a integer not null', '{a}', '{0,1,-1,5}', null, null, 'alter table t add unique (%s)'),
	('descending index', 'a integer not null, b text not null', '{a,b}', array['1, ''x''', '2, ''x''', '1, ''y''', '2, ''y'''], null,
		'row(a::text, b::text)::text', 'create unique index on t (a desc nulls last, b desc)'),
	('included columns', 'a integer, b text', '{a,b}', array['1, ''x''', '2, ''x''', '1, ''y''', '2, ''y'''], null,
		'row(a::text, b::text)::text', 'alter table t add primary key (%s) include (note, ord)'),
	('included in an index', 'a integer not null, b text not null', '{a}', array['1, ''x''', '2, ''x''', '3, ''x''', '4, ''y'''], null,
		null, 'create unique index on t (%s) include (b)'),
	('replica identity', 'a integer not null, b integer not null', '{a,b}', array['2, 2', '1, 2', '2, 1', '1, 1'], null,
		'row(a::text, b::text)::text', 'create unique index t_a_b on t (%s); alter table t replica identity using index t_a_b'),
	('beside a replica identity', 'a integer, b integer not null', '{a}', array['1, 2', '2, 1', '3, 4', '4, 3'], null,
		null, 'alter table t add primary key (%s); create unique index t_b on t (b); alter table t replica identity using index t_b'),
	('partitioned', 'a integer, b text', '{a,b}', array['1, ''x''', '1, ''y''', '2, ''x''', '3, ''y'''], null,
		'row(a::text, b::text)::text', 'alter table t add primary key (%s)'),
	('nullable', 'a integer, b text', '{a,b}', array['1, ''x''', '1, ''y''', '2, ''x''', '3, null'], null, null, 'create unique index on t (%s)');

-- The table t of that kind; and in the table was its rows, with their places in the order.
create procedure make(kind kinds) language plpgsql as $$
declare
	key text := (select string_agg(quote_ident(k), ', ') from unnest(kind.key) as k);
begin
	drop table if exists t, was;
	execute format('create table t (%s, ord integer not null default 0, state integer not null default 0, tries integer not null default 0, note text)%s',
		kind.columns, case when kind.kind = 'partitioned' then ' partition by list (a)' end);
	if kind.kind = 'partitioned' then
		create table t_1 partition of t for values in (1);
		create table t_rest (note text, tries integer not null default 0, gone integer, ord integer not null default 0,
			state integer not null default 0, b text, a integer);
		alter table t_rest drop column gone;
		alter table t attach partition t_rest default;
	end if;
	execute format(kind.declared, key);
	execute format('create index on t (%s) where state = 0', key);
	execute format('insert into t (%s) values (%s)', (
		select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
		where attrelid = 't'::regclass and attnum > 0 and not attisdropped and attname not in ('ord', 'state', 'tries', 'note')),
		array_to_string(kind.rows, '), ('));
	create table was as select * from t;
	execute format('update was set ord = place from (select ctid as row, row_number() over (order by %s) as place from was) as o where row = was.ctid', key);
end $$;

-- The rows of the table, but for the columns that nothing changes; these are compared.
create function state_of_all() returns text language plpgsql as $$
declare
	fixed text := (select string_agg(quote_ident(attname), ', ') from pg_attribute
		where attrelid = 'was'::regclass and attnum > 0 and attname not in ('state', 'tries', 'note'));
	state text;
begin
	execute format('select string_agg(concat_ws('':'', ord, state, tries, note), '' '' order by ord)
			|| case when bool_and(exists (select from was where row(%1$s) *= fixed)) then '''' else '' and other keys'' end
		from (select ord, state, tries, note, row(%1$s) as fixed from t) as t', fixed)
	into state;
	return state;
end $$;

create function state_of(states integer[], tries integer[], notes text[]) returns text language sql
return (select string_agg(concat_ws(':', i, states[i], tries[i], notes[i]), ' ' order by i) from generate_subscripts(states, 1) as i where states[i] is not null);

-- The outcome of a call: its result as text, or the SQLSTATE.
create function outcome(call text) returns text language plpgsql as $$
declare
	result text;
begin
	execute 'select ' || call into result;
	return coalesce(result, 'null');
exception when others then
	return sqlstate;
end $$;
-- Pops, and keeps the receipts. Which rows they are of.
create table receipts (ord integer primary key, receipt text);
create function pop(jobs integer) returns text language plpgsql as $$
declare
	place integer;
	receipt text;
	popped text;
begin
	for place, receipt in
		execute format('select (j).ord, quote_literal(j::text) || ''::t'' from (select queue_pop_rows(null::t, ''q'', max_jobs => %s) as j) as p', jobs)
	loop
		popped := concat_ws(' ', popped, place);
		insert into receipts values (place, receipt) on conflict (ord) do update set receipt = excluded.receipt;
	end loop;
	return popped;
exception when others then
	return sqlstate;
end $$;
-- A row with another value of a column.
create function altered(receipt text, name name, value text) returns text strict language plpgsql as $$
declare
	result text;
begin
	execute format('select quote_literal((row(%s)::t)::text) || ''::t'' from (select %s as r) as r', (
		select string_agg(case when attname = name then value else format('(r).%I', attname) end, ', ' order by attnum)
		from pg_attribute where attrelid = 't'::regclass and attnum > 0 and not attisdropped), receipt) into result;
	return result;
end $$;

-- A row with the key that is alike; and the place of the row whose key it is.
create function alike(kind kinds, receipt text) returns text language plpgsql as $$
begin
	for i in 1 .. cardinality(kind.alike) loop
		receipt := altered(receipt, kind.key[i], kind.alike[i]);
	end loop;
	return receipt;
end $$;
create function place_alike(kind kinds) returns integer language plpgsql as $$
declare
	place integer;
begin
	if kind.alike is not null then
		execute format('select ord from was where (%s) = (%s)',
			(select string_agg(quote_ident(k), ', ') from unnest(kind.key) as k), array_to_string(kind.alike, ', ')) into strict place;
	end if;
	return place;
end $$;

-- What is not as it should be.
create table faults (n integer generated always as identity, fault text);
create function expect(what text, got text, wanted text) returns void language plpgsql as $$
begin
	if got is distinct from wanted then
		insert into faults (fault) values (format('%s: %s, not %s', what, got, wanted));
	end if;
end $$;
create function expect_verb(verb text, of text, wanted text, queue text default 'q') returns void language plpgsql as $$
begin
	perform expect(verb, outcome(format('queue_%s_row(%L, %s%s)', verb, queue, of, case verb when 'fail' then ', ''bad''' end)), wanted);
end $$;
-- Which rows are held, by their advisory locks and by what the session knows.
create function expect_held(kind kinds, mode text, held integer[]) returns void language plpgsql as $$
declare
	numbers text;
	known integer[];
begin
	if mode = 'session' then
		execute format('select string_agg((%s)::bit(32)::bigint::text, '' '' order by (%1$s)::bit(32)::bigint) from was where ord = any ($1)',
			coalesce('fnv1_32(' || kind.identity || ')', quote_ident(kind.key[1]) || '::integer')) into numbers using held;
	end if;
	perform expect('locks', (
		select string_agg(objid::text, ' ' order by objid::bigint) from pg_locks
		where locktype = 'advisory' and pid = pg_backend_pid() and classid = 't'::regclass and objsubid = 2), numbers);
	if mode <> 'update' then
		execute format('select coalesce(array_agg(ord order by ord), ''{}'') from was where queue_is_held(''t''::regclass, %s)',
			coalesce(kind.identity, quote_ident(kind.key[1]) || '::text')) into known;
		perform expect('held', known::text, held::text);
	end if;
end $$;

-- The life of the rows, whose states, tries and notes are what they should be.
create procedure live(kind kinds, mode text) language plpgsql as $$
declare
	is_update boolean := mode = 'update';
	count integer := (select count(*) from was);
	states integer[] := array_fill(0, array[count]);
	tries integer[] := array_fill(0, array[count]);
	notes text[] := array_fill(null::text, array[count]);
	verbs text[] := '{complete,release,fail,extend}';
	receipt text;
	other text;
	alike_place integer := place_alike(kind);
begin
	delete from t;
	insert into t select * from was;
	commit;

	perform expect('first pop', pop(1), '1');
	states[1] := is_update::integer;
	tries[1] := is_update::integer;
	receipt := (select r.receipt from receipts as r where ord = 1);
	if not is_update and kind.kind = 'nullable' then
		insert into faults (fault) values (outcome(format('queue_complete_row(''q'', %s)', receipt)));
		return;
	end if;
	perform expect_held(kind, mode, '{1}');
	-- One column of its key is another row's: that row is not held.
	for column_number in 1 .. cardinality(kind.key) loop
		for row_number in 2 .. count - (kind.kind = 'nullable')::integer loop
			other := altered(receipt, kind.key[column_number], format('(select o.%I from was as o where ord = %s)', kind.key[column_number], row_number));
			if other <> receipt then
				perform expect_verb('complete', other, 'false');
				perform expect_verb(verbs[2 + (column_number + row_number) % 3], other, case (column_number + row_number) % 3 when 2 then 'null' else 'false' end);
			end if;
		end loop;
	end loop;
	-- What the claim has written is another claim's: in the lock modes that does not matter.
	other := altered(receipt, 'tries', '(r).tries + 1');
	if is_update then
		perform expect_verb('complete', other, 'false');
		perform expect_verb('release', other, 'false');
		perform expect_verb('fail', other, 'false');
		perform expect_verb('extend', other, 'null');
		perform expect_verb('complete', altered(receipt, 'state', '0'), 'false');
		other := receipt;
	end if;
	perform expect('rows after those receipts', state_of_all(), state_of(states, tries, notes));
	if mode <> 'transaction' then
		commit;
	end if;

	receipt := outcome(format('quote_literal(queue_extend_row(''q'', %s)::text) || ''::t''', other));
	tries[1] := tries[1] + 10;
	notes[1] := 'extended';
	perform expect('rows after extend', state_of_all(), state_of(states, tries, notes));
	perform expect('extended', outcome(format('r = %s from t as r where ord = 1', receipt)), 'true');
	if is_update then
		perform expect_verb('complete', other, 'false');
	end if;

	perform expect('second pop', pop(1), '2');
	states[2] := is_update::integer;
	tries[2] := is_update::integer;
	perform expect_held(kind, mode, '{1,2}');
	other := (select r.receipt from receipts as r where ord = 2);
	perform expect_verb('fail', other, 'true');
	states[2] := 3;
	notes[2] := 'bad';
	perform expect('rows after fail', state_of_all(), state_of(states, tries, notes));
	perform expect_verb('fail', other, 'false');
	perform expect_verb('complete', other, 'false');
	perform expect_verb('release', receipt, 'true');
	states[1] := 0;
	perform expect_verb('release', receipt, 'false');
	perform expect_verb('complete', receipt, 'false');
	perform expect('rows after release', state_of_all(), state_of(states, tries, notes));
	commit;
	perform expect_held(kind, mode, '{}');

	perform expect('pop of what is released', pop(1), '1');
	states[1] := is_update::integer;
	tries[1] := tries[1] + is_update::integer;
	perform expect('third pop', pop(1), case when count >= 3 then '3' end);
	perform expect_held(kind, mode, case when count >= 3 then '{1,3}' else '{1}' end::integer[]);
	if mode <> 'transaction' then
		commit;
	end if;
	if is_update then
		perform expect_verb('complete', receipt, 'false');
	end if;
	receipt := (select r.receipt from receipts as r where ord = 1);
	perform expect_verb('complete', receipt, 'true');
	states[1] := 2;
	if count >= 3 then
		states[3] := is_update::integer;
		tries[3] := is_update::integer;
	end if;
	perform expect('rows after complete', state_of_all(), state_of(states, tries, notes));
	perform expect_verb('complete', receipt, 'false');
	perform expect_verb('release', receipt, 'false');
	perform expect_verb('fail', receipt, 'false');
	perform expect_verb('extend', receipt, 'null');
	perform expect('rows after another complete', state_of_all(), state_of(states, tries, notes));
	commit;

	-- All that are left. Row 3 is deleted, the others are completed, one of them by its
	-- key in other bytes: what is equal to it is, but another text is no hold's.
	perform expect('last pop', pop(100), (select string_agg(i::text, ' ' order by i) from generate_series(case mode when 'transaction' then 3 else 4 end, count) as i));
	perform expect_held(kind, mode, array(select generate_series(3, count)));
	if mode <> 'transaction' then
		commit;
	end if;
	for row_number in 4 .. count loop
		states[row_number] := is_update::integer;
		tries[row_number] := is_update::integer;
	end loop;
	for row_number in 3 .. count loop
		receipt := (select r.receipt from receipts as r where ord = row_number);
		if kind.kind = 'nullable' and row_number = count then
			perform expect_verb('complete', receipt, '22004');
			perform expect_verb('release', receipt, '22004');
			perform expect_verb('fail', receipt, '22004');
			perform expect_verb('extend', receipt, '22004');
			exit;
		end if;
		if row_number = alike_place then
			other := alike(kind, receipt);
			if is_update or other = receipt then
				receipt := other;
			else
				perform expect_verb('complete', other, 'false');
			end if;
		end if;
		perform expect_verb('complete', receipt, 'true', case row_number when 3 then 'd' else 'q' end);
		states[row_number] := case when row_number > 3 then 2 end;
		perform expect(format('rows after complete of %s', row_number), state_of_all(), state_of(states, tries, notes));
		perform expect_verb('complete', receipt, 'false');
	end loop;
	commit;
	perform expect_held(kind, mode, '{}');
	perform expect('pop of nothing', pop(100), null);
	commit;
end $$;

-- Rows are inserted once, those that are alike included.
create procedure insert_once(kind kinds) language plpgsql as $$
declare
	count integer := (select count(*) from was);
	place integer := place_alike(kind);
begin
	delete from t;
	commit;
	perform expect('rows', outcome(format('string_agg(concat_ws('' '', inserted::text, (job).ord), '', '') from queue_unique_insert_rows(
		array(select row(w.*)::t from generate_series(1, 2) as n, was as w order by n, ord), %L)', kind.key)),
		(select string_agg(concat_ws(' ', (n = 1)::text, i), ', ' order by n, i) from generate_series(1, 2) as n, generate_series(1, count) as i));
	commit;
	for i in 1 .. count loop
		perform expect('row again', outcome(format('concat_ws('' '', inserted::text, (job).ord)
			from queue_unique_insert_row((select row(w.*)::t from was as w where ord = %s), %L)', i, kind.key)), 'false ' || i);
	end loop;
	if place is not null then
		perform expect('row alike', outcome(format('concat_ws('' '', inserted::text, (job).ord) from queue_unique_insert_row(%s, %L)',
			alike(kind, format('(select row(w.*)::t from was as w where ord = %s)', place)), kind.key)), 'false ' || place);
	end if;
	delete from t where ord = 2;
	for i in 1 .. 2 loop
		perform expect('row that was deleted', outcome(format('concat_ws('' '', inserted::text, (job).ord) from queue_unique_insert_row((select row(w.*)::t from was as w where ord = 2), %L)', kind.key)),
			case i when 1 then 'true 2' else 'false 2' end);
	end loop;
	commit;
	perform expect('all rows', state_of_all(), state_of(array_fill(0, array[count]), array_fill(0, array[count]), array_fill(null::text, array[count])));
	delete from t;
end $$;

create table outcomes (n integer, mode text, path text, outcome text, is_direct boolean);
create procedure try(kind kinds, mode text) language plpgsql as $$
declare
	attach text := format($c$queue_attach(%%L, 't', 'state = 0', %L, %L, on_complete => %%L, on_release => 'state = 0',
		on_fail => 'state = 3, note = error', on_extend => 'tries = tries + 10, note = ''extended''', claim_mode => %L)$c$,
		(select string_agg(quote_ident(k), ', ') from unnest(kind.key) as k), case mode when 'update' then 'state = 1, tries = tries + 1' end, mode);
	path text;
	refused text;
begin
	if mode <> 'insert' then
		refused := nullif(outcome(format(attach, 'q', 'state = 2')), '');
		perform outcome(format(attach, 'd', null));
	end if;
	foreach path in array array['direct', 'portable'] loop
		perform set_config('queue_ext.claim_path', path, false);
		perform queue_claim_stats_reset();
		if mode = 'insert' then
			call insert_once(kind);
		elsif refused is not null then
			insert into faults (fault) values (refused);
		else
			call live(kind, mode);
		end if;
		commit;
		insert into outcomes
		select kind.n, mode, path, coalesce(string_agg(fault, e'\n' order by n), 'as it should'),
			exists (select from queue_claim_stats where source = 't'::regclass and claims > 0)
		from faults;
		delete from faults;
		delete from receipts;
		commit;
	end loop;
	reset queue_ext.claim_path;
	if refused is null and mode <> 'insert' then
		perform queue_detach('q'), queue_detach('d');
	end if;
	commit;
end $$;
create procedure try_all() language plpgsql as $$
declare
	kind kinds;
	mode text;
begin
	for kind in select * from kinds order by n loop
		call make(kind);
		commit;
		foreach mode in array array['update', 'transaction', 'session', 'insert'] loop
			call try(kind, mode);
		end loop;
	end loop;
end $$;
call try_all();
-- Both paths agree, or are named.
create view agreed as
select n, mode, outcome, case when count(*) = 1 then ' ' || min(path) end as path
from outcomes group by n, mode, outcome;
select kind, string_agg(mode || coalesce(path, ''), ', ' order by position(mode in 'update, transaction, session, insert')) as modes, outcome
from agreed join kinds using (n) group by n, kind, outcome order by n, 2;
-- Where the direct path was not taken, though it should be.
select kind, string_agg(mode, ', ' order by mode desc) as not_direct
from outcomes join kinds using (n) where path = 'direct' and mode <> 'insert' and not is_direct and outcome !~ '^\w{5}$'
group by n, kind order by n;

drop schema test_key_types cascade;
reset synchronous_commit;
