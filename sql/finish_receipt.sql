-- Receipts as text: made under some settings they are good under all others, after a change of
-- the table that leaves the row's key and its claim as they are; and nothing else is a receipt.
set client_min_messages = warning;
create schema test_receipt;
set search_path = test_receipt, public;

create function error_of(command text) returns text language plpgsql as $$
begin
	execute command;
	return 'none';
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;

-- A managed queue, by queue_pop, by queue_pop_rows, and by the row.
select queue_create('jobs', lease => '1 hour');
select count(*) from queue_send_many('jobs', '{1,2,3,4,5,6}');
select j.payload, queue_receipt('jobs', j) as r1 from queue_pop('jobs') as j \gset
select queue_receipt('jobs', j) as r2 from queue_pop_rows(null::jobs) as j \gset
select :'r1' = queue_receipt('jobs', j) as same, :'r1' ~ '^[-_0-9A-Za-z]{42}$' as is_short from jobs as j where id = 1;
select queue_extend_receipt('jobs', :'r1', '2 hours') = :'r1' as extended;
select leased_until > now() + interval '90 minutes' as prolonged from jobs where id = 1;
select queue_complete_receipt('jobs', :'r1') as first, queue_complete_receipt('jobs', :'r1') as again;
select queue_fail_receipt('jobs', :'r2', 'broken', '1 day') as failed, queue_release_receipt('jobs', :'r2') as again;
select attempt, last_error, run_at > now() + interval '23 hours' as later from jobs where id = 2;
select queue_receipt('jobs', j) as r3 from queue_pop('jobs') as j \gset
select queue_release_receipt('jobs', :'r3', now() + interval '1 day') as released, queue_extend_receipt('jobs', :'r3') is null as stale;
-- Claimed again it has another receipt.
update jobs set run_at = now() - interval '1 day' where id = 3;
select queue_receipt('jobs', j) <> :'r3' as is_other, queue_complete_receipt('jobs', :'r3') as stale from queue_pop('jobs') as j where id = 3;
select id, attempt, leased_until is not null as leased from jobs order by id;

-- Many: in their order, each once.
select array_agg(queue_receipt('jobs', j) order by id desc) as receipts from queue_pop('jobs', 9) as j \gset
select array[:'r1'] || :'receipts'::text[] || (:'receipts'::text[])[1] as all \gset
select ordinality, receipt is null as stale, receipt = (:'all'::text[])[ordinality] as same
from queue_extend_receipts('jobs', :'all', '1 day') with ordinality as e(receipt, ordinality) order by 2, 1;
select array_position(:'all'::text[], receipt) as position
from queue_fail_receipts('jobs', :'all', array['a', 'b', null, 'd', 'e'], '0') with ordinality as f(receipt, n) order by n;
select id, last_error from jobs order by id;
select array_agg(queue_receipt('jobs', j)) as receipts from queue_pop('jobs', 2) as j \gset
select count(*) from queue_release_receipts('jobs', :'receipts');
select count(*) from queue_release_receipts('jobs', :'receipts');
select array_agg(queue_receipt('jobs', j)) as receipts from queue_pop('jobs', 2) as j \gset
select count(*) from queue_complete_receipts('jobs', :'receipts');
select count(*) from queue_complete_receipts('jobs', :'receipts');
select count(*) from queue_complete_receipts('jobs', '{}');

-- The table changes: columns, names, schema.
truncate jobs restart identity;
select count(*) from queue_send_many('jobs', '{1,2,3,4}');
select array_agg(queue_receipt('jobs', j) order by id) as receipts from queue_pop('jobs', 4) as j \gset
alter table jobs add column note text default 'none', add column sum numeric not null default 1;
select queue_complete_receipt('jobs', (:'receipts'::text[])[1]);
alter table jobs drop column note;
alter table jobs rename to tasks;
select queue_complete_receipt('jobs', (:'receipts'::text[])[2]);
alter index jobs_pkey rename to tasks_key;
create schema test_receipt_other;
alter table tasks set schema test_receipt_other;
select queue_complete_receipt('test_receipt_other.jobs', (:'receipts'::text[])[3]);
alter schema test_receipt_other rename to test_receipt_another;
vacuum full test_receipt_another.tasks;
select queue_complete_receipt('test_receipt_another.jobs', (:'receipts'::text[])[4]);
select queue_drop('test_receipt_another.jobs');
drop schema test_receipt_another cascade;

