-- Every kind of table: a claim does what the UPDATE would do, or is refused with
-- a reason.
set client_min_messages = error;
create schema test_kinds;
set search_path = test_kinds, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	why text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics why = pg_exception_detail;
	return concat_ws(': ', sqlstate, nullif(why, ''));
end $$;

-- Unlogged, temporary.
create unlogged table unlogged_t (id integer primary key, state integer not null default 0);
create temporary table temporary_t (id integer primary key, state integer not null default 0);
insert into unlogged_t select generate_series(1, 3);
insert into temporary_t select generate_series(1, 3);
select queue_attach('unlogged_t', 'unlogged_t', 'state = 0', 'id', 'state = 1'),
       queue_attach('temporary_t', 'temporary_t', 'state = 0', 'id', 'state = 1', on_release => 'state = 0');
select * from queue_pop_rows(null::unlogged_t);
select queue_complete_row('unlogged_t', u) from queue_pop_rows(null::unlogged_t) u;
select * from queue_pop_rows(null::temporary_t);
select queue_release_row('temporary_t', t) from queue_pop_rows(null::temporary_t, 'temporary_t', 5) t;
select * from temporary_t order by id;
begin;
create temporary table brief_t (id integer primary key, state integer not null default 0) on commit drop;
insert into brief_t values (1);
select queue_attach('brief', 'brief_t', 'state = 0', 'id', 'state = 1');
select * from queue_pop_rows(null::brief_t);
commit;
select error_of('select queue_pause(''brief'')');

-- Partitioned, with a composite key; a claim moves the row to another partition.
create table parted (region text, id integer, state text not null default 'new', note text, primary key (state, region, id)) partition by list (state);
create table parted_new partition of parted for values in ('new') partition by range (id);
create table parted_new_1 partition of parted_new for values from (1) to (100);
create table parted_new_2 (note text, gone integer, region text not null, state text not null, id integer not null);
alter table parted_new_2 drop column gone;
alter table parted_new attach partition parted_new_2 for values from (100) to (200);
create table parted_taken partition of parted for values in ('taken');
create table parted_rest partition of parted default;
insert into parted select r, n, 'new', r || n from unnest('{north,south}'::text[]) r, unnest('{1,2,150,151}'::integer[]) n;
create function note_move() returns trigger language plpgsql as $$ begin raise info '% % on %: %', tg_when, tg_op, tg_table_name, coalesce(new.id, old.id); return coalesce(new, old); end $$;
create trigger moves after insert or update or delete on parted for each row execute function note_move();
select queue_attach('parted', 'parted', 'state = ''new''', 'id desc, region', 'state = ''taken'', note = note || ''!''',
	on_release => 'state = ''new''', on_complete => 'state = ''done''');
select tableoid::regclass, * from parted where id > 150 order by region;
-- The order in which rows of one call are written depends on the path.
set queue_ext.claim_path = auto;
select * from queue_pop_rows(null::parted, 'parted', 3);
reset queue_ext.claim_path;
select tableoid::regclass, * from parted where state <> 'new' order by region, id;
select queue_release_row('parted', p) from parted p where id = 150 and state = 'taken';
select queue_complete_row('parted', p) from parted p where state = 'taken';
select queue_complete_row('parted', row('north', 1, 'taken', 'x')::parted);
select tableoid::regclass, count(*) from parted group by tableoid order by tableoid::regclass::text;
-- Locks instead; and a partition by itself.
select queue_detach('parted'), queue_attach('parted', 'parted', 'state = ''new''', 'region, id', claim_mode => 'transaction');
begin;
select region, id from queue_pop_rows(null::parted, 'parted', 2);
select region, id from queue_pop_rows(null::parted, 'parted', 2);
select queue_complete_row('parted', row('north', 1, 'new', 'north1')::parted);
rollback;
select queue_detach('parted'), queue_attach('parted', 'parted', 'state = ''new''', 'region, id', claim_mode => 'session');
select region, id from queue_pop_rows(null::parted, 'parted', 2);
select count(*) as locks from pg_locks where locktype = 'advisory' and classid = 'parted'::regclass;
select queue_complete_row('parted', p) from parted p where region = 'north' and id <= 2 order by id;
select count(*) as locks from pg_locks where locktype = 'advisory' and classid = 'parted'::regclass;
select queue_attach('one_part', 'parted_new_2', 'state = ''new''', 'id, region', 'note = ''x''');
select error_of('select queue_pop_rows(null::parted_new_2, ''one_part'')');
select queue_detach('one_part'), queue_attach('one_part', 'parted_new_2', 'note like ''south%''', 'id, region', 'note = ''x''');
select region, id, note from queue_pop_rows(null::parted_new_2, 'one_part', 5);
drop trigger moves on parted;
-- A claim that would move its row out of the partition.
select queue_attach('moved_part', 'parted_new_2', 'state = ''new''', 'id, region', 'state = ''taken''');
set queue_ext.claim_path = direct;
select error_of('select queue_pop_rows(null::parted_new_2, ''moved_part'')');
reset queue_ext.claim_path;
select count(*) as untouched from parted_new_2 where state = 'new';

