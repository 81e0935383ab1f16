-- Above READ COMMITTED, and on partitioned tables, a statement is tried again when a row of
-- its own has changed meanwhile. An error 40001 of the user's code was taken for that, and the
-- code was run a hundred times.
set client_min_messages = warning;
create schema test_user_serialization;
set search_path = test_user_serialization, public;
create sequence calls;
create function refuse() returns trigger language plpgsql as $$
begin
	perform nextval('test_user_serialization.calls');
	raise serialization_failure using message = 'app says retry';
end $$;
create table plain (id integer primary key, state text);
create table parts (id integer, state text, primary key (id)) partition by range (id);
create table part partition of parts for values from (0) to (100);
insert into plain values (1, 'new');
insert into parts values (1, 'new');
create trigger refuse before update on plain for each row execute function refuse();
create trigger refuse before update on parts for each row execute function refuse();
create index on plain (id) where state = 'new';
create index on parts (id) where state = 'new';
select queue_attach('plain', 'plain', 'state = ''new''', 'id', 'state = ''taken''', on_complete => 'state = ''done''');
select queue_attach('parts', 'parts', 'state = ''new''', 'id', 'state = ''taken''', on_complete => 'state = ''done''');
-- The error, and how often the code was run.
create function try(call text) returns text language plpgsql as $$
declare
	calls_before bigint := nextval('calls');
begin
	begin
		execute call;
	exception when others then
		return format('%s %s, %s times', sqlstate, sqlerrm, nextval('calls') - calls_before - 1);
	end;
	return 'ok';
end $$;
begin isolation level repeatable read;
select try('select queue_pop_rows(null::plain)');
select try('select queue_pop_rows(null::parts)');
select try($$select queue_complete_row('plain', (1, 'new')::plain)$$);
commit;
begin isolation level serializable;
select try('select queue_pop_rows(null::plain)');
commit;
select try('select queue_pop_rows(null::plain)');
select try('select queue_pop_rows(null::parts)');
-- By code without a name of its own in the error's context, and under the executor's words.
create function refuse_in_sql() returns boolean language plpgsql as $$
begin
	perform nextval('test_user_serialization.calls');
	raise serialization_failure using message = 'could not serialize access due to concurrent update';
end $$;
drop trigger refuse on plain;
select queue_detach('plain');
select queue_attach('plain', 'plain', 'state = ''new'' and test_user_serialization.refuse_in_sql()', 'id', 'state = ''taken''');
begin isolation level repeatable read;
select try('select queue_pop_rows(null::plain)');
commit;
drop schema test_user_serialization cascade;