-- A table with a key of many types, and a claim that writes as many: made under one setting,
-- used under another.
create type mood as enum ('new', 'taken', 'grün');
create domain code as text check (value <> '');
create type pair as (word text, at timestamptz);
create table t (
	name code collate "C", at timestamptz, ratio float8, bytes bytea, day date,
	state text, claimed_at timestamptz, span interval, sum numeric, share float4, raw bytea, doc jsonb, words text[], mood mood, pair pair,
	id uuid, hours int4range, address inet, gone text,
	primary key (name, at, ratio, bytes, day));
create index on t (name) where state is null;
select queue_attach('t', 't', 'state is null', 'name', lease => '1 hour',
	on_claim => $$state = 'taken ' || worker, claimed_at = call_time, span = '1 mon -2 days 03:04:05.678901', sum = 1.50, share = 0.1, raw = '\x00ff5c',
		doc = '{"a": [1, 2.50, "grün"]}', words = array['grün', null, ''], mood = 'grün', pair = row('grün', call_time), id = '6a1e4b2c-0000-4000-8000-000000000001',
		hours = '[1,5)', address = '10.0.0.1/8', gone = null$$,
	on_release => $$state = null$$, on_fail => $$state = error$$, on_extend => $$state = 'extended', claimed_at = call_time$$, on_complete => $$state = 'done'$$);
create procedure fill_t() language sql as $$
	truncate t;
	insert into t (name, at, ratio, bytes, day)
	select 'grün' || i, '2020-03-01 00:00:00.123457+01', 0.1 + 0.2, '\x5c00ff', '2020-02-29' from generate_series(1, 5) as i;
$$;
create table settings (n integer generated always as identity, name text, value text);
insert into settings (name, value) values
	('datestyle', 'SQL, DMY'), ('datestyle', 'German'), ('datestyle', 'Postgres, MDY'), ('intervalstyle', 'sql_standard'), ('intervalstyle', 'iso_8601'),
	('timezone', 'Asia/Kathmandu'), ('timezone', 'America/Los_Angeles'), ('extra_float_digits', '-15'), ('bytea_output', 'escape'),
	('client_encoding', 'LATIN1'), ('client_encoding', 'SQL_ASCII'), ('client_encoding', 'EUC_JP'), ('lc_numeric', 'C'), ('lc_monetary', 'C'),
	('array_nulls', 'off'), ('quote_all_identifiers', 'on'), ('xmlbinary', 'hex'), ('row_security', 'off'),
	('search_path', 'pg_catalog, test_receipt, public'), ('queue_ext.claim_path', 'portable');
-- Makes under one setting and uses under the other; the results, if they are not all good.
create function try(name text, value text, made boolean) returns text language plpgsql as $$
declare
	before text := current_setting(name);
	receipts text[];
	renewed text;
	result text;
begin
	call fill_t();
	if made then
		perform set_config(name, value, false);
	end if;
	receipts := array(select queue_receipt('t', j) from queue_pop_rows(null::t, 't', 5, worker => 'ada') as j);
	perform set_config(name, case when made then before else value end, false);
	renewed := queue_extend_receipt('t', receipts[1]);
	result := concat_ws(' ', queue_extend_receipt('t', receipts[1]) is null, queue_complete_receipt('t', renewed), queue_release_receipt('t', receipts[2]),
		queue_fail_receipt('t', receipts[3], 'x'), (select count(*) from queue_complete_receipts('t', receipts)));
	perform set_config(name, before, false);
	return result;
end $$;
select made, try(name, value, made) as result, count(*) from settings, (values (false), (true)) as m(made) group by 1, 2 order by 1;

