create function @extschema@.queue_unique_insert_row(
	job anyelement,
	unique_by text[],
	among text default null,
	out inserted boolean,
	out job anyelement
)
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_row';

comment on function @extschema@.queue_unique_insert_row(anyelement, text[], text) is
	'adds a row to its table unless one with equal columns is there, and returns whether, and the row';

create function @extschema@.queue_unique_insert_rows(
	jobs anyarray,
	unique_by text[],
	among text default null,
	out inserted boolean,
	out job anyelement
) returns setof record
language c volatile parallel unsafe rows 100
as 'MODULE_PATHNAME', 'queue_ext_queue_unique_insert_rows';

comment on function @extschema@.queue_unique_insert_rows(anyarray, text[], text) is
	'adds each row that is not there to its table, and returns for each whether, and the row';
