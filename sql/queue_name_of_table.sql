-- What a session remembers of a table's only queue is found by no name, and a queue of
-- such a name is not found by its table.
set client_min_messages = error;
create schema test_name_of_table;
set search_path = test_name_of_table, public;
create table items (id integer primary key, state integer not null default 0);
insert into items values (1), (2), (3);
select queue_attach('q', 'items', 'state = 0', 'id', 'state = 1');
select id from queue_pop_rows(null::items);
create function try(command text) returns text language plpgsql as $$
begin
	execute command using chr(1) || 'items'::regclass::oid;
	return 'ok';
exception when others then
	return sqlstate;
end $$;
select try('select queue_pause($1)'), try('select queue_counts($1)'), try('select queue_create($1)'), try('select queue_detach($1)');
select try('select queue_create(quote_ident($1))'), try('select queue_send(quote_ident($1), ''1'')');
select id from queue_pop_rows(null::items);
select try('select queue_drop(quote_ident($1))');
drop schema test_name_of_table cascade;