-- As the client sees it: bytes in another encoding than the server's.
call fill_t();
set client_encoding = 'LATIN1';
select queue_receipt('t', j) as r from queue_pop_rows(null::t, 't', worker => 'ada') as j \gset
set client_encoding = 'UTF8';
set timezone = 'Asia/Kathmandu';
alter table t add column more text default 'x';
select queue_complete_receipt('t', :'r');
reset timezone;
-- A row that came through the client, too, where it is exact.
select queue_receipt('t', j) as r, j::text as row from queue_pop_rows(null::t, 't', worker => 'ada') as j \gset
select :'r' = queue_receipt('t', :'row'::t) as same;
-- Other columns may change; those of the claim not.
update t set more = 'y', gone = 'y' where name = 'grün2' and state is not null;
select queue_complete_receipt('t', :'r') as lost;
update t set gone = null where name = 'grün2';
select queue_complete_receipt('t', :'r') as found;

-- Another queue of the table; the same queue attached anew, and with other claims.
select queue_receipt('t', j) as r from queue_pop_rows(null::t, 't', worker => 'ada') as j \gset
select queue_attach('u', 't', 'state is null', 'name', on_claim => 'state = worker');
\set VERBOSITY terse
select queue_complete_receipt('u', :'r');
select queue_complete_receipts('u', array[:'r']);
select queue_create('jobs');
select queue_complete_receipt('jobs', :'r');
\set VERBOSITY default
select queue_detach('u');
create temporary table d as select * from queues where queue = 'test_receipt.t';
select queue_detach('t'), queue_attach('t', 't', pending, order_by, 'state = worker', on_complete, on_release, on_fail) from d;
\set VERBOSITY terse
select queue_complete_receipt('t', :'r');
\set VERBOSITY default
select queue_detach('t'), queue_attach('t', 't', pending, order_by, on_claim, on_complete, on_release, on_fail) from d;
select queue_complete_receipt('t', :'r');
drop table d;

-- A key that changes its type, or is another.
create table n (id integer primary key, other integer not null unique, state text);
create index on n (id) where state is null;
insert into n select i, i from generate_series(1, 5) as i;
select queue_attach('n', 'n', 'state is null', 'id', 'state = ''taken''', on_complete => 'state = ''done''');
select array_agg(queue_receipt('n', j)) as rs from queue_pop_rows(null::n, 'n', 3) as j \gset
alter table n alter id type bigint;
\set VERBOSITY terse
select queue_complete_receipt('n', (:'rs'::text[])[1]);
alter table n alter id type integer;
select queue_complete_receipt('n', (:'rs'::text[])[1]);
select queue_detach('n'), queue_attach('n', 'n', 'state is null', 'id', claim_mode => 'transaction');
select queue_complete_receipt('n', (:'rs'::text[])[2]);
select queue_detach('n'), queue_attach('n', 'n', 'state is null', 'id', 'state = ''taken''', on_complete => 'state = ''done''');
alter table n drop constraint n_pkey;
select queue_complete_receipt('n', (:'rs'::text[])[2]);
alter table n drop constraint n_other_key;
\set VERBOSITY sqlstate
select queue_complete_receipt('n', (:'rs'::text[])[2]);
select queue_receipt('n', j) from n as j where id = 3;
alter table n add unique (id), alter id drop not null;
-- The same key, over a column that may be null.
select queue_complete_receipt('n', (:'rs'::text[])[2]);
select queue_receipt('n', row(null, 1, 'taken')::n);
\set VERBOSITY default

