-- queue_unique_insert_row, queue_unique_insert_rows: rows of the user's own tables.
set client_min_messages = warning;
create schema test_unique_row;
set search_path = test_unique_row, public;
create type mood as enum ('sad', 'happy');
create domain short as text check (length(value) < 10);
create table tasks (
	id bigint generated always as identity primary key,
	kind text not null,
	args jsonb,
	state text not null default 'new',
	note text default 'none',
	made timestamptz not null default '2001-01-01 00:00:00+00',
	twice text generated always as (kind || kind) stored
);
create index on tasks (kind, args) where state <> 'done';
create function task(of jsonb) returns tasks language sql as 'select jsonb_populate_record(null::tasks, of)';

-- Columns that are null take their default; the row comes back as it is in the table.
select * from queue_unique_insert_row(task('{"kind": "mail", "args": {"to": "ada"}}'), '{kind,args}', 'state <> ''done''');
select inserted, (job).* from queue_unique_insert_row(
	job => task('{"kind": "mail", "args": {"to": "ada"}, "note": "other", "twice": "left out"}'),
	unique_by => '{args,kind,args}',
	among => $$state <> 'done'$$
);
-- Among those only: this one is done.
update tasks set state = 'done';
select inserted, (job).id from queue_unique_insert_row(task('{"kind": "mail", "args": {"to": "ada"}}'), '{kind,args}', 'state <> ''done''');
-- jsonb by value; null equals null.
select inserted from queue_unique_insert_row(task('{"kind": "n", "args": {"b": 1.0, "a": 2}}'), '{kind,args}', 'state <> ''done''');
select inserted from queue_unique_insert_row(task('{"kind": "n", "args": {"a": 2.00, "b": 1}}'), '{kind,args}', 'state <> ''done''');
select inserted from queue_unique_insert_row(task('{"kind": "n"}'), '{kind,args}', 'state <> ''done''');
select inserted from queue_unique_insert_row(task('{"kind": "n"}'), '{kind,args}', 'state <> ''done''');
select inserted from queue_unique_insert_row(task('{"kind": "n", "args": {}}'), '{kind,args}', 'state <> ''done''');
-- One row in all, with a sub-select; the call's time can be named.
create table one (id integer, at timestamptz default now());
select inserted from queue_unique_insert_row(row(1, null)::one, '{}');
select inserted from queue_unique_insert_row(row(2, null)::one, '{}', 'at > call_time - interval ''1 hour''');
select inserted from queue_unique_insert_row(row(2, null)::one, '{}', 'id > (select max(id) from one)');
select id from one order by id;

-- Many: the first of equal ones wins.
select inserted, (job).kind, (job).args, (job).note
from queue_unique_insert_rows(
	array[task('{"kind": "many", "args": 1, "note": "first"}'), task('{"kind": "many", "args": 2}'),
	      task('{"kind": "many", "args": 1.0, "note": "second"}'), task('{"kind": "many"}'),
	      task('{"kind": "n", "args": {}}'), task('{"kind": "many"}')],
	'{kind,args}', 'state <> ''done''');
select count(*) as none from queue_unique_insert_rows('{}'::tasks[], '{kind}');
select count(*) as rows, count(*) filter (where inserted) as inserted
from queue_unique_insert_rows(
	array(select task(jsonb_build_object('kind', 'lots', 'args', i % 700)) from generate_series(1, 2000) as i),
	'{kind,args}', 'state <> ''done''');

-- Identity, constraints, triggers and rules of the table are as for INSERT.
\set VERBOSITY sqlstate
select queue_unique_insert_row(task('{"id": 70000, "kind": "x"}'), '{id}');
select queue_unique_insert_row(task('{"args": 7}'), '{id}');
\set VERBOSITY default
create function swallow() returns trigger language plpgsql as 'begin if new.kind = ''no'' then return null; end if; new.note = ''by trigger''; return new; end';
create trigger swallow before insert on tasks for each row execute function swallow();
select inserted, job is null as no_row from queue_unique_insert_row(task('{"kind": "no"}'), '{kind,args}', 'state <> ''done''');
select inserted, (job).note from queue_unique_insert_row(task('{"kind": "yes"}'), '{kind,args}', 'state <> ''done''');
drop trigger swallow on tasks;

