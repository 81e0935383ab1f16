// value_text.hpp - column values as text, for the names of locks: equal values give equal texts, in
// every session.
//
// If a type has no such text, it is "#" and the hash of the value, or "*" if the type has no hash
// function. Different values may then share a lock, which costs a wait and no more.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// A column of a rule. Its values are compared by the default equality operator of the type, under
// the column's collation.
struct RuleColumn
{
	AttrNumber number;
	const char *name;     // quoted
	const char *equality; // the qualified operator, for statements
	Oid type;             // the base type of a domain
	Oid collation;
	TypeCacheEntry *entry;
};

// Appends the text of a value that is not null, as a JSON string.
void append_value_text(StringInfo out, const RuleColumn &column, Datum value);

// Compares two values that are not null.
bool are_equal(const RuleColumn &column, Datum left, Datum right);

} // namespace queue_ext::unique
