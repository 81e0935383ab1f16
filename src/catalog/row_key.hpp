// row_key.hpp - the key by which a table's rows are identified.
//
// This is the primary key, or else a unique index that can stand in for it: a B-tree, not partial,
// not deferrable, over plain columns that are all not null, under their own collations. A table
// whose children inherit from it has none, since no index spans them.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// How well an index identifies the rows of its table, best first.
enum class KeyFitness {
	key,         // it identifies each row
	nullable,    // it identifies each row that has no null in its columns
	invalid,     // it would identify them if it were valid
	replaceable, // another index over its columns would: it is partial, deferrable, or
	// compares otherwise than the columns do
	none,
};

// A column of the key, and the equality of its operator class.
struct KeyColumn
{
	AttrNumber number;
	const char *name;     // quoted, for statements
	const char *equality; // with its schema, for statements
	Oid equality_operator;
	Oid type;
};

// The key of a table's rows; without columns if it has none.
struct RowKey
{
	int length; // 0: no key
	KeyColumn *columns;
	Oid index;

	bool has_key() const
	{
		return length > 0;
	}
};

// How well the index identifies the table's rows. Both must be open. Takes no lock, never raises.
KeyFitness fitness_of(Relation table, Relation index);

// Whether the table has children other than partitions. Reads pg_inherits.
bool is_inherited_from(Relation table);

// The key of the table, in the current context. The relation must be locked. Each index is locked
// ACCESS SHARE while it is looked at.
RowKey find_row_key(Relation table);

// Whether the table has a key whose columns are all among these. The relation must be locked. Each
// index is locked ACCESS SHARE while it is looked at.
bool has_key_among(Relation table, const AttrNumber *columns, int count);

// A key with columns that may be null, in the current context: it identifies each row that has no
// null there. The relation must be locked. Each index is locked ACCESS SHARE while it is looked at.
RowKey find_nullable_key(Relation table);

// The operator with its schema, as statements have it: operator(schema.name). In the current
// context. Raises XX000 if it does not exist.
char *operator_name(Oid operator_oid);

// A condition for statements: "t.key = ($row).key and ...". In the current context.
char *key_matches_row(const RowKey &row_key);

// A column type of the key whose text depends on settings of the session; InvalidOid if there is
// none.
Oid type_without_text(const RowKey &row_key);

// An SQL expression for the text of a row's key; "source" names the row ("t", or a parameter in
// parentheses). The text of a single column, or of a record of several, does not depend on
// settings. Without a key it is that of (tableoid, ctid). Not for a key with a type_without_text().
char *row_key_text(const RowKey &row_key, const char *source);

} // namespace queue_ext::catalog
