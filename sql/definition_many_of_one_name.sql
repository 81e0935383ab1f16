-- Queues of one name in many schemas. What a name means is looked for among all of these, since
-- two may stand in one schema; the definition is read by its key.
set client_min_messages = warning;
create schema test_many_of_one_name;
set search_path = test_many_of_one_name, public;
do $$ begin
	for n in 1..50 loop
		execute format('create schema test_one_name_%s', n);
		perform queue_create(format('test_one_name_%s.jobs', n));
	end loop;
end $$;
-- How many rows of the registry a call reads.
create function rows_read(call text) returns bigint language plpgsql as $$
declare
	key regclass := (select indexrelid from pg_index where indrelid = 'queue_definition'::regclass and indisprimary);
	before bigint := pg_stat_get_xact_tuples_fetched(key);
begin
	execute call;
	return pg_stat_get_xact_tuples_fetched(key) - before;
end $$;
select rows_read($$ select queue_send('test_one_name_50.jobs', '1') $$) as first,
	rows_read($$ select queue_send('test_one_name_50.jobs', '1') $$) as again,
	rows_read($$ select queue_send('test_one_name_49.jobs', '1') $$) as another;
-- Another queue of the name changes: the name is looked up again, the definition stays.
alter table test_one_name_1.jobs set (fillfactor = 50);
select rows_read($$ select queue_send('test_one_name_50.jobs', '1') $$) as first,
	rows_read($$ select queue_send('test_one_name_50.jobs', '1') $$) as again;
-- Its own does.
alter table test_one_name_50.jobs set (fillfactor = 50);
select rows_read($$ select queue_send('test_one_name_50.jobs', '1') $$) as first,
	rows_read($$ select queue_send('test_one_name_50.jobs', '1') $$) as again;
-- Through the path, and where it comes to be ambiguous.
set search_path = test_one_name_7, test_many_of_one_name, public;
select rows_read($$ select queue_send('jobs', '1') $$) as first,
	rows_read($$ select queue_send('jobs', '1') $$) as again;
create schema test_one_name_51;
create table test_one_name_51.others (id integer primary key);
do $$ begin
	perform set_config('client_min_messages', 'error', true), queue_attach('test_one_name_51.jobs', 'test_one_name_51.others', 'id > 0', 'id', 'id = - id');
end $$;
alter table test_one_name_51.others set schema test_one_name_7;
\set VERBOSITY sqlstate
select queue_send('jobs', '1');
select queue_send('test_one_name_7.jobs', '1');
\set VERBOSITY default
do $$ begin
	for n in 1..51 loop
		execute format('drop schema test_one_name_%s cascade', n);
	end loop;
end $$;
drop schema test_many_of_one_name cascade;