-- Types: each by its default equality, under the column's collation.
create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
create table typed (
	b boolean, i2 smallint, i4 integer, i8 bigint, n numeric, f float8, t text, c text collate any_case, v varchar(10), p char(8),
	s short, m mood, u uuid, y bytea, d date, ts timestamp, tz timestamptz, iv interval, a integer[], j jsonb, r int4range,
	"Odd, ""Name" text, t_ text
);
create table pairs (n integer, by text, first jsonb, second jsonb);
insert into pairs values
	(1, 'b', '{"b": true}', '{"b": "yes"}'),
	(2, 'n', '{"n": "1.50"}', '{"n": "1.5"}'),
	(3, 'n', '{"n": "NaN"}', '{"n": "NaN"}'),
	(4, 'f', '{"f": 0}', '{"f": "-0"}'),
	(5, 'c', '{"c": "Ada"}', '{"c": "aDA"}'),
	(6, 'p', '{"p": "a"}', '{"p": "a   "}'),
	(7, 'm', '{"m": "sad"}', '{"m": "sad"}'),
	(8, 'y', '{"y": "\\x00ff"}', '{"y": "\\x00FF"}'),
	(9, 'tz', '{"tz": "2026-01-01 00:00+00"}', '{"tz": "2026-01-01 01:00+01"}'),
	(10, 'iv', '{"iv": "1 day"}', '{"iv": "24:00"}'),
	(11, 'a', '{"a": [1, 2]}', '{"a": [1, 2]}'),
	(12, 'j', '{"j": [1.0]}', '{"j": [1]}'),
	(13, 'r', '{"r": "[1,2]"}', '{"r": "[1,3)"}'),
	(14, 's', '{"s": "a"}', '{"s": "a"}'),
	(15, 'ts', '{"ts": "infinity"}', '{"ts": "infinity"}'),
	(16, 'u', '{"u": "00000000-0000-0000-0000-00000000000A"}', '{"u": "00000000000000000000-00000000000a"}'),
	(17, 'Odd, "Name', '{"Odd, \"Name": "x"}', '{"Odd, \"Name": "x"}'),
	(18, 't', '{"t": "a"}', '{"t": "A"}'),
	(19, 't', '{"t": "b"}', '{"t": "b "}'),
	(20, 'j', '{"j": null}', '{"t_": "j is null in both"}'),
	(21, 'd', '{"d": "2026-01-01"}', '{"d": "2026-01-02"}');
set client_min_messages = error;
-- (j is null in all rows before the twelfth and after: so is it in the twentieth.)
select n, by,
       (select inserted from queue_unique_insert_row(jsonb_populate_record(null::typed, first), array[by])) as first,
       (select inserted from queue_unique_insert_row(jsonb_populate_record(null::typed, second), array[by])) as second
from pairs order by n;
delete from typed;
-- The same within one call.
select n, by, array_agg(inserted order by place) as inserted
from pairs, queue_unique_insert_rows(
	array[jsonb_populate_record(null::typed, first), jsonb_populate_record(null::typed, second)], array[by])
	with ordinality as u(inserted, job, place)
group by n, by
order by n;

-- The lock's name, whatever the settings.
create view held as
select ((classid::bigint << 32) | objid::bigint) as key, mode
from pg_locks where locktype = 'advisory' and objsubid = 1 and pid = pg_backend_pid();
begin;
set local timezone = 'Asia/Tokyo';
set local datestyle = 'German';
set local bytea_output = 'escape';
set local extra_float_digits = -15;
select inserted from queue_unique_insert_row(
	row(true, 2, 4, 8, 1.50, null, 't"', null, 'v', 'p', 's', 'happy', '00000000-0000-0000-0000-00000000000A', '\x00ff',
	    '2026-01-02', '2026-01-02 03:04:05.6', '2026-01-02 03:04:05.6+00', null, null, '{"bb": 1.0, "c": "x"}', null, 'o', null)::typed,
	'{b,i2,i4,i8,n,t,v,p,s,m,u,y,d,ts,tz,j,t_}');
select mode, key = fnv_lock_key(
	'unique_key|table=test_unique_row.typed'
	'|by=["b", "d", "j", "m", "n", "p", "s", "t", "u", "v", "y", "i2", "i4", "i8", "t_", "ts", "tz"]'
	'|values=["true", "2026-01-02", "{\"c\": \"x\", \"bb\": 1}", "happy", "1.5", "p", "s", "t\"",'
	' "00000000-0000-0000-0000-00000000000a", "v", "00ff", "2", "4", "8", null, "2026-01-02T03:04:05.6",'
	' "2026-01-02T03:04:05.6+00:00"]') as is_key
from held order by mode;
rollback;
begin;
select inserted from queue_unique_insert_row(row(1, null)::one, '{}', 'false');
select count(*) as found from held where key = fnv_lock_key('unique_key|table=test_unique_row.one|by=[]|values=[]');
rollback;

