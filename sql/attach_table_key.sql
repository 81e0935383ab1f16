-- What tells rows apart for the _row functions. Where nothing does, the error's hint is
-- the command that changes it.
set client_min_messages = error;
create schema "test Key";
set search_path = "test Key", public;

-- The hint of an error, or none.
create function hint_of(command text) returns text language plpgsql as $$
declare
	hint text;
	detail text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics hint = pg_exception_hint, detail = pg_exception_detail;
	return concat_ws(' ', sqlstate, nullif(detail, ''), hint);
end $$;

create table nothing (n integer, state integer not null default 0);
create table "id's Taken" (id integer, "row_id_1" integer, state integer not null default 0);
create table two_nullable (a integer, "B b" text, n integer not null, state integer not null default 0, unique (a, n, "B b"));
create table part_of_it (n integer not null, state integer not null default 0);
create unique index on part_of_it (n) where state = 0;
create table deferred (n integer primary key deferrable, state integer not null default 0);
create table expression (n integer, state integer not null default 0);
create unique index on expression (abs(n));
create table invalid (n integer, state integer not null default 0);
create unique index invalid_n on invalid (n);
update pg_index set indisvalid = false where indexrelid = 'invalid_n'::regclass;
create table nearly (n integer, m integer, state integer not null default 0);
create unique index on nearly (n) where state = 0;
create unique index on nearly (m);
create table split (region text, n integer, state integer not null default 0) partition by list (region);
create table split_north partition of split for values in ('north');
create table split_south partition of split for values in ('south');
create table computed (n integer, state integer not null default 0) partition by list ((n % 2));
create table computed_all partition of computed default;
create table parent (n integer primary key, state integer not null default 0);
create table child () inherits (parent);

-- In mode session: without a key no queue. Then the hint is followed.
create table tried (relation regclass, hint text, again text);
do $$
declare
	t regclass;
	try text;
	hint text;
	got text;
begin
	for t in
		select oid from pg_class
		where relnamespace = '"test Key"'::regnamespace and relkind in ('r', 'p') and not relispartition
			and relname not in ('tried', 'child')
		order by oid
	loop
		try := format('select queue_attach(''q'', %L, ''state = 0'', claim_mode => ''session'')', t);
		hint := hint_of(try);
		got := null;
		if hint ~ '^55000 Run ' then
			execute substr(hint, 11);
			got := hint_of(try);
			perform queue_detach('q');
		end if;
		insert into tried values (t, hint, got);
	end loop;
end $$;
select relation, hint, again from tried;

-- The indexes that serve, from then on.
create table plain (n integer not null, state integer not null default 0, note text);
insert into plain select n from generate_series(1, 3) as n;
select queue_attach('plain', 'plain', 'state = 0', 'n', 'state = 1', on_fail => 'state = 3');
\set VERBOSITY default
select queue_complete_row('plain', p) from queue_pop_rows(null::plain) as p;
create unique index on plain (n);
select n, queue_complete_row('plain', p) as completed from queue_pop_rows(null::plain) as p;
select n, queue_fail_row('plain', p) as failed from queue_pop_rows(null::plain) as p;
select * from plain order by n;

-- Columns that may be null, in mode update: rows that have no null there are told apart.
create table nullable (a integer, b integer, state integer not null default 0, note text, unique (a, b));
insert into nullable values (1, 1), (1, 2), (2, null), (2, null), (3, 3);
create index on nullable (a, b) where state = 0;
select queue_attach('nullable', 'nullable', 'state = 0', 'a, b', 'state = state + 1', on_release => 'state = 0', on_fail => 'state = 9',
	on_complete => 'state = 7', on_extend => 'note = ''extended''');
create temporary table popped as select p as job from queue_pop_rows(null::nullable, max_jobs => 5) as p;
select queue_complete_row('nullable', job) as complete, queue_complete_row('nullable', job) as again from popped where (job).a = 1 and (job).b = 1;
select queue_release_row('nullable', job) as release from popped where (job).a = 1 and (job).b = 2;
select queue_extend_row('nullable', job) from popped where (job).a = 3;
select queue_fail_row('nullable', job) as fail from popped where (job).a = 3;
select * from nullable order by a, b;
-- The fence holds: the receipt of a row that another has by now is void.
update nullable set state = 8 where a = 1 and b = 1;
select queue_complete_row('nullable', job) from popped where (job).a = 1 and (job).b = 1;
select queue_complete_row('nullable', job) from popped where (job).b is null;
\set VERBOSITY sqlstate
select queue_release_row('nullable', job) from popped where (job).b is null;
select queue_fail_row('nullable', job) from popped where (job).b is null;
select queue_extend_row('nullable', job) from popped where (job).b is null;
\set VERBOSITY default
select * from nullable order by a, b, state;
-- A key without nulls comes first. With it a null is as good as any value.
drop table popped;
alter table nullable add c integer generated always as identity primary key;
select n.a, n.b, queue_complete_row('nullable', n) from nullable as n where b is null order by c;
-- In the modes in which a claim is a lock, it takes one without nulls.
alter table nullable drop column c;
update nullable set state = 0;
select queue_attach('locked', 'nullable', 'state = 0', 'a, b', claim_mode => 'transaction');
begin;
select queue_complete_row('locked', p) from queue_pop_rows(null::nullable, 'locked') as p;
rollback;
select queue_attach('held', 'nullable', 'state = 0', 'a, b', claim_mode => 'session');
delete from nullable where b is null;
alter table "test Key".nullable alter column a set not null, alter column b set not null;
begin;
select queue_complete_row('locked', p) from queue_pop_rows(null::nullable, 'locked') as p;
rollback;

-- An index that tells apart what is equal by the column's collation: one receipt must
-- not finish two rows. (Without ICU there is no such collation.)
do $$
begin
	if not exists (select from pg_collation where collprovider = 'i') then
		return;
	end if;
	create collation any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	create table cased (n text collate any_case not null, state integer not null default 0);
	create unique index on cased (n collate "C");
	insert into cased values ('a'), ('A');
	perform queue_attach('cased', 'cased', 'state = 0', on_claim => 'state = 1');
	perform queue_complete_row('cased', c) from queue_pop_rows(null::cased, max_jobs => 2) as c where n = 'a' collate "C";
	raise exception 'one receipt has finished % rows', (select 2 - count(*) from cased);
exception when object_not_in_prerequisite_state then
	assert sqlerrm = 'table "cased" has no key that identifies its rows', sqlerrm;
end $$;

-- The key of a session's queue is dropped.
select queue_attach('held', 'nullable', 'state = 0', 'a, b', claim_mode => 'session');
alter table nullable alter column b drop not null;
select * from queue_pop_rows(null::nullable, 'held');

drop schema "test Key" cascade;
