-- A row in hand was read under changed columns where code of the user's altered the table while
-- the statement was planned or parsed that the row is for: bytes of a number as a text.
set client_min_messages = warning;
create schema test_row_changed;
set search_path = test_row_changed, public;
create table st (a integer, b integer);
create index on st (a);
create table jobs (id integer primary key, a integer, b integer, state text);
create index on jobs (id) where state = 'new';
insert into jobs values (1, 7, 8, 'taken');
create table held (id integer primary key, a integer, state text);
create index on held (id) where state = 'new';
insert into held values (1, 1, 'new');
create sequence calls;
create function alter_it() returns boolean language plpgsql as $$
begin
	if nextval('test_row_changed.calls') = current_setting('row_changed.call')::bigint then
		execute current_setting('row_changed.command');
	end if;
	return true;
end $$;
-- These run while a statement is planned, and when a fragment is compiled; the check of the
-- domain, while a statement is parsed.
create function folded() returns boolean immutable language plpgsql as $$ begin return test_row_changed.alter_it(); end $$;
create function folded_text() returns text immutable language plpgsql as $$ begin perform test_row_changed.alter_it(); return 'done'; end $$;
create domain checked as integer check (test_row_changed.alter_it());
create type pair as (value checked);
set row_changed.call = 0;
select queue_attach('jobs', 'jobs', 'state = ''new''', 'id', 'state = ''taken'', b = b + 1', on_complete => 'state = test_row_changed.folded_text()');
select queue_attach('held', 'held', 'state = ''new'' and test_row_changed.folded()', 'id', claim_mode => 'session', on_complete => 'state = ''done''');
create table outcomes (statement text, n integer, outcome text);
-- The table is altered at each of the times that the code runs.
create procedure try_all(statement text, command text) language plpgsql as $$
declare
	outcome text;
begin
	for n in 1..12 loop
		perform set_config('row_changed.call', n::text, false), set_config('row_changed.command', command, false);
		perform setval('test_row_changed.calls', 1, false);
		begin
			execute statement into outcome;
			outcome := coalesce(outcome, 'nothing');
		exception when others then
			outcome := sqlstate || ' ' || sqlerrm;
		end;
		perform set_config('row_changed.call', '0', false);
		rollback;
		perform pg_advisory_unlock_all();
		insert into test_row_changed.outcomes values (statement, n, outcome);
		commit;
	end loop;
end $$;
call try_all($$ select queue_unique_insert_row(row(7, 8)::test_row_changed.st, '{a}', 'test_row_changed.folded()') $$,
	'alter table test_row_changed.st alter a type text');
call try_all($$ select string_agg(j::text, '') from queue_unique_insert_rows(array[row(7, 8), row(9, 8)]::test_row_changed.st[], '{a}', 'test_row_changed.folded() and true') as j $$,
	'alter table test_row_changed.st alter a type text');
call try_all($$ select queue_unique_insert_row(row(7, 8)::test_row_changed.st, '{a}', '''(1)''::test_row_changed.pair is not null') $$,
	'alter table test_row_changed.st alter a type text');
set queue_ext.claim_path = portable;
call try_all($$ select queue_complete_row('test_row_changed.jobs', row(1, 7, 8, 'taken')::test_row_changed.jobs) $$,
	'alter table test_row_changed.jobs alter a type text');
call try_all($$ select id from queue_pop_rows(null::test_row_changed.held, 'test_row_changed.held') $$,
	'alter table test_row_changed.held alter id type text');
reset queue_ext.claim_path;
select statement, outcome from outcomes group by 1, 2 order by 1, 2;
drop schema test_row_changed cascade;
