// row_key.hpp - what tells one row of a table from another.
//
// That is the primary key, or else a unique index that can stand in for one: not
// partial, not deferrable, over plain columns that are all not null, under their own
// collations. A table whose children inherit from it has none, since no index spans
// them.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// How well an index tells the rows of its table apart.
enum class KeyFitness {
	key,         // it does
	nullable,    // it tells a row without a null in its columns from all others
	invalid,     // it would once it is valid
	replaceable, // another index over its columns would: it is partial, deferrable, or
	// compares otherwise than the columns do
	none,
};

struct KeyColumn
{
	AttrNumber number;
	const char *name;     // quoted
	const char *equality; // the index's operators, with their schema
	const char *at_least;
	const char *at_most;
	Oid operators[3]; // the same
	Oid type;
};

struct RowKey
{
	int length; // 0: there is no key
	KeyColumn *columns;
	Oid index;

	bool has_key() const
	{
		return length > 0;
	}
};

KeyFitness fitness_of(Relation table, Relation index);

// Whether the table has children that are not its partitions.
bool is_inherited_from(Relation table);

// The row key of the table's rows, in the current context. The relation must be
// locked.
RowKey find_row_key(Relation table);

// The same of a key whose columns may be null: it tells a row from all others that has no
// null there.
RowKey find_nullable_key(Relation table);

// The operator, with its schema, for statements. In the current context.
char *operator_name(Oid operator_oid);

// "t.key = ($row).key and ...", for statements.
char *key_matches_row(const RowKey &row_key);

// A type of the key whose values are not written alike in all sessions; InvalidOid
// when there is none.
Oid type_without_text(const RowKey &row_key);

// An expression for the row key of the row that "source" names ("t", or a
// parameter in parentheses), as text: of one column its own text, whatever the
// session's settings; without a key, where the row stands. Not for a key that
// type_without_text() objects to.
char *row_key_text(const RowKey &row_key, const char *source);

} // namespace queue_ext::catalog