-- The modes in which a claim is a lock.
create table x (id bigint, at timestamptz, state text, primary key (id, at));
create index on x (id, at) where state is null;
insert into x select i, '2020-01-01 00:00:00.000001+00' from generate_series(1, 6) as i;
select queue_attach('x', 'x', 'state is null', 'id, at', claim_mode => 'transaction', on_complete => 'state = ''done''', on_extend => 'state = ''longer''');
select queue_attach('s', 'x', 'state is null', 'id, at', claim_mode => 'session', on_complete => 'state = ''done''', on_extend => 'state = ''longer''');
begin;
select array_agg(queue_receipt('x', j)) as rs from queue_pop_rows(null::x, 'x', 3) as j \gset
set local timezone = 'Asia/Tokyo';
select queue_release_receipt('x', (:'rs'::text[])[1]), queue_extend_receipt('x', (:'rs'::text[])[2]) = (:'rs'::text[])[2] as same,
	queue_complete_receipt('x', (:'rs'::text[])[2]), queue_complete_receipt('x', (:'rs'::text[])[2]) as again;
commit;
select queue_complete_receipt('x', (:'rs'::text[])[3]) as is_over;
select array_agg(queue_receipt('s', j)) as rs from queue_pop_rows(null::x, 's', 3) as j \gset
set timezone = 'Asia/Tokyo';
select count(*) from queue_complete_receipts('s', (:'rs'::text[])[1:2]);
select queue_fail_receipt('s', (:'rs'::text[])[3]), queue_fail_receipt('s', (:'rs'::text[])[3]) as again;
reset timezone;
select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
select id, state from x order by id;
\set VERBOSITY terse
select queue_complete_receipt('x', (:'rs'::text[])[3]);
\set VERBOSITY default

-- Partitions: the row may move from one to another.
create table p (id integer, part integer not null default 0, state text, tries integer not null default 0, primary key (id, part)) partition by list (part);
create table p0 partition of p for values in (0);
create table p1 partition of p for values in (1);
create index on p (id) where state is null;
insert into p select i from generate_series(1, 3) as i;
select queue_attach('p', 'p', 'state is null', 'id', 'state = ''taken'', tries = tries + 1', on_release => 'state = null', on_complete => 'state = ''done''', wake => true);
select array_agg(queue_receipt('p', j)) as rs from queue_pop_rows(null::p, 'p', 2) as j \gset
select queue_release_receipt('p', (:'rs'::text[])[1]), queue_complete_receipt('p', (:'rs'::text[])[2]);
select queue_complete_receipt('p', (:'rs'::text[])[1]) as stale;
select queue_receipt('p', j) <> (:'rs'::text[])[1] as is_other, queue_complete_receipt('p', queue_receipt('p', j)) from queue_pop_rows(null::p, 'p') as j;

-- A caller with row security: what it may not see it cannot finish.
create role regress_receipt;
grant usage on schema test_receipt to regress_receipt;
grant select, update, delete on jobs to regress_receipt;
select count(*) from queue_send_many('jobs', '{1,2}');
select array_agg(queue_receipt('jobs', j) order by id) as rs from queue_pop('jobs', 2) as j \gset
alter table jobs enable row level security;
create policy one on jobs using (payload <> '1');
set role regress_receipt;
select queue_extend_receipt('jobs', (:'rs'::text[])[1]) is null as hidden, queue_complete_receipt('jobs', (:'rs'::text[])[1]) as hidden,
	queue_complete_receipt('jobs', (:'rs'::text[])[2]);
reset role;
select payload from jobs;
drop owned by regress_receipt;
drop role regress_receipt;

-- What is no receipt.
select queue_receipt('n', j) as r from n as j where id = 3 \gset
alter table n alter id set not null;
select queue_receipt('n', j) = :'r' as same from n as j where id = 3;
select queue_complete_receipt('n', '');
select queue_complete_receipt('n', :'r' || '=');
select queue_complete_receipt('n', ' ' || :'r');
select queue_complete_receipt('n', repeat('A', 2000000));
select queue_complete_receipts('n', array[:'r', 'A']);
select distinct result from generate_series(1, length(:'r')) as i, unnest(array['A', 'z', '-', '_', '+', '/', '=', ' ', 'é', E'\n']) as c,
	lateral (select error_of(format('select queue_complete_receipt(''n'', %L)', overlay(:'r' placing c from i))) as result) as e