-- Tables with a column like our alias, dropped columns, partitions.
create table t (t text, gone integer, x integer);
alter table t drop column gone;
select inserted, job from queue_unique_insert_row(row('a', 1)::t, '{t}');
select inserted, job from queue_unique_insert_row(row('a', 2)::t, '{t}');
alter table t add column y text default 'y';
select inserted, job from queue_unique_insert_row(row('a', 1, null)::t, '{t,x}');
select inserted, job from queue_unique_insert_row(row('a', 2, null)::t, '{t,x}');
create table parted (id integer, region text) partition by list (region);
create table parted_eu partition of parted for values in ('eu');
create table parted_us (region text, id integer);
alter table parted attach partition parted_us for values in ('us');
select inserted, job from queue_unique_insert_row(row(1, 'eu')::parted, '{id}');
select inserted, job from queue_unique_insert_row(row(1, 'us')::parted, '{id}');
select inserted, job from queue_unique_insert_row(row('us', 1)::parted_us, '{id}');
select inserted, job from queue_unique_insert_row(row(1, 'us')::parted, '{id,region}');
begin;
select inserted from queue_unique_insert_row(row('us', 2)::parted_us, '{id}');
select count(*) as found from held where key = fnv_lock_key('unique_key|table=test_unique_row.parted|by=["id"]|values=["2"]');
rollback;

-- A table that carries a queue.
create index on tasks (id) where state = 'new';
select queue_attach('tasks', 'tasks', 'state = ''new''', 'id', 'state = ''taken''');
delete from tasks;
select inserted from queue_unique_insert_row(task('{"kind": "queued"}'), '{kind}', 'state = ''new''');
select kind, state from queue_pop_rows(null::tasks);
select inserted from queue_unique_insert_row(task('{"kind": "queued"}'), '{kind}', 'state = ''new''');

-- Without an index: a warning with the command, once for each table.
set client_min_messages = warning;
create table plain (id integer, a text, "B" integer, deleted boolean not null default false, x xid);
select inserted from queue_unique_insert_row(row(1, 'a', 2, false, null)::plain, '{B,a}', 'not deleted');
select inserted from queue_unique_insert_row(row(1, 'a', 2, false, null)::plain, '{a}');
create table served (id integer, a text, b integer, deleted boolean not null default false);
create index on served (b, a, id) where not deleted;
select inserted from queue_unique_insert_row(row(1, 'a', 2, false)::served, '{a,b}', 'not deleted');
create table keyed (id integer primary key, a text);
select inserted from queue_unique_insert_row(row(1, 'a')::keyed, '{id,a}');
create table half (id integer, a text);
create index on half (a) where id > 5;
create index on half (a collate "C", id);
select inserted from queue_unique_insert_row(row(1, 'a')::half, '{id,a}', 'id > 6');
drop table half;
create table half (id integer, a text);
create index on half (a) where id > 5;
select inserted from queue_unique_insert_row(row(7, 'a')::half, '{a}', 'id > 6');
reset client_min_messages;
set client_min_messages = warning;

-- Bad input.
\set VERBOSITY sqlstate
select queue_unique_insert_row(null::tasks, '{kind}');
select queue_unique_insert_row(1, '{kind}');
select queue_unique_insert_row(row(1, 2), '{kind}');
select queue_unique_insert_row(null, '{kind}');
select queue_unique_insert_row(task('{}'), null);
select queue_unique_insert_row(task('{}'), '{nothing}');
select queue_unique_insert_row(task('{}'), '{ctid}');
select queue_unique_insert_row(task('{}'), array['kind', null]);
select queue_unique_insert_row(task('{}'), '{{kind},{id}}');
select queue_unique_insert_row(task('{}'), '{kind}', 'state');
select queue_unique_insert_row(task('{}'), '{kind}', 'state =');
select queue_unique_insert_row(task('{}'), '{kind}', 'true; drop table tasks');
select queue_unique_insert_row(task('{}'), '{kind}', 'true) or (true');
select queue_unique_insert_row(task('{}'), '{kind}', 'kind = $1');
select queue_unique_insert_row(task('{}'), '{kind}', 'count(*) > 1');
select queue_unique_insert_rows(null::tasks[], '{kind}');
select queue_unique_insert_rows(array[null]::tasks[], '{kind}');
select queue_unique_insert_rows(array[[task('{}')],[task('{}')]], '{kind}');
select queue_unique_insert_rows('{1}'::integer[], '{kind}');
create view tasks_view as select * from tasks;
select queue_unique_insert_row(null::tasks_view, '{kind}');
select queue_unique_insert_row(row(1)::tasks_view, '{kind}');
select queue_unique_insert_row(jsonb_populate_record(null::tasks_view, '{}'), '{kind}');
create type pair as (a integer, b integer);
select queue_unique_insert_row(row(1, 2)::pair, '{a}');
create table no_equality (p json);
select queue_unique_insert_row(row('1')::no_equality, '{p}');
begin read only;
select queue_unique_insert_row(task('{}'), '{kind}');
rollback;
begin read only;
select queue_unique_insert_rows(array[task('{}')], '{kind}');
rollback;
\set VERBOSITY default
select queue_unique_insert_row(1, '{kind}');
select queue_unique_insert_row(jsonb_populate_record(null::tasks_view, '{}'), '{kind}');
select queue_unique_insert_row(row('1')::no_equality, '{p}');
select queue_unique_insert_row(task('{}'), '{nothing}');
select queue_unique_insert_row(task('{}'), '{kind}', 'stat = ''new''');
\set VERBOSITY sqlstate

