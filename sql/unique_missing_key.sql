-- A payload that has none of the keys in unique_by: a misspelt name made all jobs the same, and dropped all but one.
set client_min_messages = warning;
create schema test_missing_key;
set search_path = test_missing_key, public;
create function error_of(command text) returns text language plpgsql as $$
declare
	hint text;
begin
	execute command;
	return 'none';
exception when others then
	get stacked diagnostics hint = pg_exception_hint;
	return concat_ws(' | ', sqlstate, sqlerrm, nullif(hint, ''));
end $$;
select queue_create('q');
select error_of($$select queue_unique_insert('q', '{"user": 1}', '{usr}')$$);
select error_of($$select queue_unique_insert('q', '{"user": 2, "Kind \"x\"": {"usr": 1}}', '{usr,""}', '1 hour')$$);
select error_of($$select queue_unique_insert('q', '{}', '{usr}', states => '{done,ready}')$$);
select error_of($$select queue_unique_insert('q', (select jsonb_object_agg('k' || n, n) from generate_series(10, 40) as n), '{usr}')$$);
-- One of many: nothing is inserted.
select error_of($$select queue_unique_insert_many('q', '{"{\"user\": 1}","{\"usr\": 1}"}', '{user}')$$);
select count(*) from q;
-- A key that some jobs have not is as before, and none of the keys can be asked for by a null.
select inserted from queue_unique_insert('q', '{"user": 1}', '{user,kind}');
select inserted from queue_unique_insert('q', '{"user": 1, "more": 1}', '{user,kind}');
select inserted from queue_unique_insert('q', '{"user": 1, "kind": null}', '{user,kind}');
select inserted from queue_unique_insert('q', '{"kind": null}', '{kind}');
select inserted from queue_unique_insert('q', '{"kind": null, "more": 1}', '{kind}');
-- No names, no keys.
select inserted from queue_unique_insert('q', '{}', '{}');
select inserted from queue_unique_insert('q', '7', '{}');
select queue_drop('q', true);
drop schema test_missing_key cascade;