where substr(:'r', i, 1) <> c order by result;
select result, count(*) from generate_series(0, length(:'r') - 1) as i, lateral (select error_of(format('select queue_extend_receipt(''n'', %L)', left(:'r', i))) as result) as e
group by result order by result;
select state from n where id = 3;
\set VERBOSITY sqlstate
select queue_complete_receipt('n', null);
select queue_complete_receipts('n', null);
select queue_complete_receipts('n', array[null]);
select queue_complete_receipts('n', array[[:'r']]);
select queue_fail_receipts('n', array[:'r'], '{}');
select queue_fail_receipt('n', :'r');
select queue_extend_receipt('n', :'r', '0');
select queue_receipt('n', null::n);
select queue_receipt(null, j) from n as j;
select queue_receipt('none', j) from n as j;
select queue_receipt('n', j) from p as j;
select queue_receipt('n', 1);
select queue_receipt('n', row(1, 2));
select queue_receipt('n', j) from queue_pop('jobs') as j right join (select) as one on true;
\set VERBOSITY default

-- Receipts that were made up, with a right checksum: they name what they say, or are refused.
-- What the type's own function finds wrong is the detail.
create function forged(body bytea) returns text language sql as $$
	select translate(encode(body || int4send(fnv1a_32(body)), 'base64'), E'+/=\n', '-_')
$$;
create function body_of(receipt text, length integer) returns bytea language sql as $$
	select substr(decode(translate(rpad(receipt, (length(receipt) + 3) / 4 * 4, '='), '-_', '+/'), 'base64'), 1, length)
$$;
select queue_complete_receipt('n', forged(body_of(:'r', 13) || '\x0500000004' || '\x067461'::bytea || '\x6b656e')) as not_claimed;
select error_of(format('select queue_complete_receipt(''n'', %L)', forged(body_of(:'r', 13) || rest))) as error, rest
from unnest(array['', '\x05000000', '\x0500000003', '\x050000000300', '\x00', '\x0000', '\x040000030674616b656e', '\x0900000000000000030674616b656e',
	'\x0500000003067461', '\xff', '\xff00000004000000030674616b656e', '\xffffffffff', '\x050000000303ff00', '\x050000000302c3', '\x05000000030200', '\x0500000003067461 6b656e00',
	'\x050000000301', '\x050000000300']::bytea[]) with ordinality as r(rest, n) order by n;
select queue_complete_receipt('n', forged(body_of(:'r', 13) || '\x04000003'));
select queue_complete_receipt('n', forged('\x02' || substr(body_of(:'r', 21), 2)));
select queue_complete_receipt('n', forged('\x01'));
select state from n where id = 3;

-- Values that have no binary form, or none that is exact; and too many of them.
create table w (id integer primary key, state text, acl aclitem, marks integer[], doc text);
create index on w (id) where state is null;
insert into w (id, marks) select i, '{1,null}' from generate_series(1, 4) as i;
-- Room for a null, and none.
update w set marks[2] = 2 where id <> 2;
select queue_attach('acl', 'w', 'state is null', 'id', 'state = ''taken'', acl = makeaclitem(10, 10, ''SELECT'', false)');
select queue_attach('marks', 'w', 'state is null', 'id', 'state = ''taken'', marks = marks');
select queue_attach('doc', 'w', 'state is null', 'id', 'state = ''taken'', doc = repeat(worker, 1000000)');
select queue_receipt('acl', j) from queue_pop_rows(null::w, 'acl') as j;
select queue_receipt('marks', j) from queue_pop_rows(null::w, 'marks') as j;
select queue_complete_row('marks', j) from w as j where id = 3;
select queue_complete_receipt('marks', queue_receipt('marks', row(9, 'taken', null, '{1,2}', null)::w));
select queue_receipt('doc', j) from queue_pop_rows(null::w, 'doc', worker => 'xy') as j;
select length(queue_receipt('doc', j)), queue_complete_receipt('doc', queue_receipt('doc', j)) from queue_pop_rows(null::w, 'doc', worker => 'x') as j;

select queue_drop('jobs');
drop schema test_receipt cascade;