-- Privileges are those of SELECT and INSERT; "among" runs as the caller; row security
-- hides rows.
create role regress_unique_row;
grant usage on schema test_unique_row to regress_unique_row;
create table guarded (id integer primary key, owner text);
create table secret (id integer);
insert into guarded values (1, 'other'), (2, 'regress_unique_row');
set role regress_unique_row;
select queue_unique_insert_row(row(1, 'x')::guarded, '{id}');
reset role;
grant insert on guarded to regress_unique_row;
set role regress_unique_row;
select queue_unique_insert_row(row(1, 'x')::guarded, '{id}');
select queue_unique_insert_row(row(3, 'x')::guarded, '{id}');
reset role;
revoke insert on guarded from regress_unique_row;
grant select on guarded to regress_unique_row;
set role regress_unique_row;
select queue_unique_insert_row(row(1, 'x')::guarded, '{id}');
reset role;
grant insert on guarded to regress_unique_row;
set role regress_unique_row;
select queue_unique_insert_row(row(1, 'x')::guarded, '{id}');
select queue_unique_insert_row(row(3, 'x')::guarded, '{id}', 'id in (select id from secret)');
reset role;
alter table guarded enable row level security;
create policy own on guarded to regress_unique_row using (owner = current_user) with check (true);
set role regress_unique_row;
select (job).id, inserted from queue_unique_insert_row(row(2, current_user)::guarded, '{id}');
select (job).id, inserted from queue_unique_insert_row(row(3, current_user)::guarded, '{id}');
select queue_unique_insert_row(row(1, current_user)::guarded, '{id}');
reset role;
select id, owner from guarded order by id;
drop owned by regress_unique_row;
drop role regress_unique_row;

-- The locks of a row are those of the table that all the parts are parts of.
create table outermost (id integer, kind text, day date) partition by list (kind);
create table outer_part partition of outermost for values in ('a') partition by list (day);
create table inner_part partition of outer_part for values in ('2026-11-22');
create index on outermost (id);
begin;
select (queue_unique_insert_row((1, 'a', '2026-11-22')::inner_part, '{id}')).inserted;
select count(*) as locks from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() \gset
select (queue_unique_insert_row((1, 'a', '2026-11-22')::outer_part, '{id}')).inserted;
select (queue_unique_insert_row((1, 'a', '2026-11-22')::outermost, '{id}')).inserted;
select count(*) = :locks as are_the_same from pg_locks where locktype = 'advisory' and pid = pg_backend_pid();
rollback;

-- The same "among" means another function under another search_path.
create schema test_unique_row_a;
create schema test_unique_row_b;
create function test_unique_row_a.counts(text) returns boolean immutable language sql as 'select true';
create function test_unique_row_b.counts(text) returns boolean immutable language sql as 'select false';
create table counted (id integer, name text);
create index on counted (id);
insert into counted values (1, 'there');
set client_min_messages = error;
set search_path = test_unique_row, test_unique_row_a, public;
select (queue_unique_insert_row((1, 'a')::counted, '{id}', among => 'counts(name)')).inserted;
set search_path = test_unique_row, test_unique_row_b, public;
select (queue_unique_insert_row((1, 'b')::counted, '{id}', among => 'counts(name)')).inserted;
set search_path = test_unique_row, test_unique_row_a, public;
select (queue_unique_insert_row((1, 'c')::counted, '{id}', among => 'counts(name)')).inserted;
table counted;
drop schema test_unique_row_a, test_unique_row_b cascade;

drop schema test_unique_row cascade;