-- Inherited: no key spans the tables, so rows are popped, but not finished.
create table parent (id integer primary key, state integer not null default 0);
create table child (extra text) inherits (parent);
insert into parent values (1), (4);
insert into child values (2, 0, 'x'), (3, 0, 'y'), (1, 0, 'same id');
select queue_attach('family', 'parent', 'state = 0', 'id, tableoid::regclass::text desc', 'state = 1', on_release => 'state = 0');
select * from queue_pop_rows(null::parent, 'family', 2);
select id, state, tableoid::regclass from parent order by id, tableoid::regclass::text;
select error_of('select queue_complete_row(''family'', p) from parent p');
select error_of('select queue_attach(''f2'', ''parent'', ''state = 0'', claim_mode => ''session'')');
select queue_attach('locked', 'parent', 'state = 0', 'id', claim_mode => 'transaction');
begin;
select * from queue_pop_rows(null::parent, 'locked', 2);
select * from queue_pop_rows(null::parent, 'locked', 2);
select * from queue_pop_rows(null::parent, 'locked', 2);
rollback;
select * from queue_pop_rows(null::parent, 'locked');
select queue_attach('only_child', 'child', 'state = 0', 'id', 'state = 2, extra = upper(extra)');
select * from queue_pop_rows(null::child, 'only_child');
-- The first child comes, or goes, later.
create table lonely (id integer primary key, state integer not null default 0);
insert into lonely values (1), (2);
select queue_attach('lonely', 'lonely', 'state = 0', 'id', 'state = 1');
select queue_complete_row('lonely', l) from queue_pop_rows(null::lonely) l;
create table late_child () inherits (lonely);
insert into late_child values (0);
select error_of('select queue_complete_row(''lonely'', l) from lonely l');
select * from queue_pop_rows(null::lonely, 'lonely', 5);
drop table late_child;
select error_of('select queue_complete_row(''lonely'', l) from lonely l');

-- Generated columns, identity, domains, CHECK, exclusion, unique.
create domain small as integer check (value < 3);
create table checked (
	id bigint generated always as identity primary key,
	n small not null default 0,
	twice integer generated always as (n * 2) stored,
	span int4range not null default '[0,1)',
	name text,
	constraint n_is_not_two check (n <> 2),
	exclude using gist (span with &&) where (n > 0)
);
insert into checked (span, name) select int4range(i, i + 2), 'a' from generate_series(1, 9, 2) as i;
select queue_attach('checked', 'checked', 'n = 0', 'id', 'n = 1', on_complete => 'n = 2', on_fail => 'n = 3', on_release => 'n = 0');
select * from queue_pop_rows(null::checked, 'checked', 2);
select error_of(format('select queue_%s_row(''checked'', c) from checked c where id = 1', f)) from unnest('{complete,fail,release}'::text[]) f;
select * from checked where id <= 2 order by id;
select queue_attach('bad_check', 'checked', 'n = 0', 'id', 'n = 2'),
       queue_attach('bad_domain', 'checked', 'n = 0', 'id', 'n = n + 5'),
       queue_attach('bad_exclusion', 'checked', 'n = 0', 'id', 'n = 1, span = ''[1,2)'''),
       queue_attach('bad_null', 'checked', 'n = 0', 'id', 'n = nullif(n, 0)');
-- Which row of the two fails first depends on the path.
set queue_ext.claim_path = auto;
select q, error_of(format('select queue_pop_rows(null::checked, %L, 2)', q)) from unnest('{bad_check,bad_domain,bad_exclusion,bad_null}'::text[]) q;
reset queue_ext.claim_path;
select id, n, twice, span from checked order by id;
create unique index on checked (name) where n = 1;
update checked set name = 'b' where id = 2;
select error_of('select queue_pop_rows(null::checked, ''checked'', 3)');
select count(*) as pending from checked where n = 0;

