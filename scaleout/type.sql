-- Row types of results, and the columns that later versions have; made alike on the proxy and on the shards.

-- Adds a column to a table of an older version. One that has it is not locked: calls would wait.
create or replace function @own@.add_column(_table regclass, _column text, _type text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
	if not exists (select from pg_attribute a where a.attrelid = _table and a.attname = _column and not a.attisdropped) then
		execute format('alter table %s add %I %s', _table, _column, _type);
	end if;
end
$$;
revoke all on function @own@.add_column(regclass, text, text) from public;

-- Makes a row type, or adds to the one that is there the columns that a later version has.
create or replace function @own@.make_type(_name text, _columns text[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
	_column text;
begin
	if to_regtype(_name) is null then
		execute format('create type %s as (%s)', _name, array_to_string(_columns, ', '));
		return;
	end if;
	foreach _column in array _columns loop
		if not exists (
			select from pg_attribute a join pg_type t on t.typrelid = a.attrelid
			where t.oid = to_regtype(_name) and a.attname = split_part(_column, ' ', 1) and not a.attisdropped)
		then
			execute format('alter type %s add attribute %s', _name, _column);
		end if;
	end loop;
end
$$;
revoke all on function @own@.make_type(text, text[]) from public;
