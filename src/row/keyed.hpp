// keyed.hpp - one row of a table of the extension's own, found by its key and written
// without a statement.
//
// Invariant: find() shows the newest version that is committed, or that this
// transaction has written, at every isolation level; write() puts a new version over
// that one or none. Neither waits. They run with the caller's rights and do all that
// an UPDATE would: is_direct says where they cannot (triggers on UPDATE, row security,
// a user's own constraints, rights on some columns alone), and a statement has to.
//
// Example:
//     const Opened opened = open(&table);
//     HeapTuple row = find(opened, key);
//     Changes changes{};
//     changes.set(column_owner, owner);
//     const Written written = write(opened, row, changes);
//     close(opened, written == Written::done);

#pragma once

#include "../postgres.hpp"

#include "../catalog/dependency.hpp"
#include "../catalog/own_table.hpp"
#include "../statement/statement.hpp"
#include "plain.hpp"
#include "use.hpp"

namespace queue_ext::row {

constexpr int max_statements = 8;

// The table as it was found. It stays in memory until the end of the transaction, if not
// longer.
struct KeyedShape
{
	catalog::Dependent dependent; // in its context is all of this
	Oid oid;
	bool is_plain;
	Oid index;
	Checks checks;
	ExprContext *evaluation;
};

struct KeyedTable
{
	const char *name; // in the extension's schema
	const catalog::OwnColumn
		*columns; // the table's first ones; the first of them is the key, a text
	int column_count;
	const char *const *statements; // their texts; the table is %1$s
	const Oid *parameters;         // of all statements; the first is the key
	int parameter_count;

	const KeyedShape *shape; // what this backend knows of it; null until it has been opened
	Use use;                 // of a shape's checks
	statement::Statement prepared[max_statements];
};

struct Opened
{
	KeyedTable *of;
	const KeyedShape *shape;
	Relation relation;
	bool is_direct;
};

// Opens the table and locks it for writing (ROW EXCLUSIVE). Raises 42501 for a caller who
// may not write to it at all, before that, and 55000 where the extension is not created.
Opened open(KeyedTable *table);

// Closes it; its lock is kept until the end of the transaction if something has been
// written.
void close(const Opened &opened, bool has_written);

// The newest version of the row of that key, a copy in the current context; null when
// there is none. It may miss a row that others are moving just now.
HeapTuple find(const Opened &opened, const text *key);

// The value of a column; the column must not be null for the first.
Datum value_of(const Opened &opened, HeapTuple row, int column);
Datum value_of(const Opened &opened, HeapTuple row, int column, bool *is_null);

// What is to be written into a row.
struct Changes
{
	static constexpr int capacity = 8;
	int count;
	int columns[capacity];
	Datum values[capacity];
	bool nulls[capacity];

	void set(int column, Datum value)
	{
		columns[count] = column;
		values[count++] = value;
	}

	void set_null(int column)
	{
		columns[count] = column;
		nulls[count++] = true;
	}
};

enum class Written {
	done,
	busy,    // somebody else has the row
	changed, // it is not the newest version any more
};

// Writes the row anew. Raises what the executor raises where a constraint does not
// hold.
Written write(const Opened &opened, HeapTuple row, Changes *changes);

// Waits until no other transaction has that version of the row, and locks it if it is
// the newest then, as writing it would. Raises what waiting for a lock raises.
void await(const Opened &opened, HeapTuple row, const Changes *changes);

// The values for one run of a table's statements. All are null until set.
template <int count>
struct Arguments
{
	Datum values[count];
	char nulls[count];

	explicit Arguments(const text *key)
	{
		memset(values, 0, sizeof(values));
		memset(nulls, 'n', sizeof(nulls));
		set(0, PointerGetDatum(key));
	}

	void set(int parameter, Datum value)
	{
		values[parameter] = value;
		nulls[parameter] = ' ';
	}
};

// Runs one of the table's statements on the newest committed rows, as the caller;
// returns how many rows it processed. Wants SPI open.
uint64 run(KeyedTable *table, int statement, const Datum *values, const char *nulls);

} // namespace queue_ext::row