-- Keys.
create type color as enum ('red', 'green');
create table key_bigint (k bigint primary key, state integer not null default 0);
create table key_uuid (k uuid primary key, state integer not null default 0);
create table key_text (k text primary key, state integer not null default 0);
create table key_enum (k color primary key, state integer not null default 0);
create table key_numeric (k numeric primary key, state integer not null default 0);
create table key_composite (k text, l date, m bytea, state integer not null default 0, primary key (m, k, l));
create table key_odd ("K 'y"" " integer, state integer not null default 0, primary key ("K 'y"" "));
create table key_unique (k text not null unique, state integer not null default 0);
create table key_include (k integer, state integer not null default 0, primary key (k) include (state));
create table key_domain (k small primary key, state integer not null default 0);
create table no_key (k integer, state integer not null default 0);
create table no_key_nullable (k integer unique, state integer not null default 0);
create table no_key_deferrable (k integer not null unique deferrable, state integer not null default 0);
create table no_key_partial (k integer not null, state integer not null default 0);
create unique index on no_key_partial (k) where k > 0;
create table no_key_expression (k text not null, state integer not null default 0);
create unique index on no_key_expression (lower(k));
insert into key_bigint values (-5000000000), (7);
insert into key_uuid values ('00000000-0000-0000-0000-000000000001'), ('ffffffff-ffff-ffff-ffff-ffffffffffff');
insert into key_text values (''), ('a''b"c\d, (e)');
insert into key_enum values ('red'), ('green');
insert into key_numeric values (1.0), (1e30);
insert into key_composite values ('a,b', '2020-01-01', '\x00'), ('a', '2020-01-01', '\x00');
insert into key_odd values (1), (2);
insert into key_unique values ('a'), ('b');
insert into key_include values (1), (2);
insert into key_domain values (1), (2);
insert into no_key values (null), (null);
insert into no_key_nullable values (null), (2);
insert into no_key_deferrable values (1), (2);
insert into no_key_partial values (1), (2);
insert into no_key_expression values ('a'), ('b');
create function try(t regclass, mode text) returns text language plpgsql as $$
declare
	attached text;
	result text;
	again text;
	locks integer;
begin
	attached := error_of(format('select queue_attach(''q'', %L, ''state = 0'', null, %L, claim_mode => %L)', t,
		case mode when 'update' then 'state = 1' end, mode));
	if attached <> 'none' then
		return attached;
	end if;
	execute format('select count(*) from (select from queue_pop_rows(null::%s, ''q'')) j', t) into result;
	select count(*) into locks from pg_locks where locktype = 'advisory' and classid = t;
	execute format('select count(*) from (select from queue_pop_rows(null::%s, ''q'', 5)) j', t) into again;
	result := format('pops %s, %s, locks %s, completes: %s', result, again, locks,
		error_of(format('do $do$ begin assert (select count(*) = 2 and bool_and(queue_complete_row(''q'', j)) from %s j), ''not''; end $do$', t)));
	execute format('select count(*) from %s', t) into again;
	raise exception using message = result || ', leaves ' || again, errcode = 'R0000';
exception when sqlstate 'R0000' then
	return sqlerrm;
end $$;
select mode, relname, try(c.oid, mode)
from unnest('{update,transaction,session}'::text[]) with ordinality as m(mode, n)
cross join pg_class c
where relnamespace = 'test_kinds'::regnamespace and relname ~ '^(no_)?key' and relkind = 'r'
order by n, relname collate "C";
select count(*) as locks from pg_locks where locktype = 'advisory';

-- A key that comes, or goes, later.
select queue_attach('q', 'no_key', 'state = 0', 'k', 'state = 1');
select queue_pop_rows(null::no_key);
update no_key set k = 1 + state;
select error_of('select queue_complete_row(''q'', n) from no_key n');
alter table no_key add primary key (k);
select queue_complete_row('q', n) from no_key n where state = 1;
alter table no_key drop constraint no_key_pkey;
select error_of('select queue_complete_row(''q'', n) from no_key n');
select queue_pop_rows(null::no_key);

-- What is no table.
create foreign data wrapper nothing_fdw;
create server nowhere foreign data wrapper nothing_fdw;
create foreign table far (id integer, state integer) server nowhere;
create table half_far (id integer, state integer) partition by list (id);
create foreign table far_part partition of half_far for values in (1) server nowhere;
create table near_parent (id integer, state integer);
create foreign table far_child () inherits (near_parent) server nowhere;
create view looks as select * from parent;
create materialized view frozen as select * from parent;
create sequence counter;
create type composite as (id integer, state integer);
create index an_index on parent (state);
create table ruled (id integer primary key, state integer);
create rule r as on update to ruled do also notify ruled;
create table ruled_insert (id integer primary key, state integer);
create rule r as on insert to ruled_insert do also notify ruled;
select t, error_of(format('select queue_attach(''refused'', %L, ''state = 0'', null, ''state = 1'')', t))
from unnest('{far,half_far,near_parent,looks,frozen,counter,composite,an_index,ruled,ruled_insert,queues,pg_class,pg_catalog.pg_authid,information_schema.tables,pg_toast.pg_toast_1255}'::text[]) t;
-- They come later: the claim says so then.
create table fine (id integer primary key, state integer not null default 0);
insert into fine values (1);
select queue_attach('fine', 'fine', 'state = 0', 'id', 'state = 1');
select id from queue_pop_rows(null::fine);
update fine set state = 0;
create rule r as on update to fine do instead nothing;
select error_of('select queue_pop_rows(null::fine)');
select * from fine;
drop rule r on fine;
select id from queue_pop_rows(null::fine);
drop schema test_kinds cascade;
drop foreign data wrapper nothing_fdw cascade;
