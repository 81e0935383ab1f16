// column.hpp - a column by its name and its type.
//
// The owner of a table may drop a column, rename it or change its type at any time, and a statement on it returns what
// there is then: a column is what was meant only if both are as expected.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// InvalidAttrNumber if there is none of that name, or if the first one of it has another type.
inline AttrNumber
find_column(TupleDesc columns, const char *name, Oid type)
{
	for (int i = 0; i < columns->natts; i++) {
		const FormData_pg_attribute *attribute = TupleDescAttr(columns, i);
		if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), name) == 0)
			return attribute->atttypid == type ? attribute->attnum
											   : static_cast<AttrNumber>(InvalidAttrNumber);
	}
	return InvalidAttrNumber;
}

// The same of a table that is open.
inline AttrNumber
find_column(Relation table, const char *name, Oid type)
{
	return find_column(RelationGetDescr(table), name, type);
}

// The same of a table that need not be open; reads the catalogs.
inline AttrNumber
find_column(Oid table, const char *name, Oid type)
{
	const AttrNumber number = get_attnum(table, name);
	return number > 0 && get_atttype(table, number) == type
			   ? number
			   : static_cast<AttrNumber>(InvalidAttrNumber);
}

// Reads the column from a row with these columns. False if there is none of that name and type, or if it is null.
inline bool
get_value(HeapTuple row, TupleDesc columns, const char *name, Oid type, Datum *value)
{
	const AttrNumber number = find_column(columns, name, type);
	if (number == InvalidAttrNumber)
		return false;
	bool is_null;
	*value = heap_getattr(row, number, columns, &is_null);
	return !is_null;
}

} // namespace queue_ext::catalog
