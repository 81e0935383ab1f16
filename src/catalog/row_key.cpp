// row_key.cpp - see row_key.hpp.

#include "../postgres.hpp"

#include "row_key.hpp"

#include "../compat.hpp"
#include "../statement/statement.hpp"
#include "indexes.hpp"

namespace queue_ext::catalog {

// Excludes expressions (0) and system columns.
static bool
has_plain_columns(Relation index)
{
	const Form_pg_index form = index->rd_index;
	for (int i = 0; i < form->indnkeyatts; i++)
		if (form->indkey.values[i] <= 0)
			return false;
	return true;
}

// A NOT NULL constraint that is not validated does not count: there may be null values.
static bool
are_all_not_null(Relation table, Relation index)
{
	const Form_pg_index form = index->rd_index;
	for (int i = 0; i < form->indnkeyatts; i++)
		if (!compat::is_not_null(RelationGetDescr(table), form->indkey.values[i] - 1))
			return false;
	return true;
}

// Under another collation the index may hold two values that are equal by that of the column.
static bool
has_the_columns_collations(Relation table, Relation index)
{
	const Form_pg_index form = index->rd_index;
	for (int i = 0; i < form->indnkeyatts; i++)
		if (index->rd_indcollation[i] !=
			TupleDescAttr(RelationGetDescr(table), form->indkey.values[i] - 1)->attcollation)
			return false;
	return true;
}

// Looks at the columns first: the other answers are of use only for a unique B-tree over plain
// ones.
KeyFitness
fitness_of(Relation table, Relation index)
{
	const Form_pg_index form = index->rd_index;
	if (!form->indisunique || index->rd_rel->relam != BTREE_AM_OID || !has_plain_columns(index))
		return KeyFitness::none;
	if (!form->indimmediate || !has_the_columns_collations(table, index) ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr))
		return KeyFitness::replaceable;
	if (!form->indisvalid)
		return KeyFitness::invalid;
	return are_all_not_null(table, index) ? KeyFitness::key : KeyFitness::nullable;
}

// With the schema even for pg_catalog, since a statement must not depend on the search path.
char *
operator_name(Oid operator_oid)
{
	HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator_oid);
	const auto form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(tuple));
	const char *schema = get_namespace_name(form->oprnamespace);
	if (schema == nullptr)
		elog(ERROR, "cache lookup failed for namespace %u", form->oprnamespace);
	char *name = psprintf("operator(%s.%s)", quote_identifier(schema), NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return name;
}

static Oid
equality_of(Relation index, int column)
{
	const Oid type = index->rd_opcintype[column];
	return get_opfamily_member(index->rd_opfamily[column], type, type, BTEqualStrategyNumber);
}

// Copies the names, since the relcache entries may be rebuilt.
static RowKey
row_key_of(Relation table, Relation index)
{
	RowKey row_key{};
	row_key.length = index->rd_index->indnkeyatts;
	row_key.index = RelationGetRelid(index);
	row_key.columns = static_cast<KeyColumn *>(palloc0(sizeof(KeyColumn) * row_key.length));
	for (int i = 0; i < row_key.length; i++) {
		const Form_pg_attribute attribute =
			TupleDescAttr(RelationGetDescr(table), index->rd_index->indkey.values[i] - 1);
		const Oid equality = equality_of(index, i);
		row_key.columns[i] = {
			attribute->attnum,       pstrdup(quote_identifier(NameStr(attribute->attname))),
			operator_name(equality), equality,
			attribute->atttypid,
		};
	}
	return row_key;
}

// NoLock: only the existence of a child matters.
bool
is_inherited_from(Relation table)
{
	return table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		   find_inheritance_children(RelationGetRelid(table), NoLock) != NIL;
}

// The key by an index of that fitness, the primary key if it has it.
static RowKey
find_by_index(Relation table, KeyFitness wanted)
{
	RowKey row_key{};
	if (is_inherited_from(table))
		return row_key;
	List *indexes = RelationGetIndexList(table);
	const Oid primary = table->rd_pkindex;
	ListCell *cell;
	foreach (cell, indexes) {
		const Oid oid = lfirst_oid(cell);
		if (row_key.has_key() && oid != primary)
			continue;
		Relation index = index_open(oid, AccessShareLock);
		if (fitness_of(table, index) == wanted)
			row_key = row_key_of(table, index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return row_key;
}

// Whether all key columns of the index are among these.
static bool
is_among(Relation index, const AttrNumber *columns, int count)
{
	for (int i = 0; i < index->rd_index->indnkeyatts; i++) {
		bool is_found = false;
		for (int j = 0; j < count; j++)
			is_found |= columns[j] == index->rd_index->indkey.values[i];
		if (!is_found)
			return false;
	}
	return true;
}

bool
has_key_among(Relation table, const AttrNumber *columns, int count)
{
	if (is_inherited_from(table))
		return false;
	bool has = false;
	each_index(table, [&](Relation index) {
		has |= fitness_of(table, index) == KeyFitness::key && is_among(index, columns, count);
	});
	return has;
}

RowKey
find_row_key(Relation table)
{
	return find_by_index(table, KeyFitness::key);
}

RowKey
find_nullable_key(Relation table)
{
	return find_by_index(table, KeyFitness::nullable);
}

// Uses the operators of the index, so that it serves the comparison.
char *
key_matches_row(const RowKey &row_key)
{
	StringInfoData text;
	initStringInfo(&text);
	for (int i = 0; i < row_key.length; i++) {
		const KeyColumn &column = row_key.columns[i];
		appendStringInfo(&text, "%st.%s %s (%s).%s", i == 0 ? "" : " and ", column.name,
						 column.equality, placeholder(statement::Parameter::row), column.name);
	}
	return text.data;
}

// An SQL expression for the column's value as text that does not depend on settings of the session;
// null for a type without one. Dates and timestamps are written as seconds: their own text depends
// on DateStyle and TimeZone.
static char *
stable_text(const KeyColumn &column, const char *source)
{
	const Oid type = getBaseType(column.type);
	if (type_is_enum(type))
		return psprintf("(%s.%s)::pg_catalog.text", source, column.name);
	switch (type) {
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case BOOLOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case CHAROID:
		case UUIDOID:
		case OIDOID:
			return psprintf("(%s.%s)::pg_catalog.text", source, column.name);
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return psprintf("(extract(epoch from %s.%s))::pg_catalog.text", source, column.name);
		case BYTEAOID:
			return psprintf("pg_catalog.encode(%s.%s, 'hex')", source, column.name);
		default:
			return nullptr;
	}
}

Oid
type_without_text(const RowKey &row_key)
{
	for (int i = 0; i < row_key.length; i++)
		if (stable_text(row_key.columns[i], "t") == nullptr)
			return row_key.columns[i].type;
	return InvalidOid;
}

char *
row_key_text(const RowKey &row_key, const char *source)
{
	if (!row_key.has_key())
		return psprintf("row(%s.tableoid, %s.ctid)::pg_catalog.text", source, source);
	if (row_key.length == 1)
		return stable_text(row_key.columns[0], source);
	StringInfoData columns;
	initStringInfo(&columns);
	for (int i = 0; i < row_key.length; i++)
		appendStringInfo(&columns, "%s%s", i == 0 ? "" : ", ",
						 stable_text(row_key.columns[i], source));
	return psprintf("row(%s)::pg_catalog.text", columns.data);
}

} // namespace queue_ext::catalog
