// value_text.hpp - column values as text, for the names of locks: equal values are
// equal texts, in every session.
//
// Where a type has no such text, it is "#" and the type's hash, or if it has none, "*".
// Different values may then have the same text, which costs a wait and no more.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// A column that tells rows apart. How its values are compared is the type's default
// equality under the column's collation.
struct Column
{
	AttrNumber number;
	const char *name;     // quoted
	const char *equality; // the operator, for statements
	Oid type;             // of domains, the one below
	Oid collation;
	TypeCacheEntry *entry;
};

// Adds the text of a value that is not null, as a JSON string.
void append_value_text(StringInfo out, const Column &column, Datum value);

// Whether two values that are not null are equal.
bool are_equal(const Column &column, Datum left, Datum right);

} // namespace queue_ext::unique
