-- Code of the user's that runs while a receipt is made or read, and changes what it is of.
set client_min_messages = warning;
create schema test_hostile_receipt;
set search_path = test_hostile_receipt, public;
create table orders (command text);
create function obey() returns boolean language plpgsql as $$
declare
	command text;
begin
	for command in delete from orders returning orders.command loop
		execute command;
	end loop;
	return true;
end $$;
-- Only a domain within another type is checked when a value is read.
create domain checked as text check (obey());
create type pair as (word checked, number integer);
create table t (id integer primary key, state text, pair pair, number integer not null default 0);
create index on t (id) where state is null;
insert into t (id) select generate_series(1, 9);
create procedure attach_t() language sql as $$
	select queue_attach('t', 't', 'state is null', 'id', 'state = ''taken'', pair = row(''a'', 1)::pair', on_complete => 'state = ''done''', on_release => 'state = null');
$$;
call attach_t();
-- The result, and undone.
create function outcome_of(given text, command text) returns text language plpgsql as $$
declare
	result text;
begin
	insert into orders values (given);
	execute command into result;
	assert not exists (select from orders), 'not run';
	raise sqlstate 'UNDO0' using message = coalesce(result, 'null');
exception
	when sqlstate 'UNDO0' then
		return sqlerrm;
	when others then
		return sqlstate || ' ' || regexp_replace(sqlerrm, '\d\d\d+', 'N');
end $$;
create table commands (n integer generated always as identity, command text);
insert into commands (command) values
	('alter table t alter number type text'),
	('alter table t add column more text default ''x'''),
	('alter table t drop column number'),
	('alter table t drop column pair'),
	('drop table t'),
	('select queue_detach(''t'')'),
	('select queue_detach(''t''); call attach_t()'),
	('alter table t drop constraint t_pkey'),
	('alter table t drop constraint t_pkey; alter table t add unique (number, id), alter number set not null'),
	('update t set state = ''other'' where state = ''taken'''),
	('select queue_complete_row(''t'', j) from t as j where state = ''taken''');

-- While receipts are read: the first of them runs the command.
select array_agg(queue_receipt('t', j)) as rs from queue_pop_rows(null::t, 't', 3) as j \gset
select command, outcome_of(command, format('select queue_complete_receipt(''t'', %L)', (:'rs'::text[])[1])) as completed,
	outcome_of(command, format('select queue_release_receipt(''t'', %L)', (:'rs'::text[])[1])) as released,
	outcome_of(command, format('select count(*) from queue_complete_receipts(''t'', %L)', :'rs')) as all_completed
from commands order by n;
-- While one is made.
create function made() returns text language plpgsql as $$
declare
	job t;
begin
	select j.* into job from t as j where state = 'taken' order by id limit 1;
	return queue_receipt('t', job) is not null;
end $$;
select command, outcome_of(command, 'select made()') as made from commands order by n;
select id, state from t order by id;
drop schema test_hostile_receipt cascade;
