// keyed.hpp - one row of a table of the extension, found by its key and written without a
// statement.
//
// Invariant: at every isolation level find() returns the newest version that is committed or that
// this transaction has written, and update_row() replaces that version or none. Neither waits. Both run
// with the caller's rights and have all effects of an UPDATE. is_direct is false where they cannot
// be used (triggers on UPDATE, row security, constraints with user-defined functions, rights on
// some columns only); then the caller runs a statement.
//
// Example:
//     const Opened opened = open(&table, ACL_SELECT | ACL_UPDATE);
//     HeapTuple row = find(opened, key);
//     Changes changes{};
//     changes.set(column_owner, owner);
//     const Written written = update_row(opened, row, &changes);
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

// The table as it was when it was last opened. Lives until the end of the transaction at least, so
// that a call further up the stack can go on with it.
struct KeyedShape
{
	catalog::Dependent dependent; // its context holds the whole shape
	Oid oid;
	bool is_plain;
	Oid index;
	Checks checks;
	ExprContext *evaluation;
};

// Describes the table, and holds what this backend has cached of it. Static, one per table.
struct KeyedTable
{
	const char *name; // in the extension's schema
	const catalog::OwnColumn
		*columns; // the first ones of the table; the first is the key, of type text
	int column_count;
	const char *const *statements; // their texts, for psprintf; the table is %1$s
	const AclMode *rights;         // that each of them needs
	const Oid *parameters;         // of all statements; the first is the key
	int parameter_count;

	const KeyedShape *shape; // as cached by this backend; null until the table is opened
	StackedUse use;          // of the shape's checks: one call at a time
	statement::Statement prepared[max_statements];
};

// The table, open and locked; to be closed by close().
struct Opened
{
	KeyedTable *of;
	const KeyedShape *shape;
	Relation relation;
	bool is_direct;
};

// Opens the table and locks it ROW EXCLUSIVE. Raises 42501, before it takes the lock, for a caller
// without any right to write the table; 55000 where the extension is not created, or the table does
// not have the expected columns.
Opened open(KeyedTable *table, AclMode rights);

// Closes the table. The lock is kept until the end of the transaction if something has been
// written, else released.
void close(const Opened &opened, bool has_written);

// The newest version of the row with that key, as a copy in the current context; null when there is
// none. May miss a row that another transaction is updating at that moment.
HeapTuple find(const Opened &opened, const text *key);

// The value of a column. The first raises XX000 for a null.
Datum value_of(const Opened &opened, HeapTuple row, int column);
Datum value_of(const Opened &opened, HeapTuple row, int column, bool *is_null);

// The columns to update and their new values; at most "capacity".
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

// The result of update_row().
enum class Written {
	done,
	busy,    // another transaction has locked or is updating the row
	changed, // there is a newer version, or the row is deleted
};

// Writes a new version of the row with the changes. Never waits for a row lock. Raises what the
// executor raises where a constraint does not hold, and 55000 where a published table has no
// replica identity.
Written update_row(const Opened &opened, HeapTuple row, Changes *changes);

// Waits until no other transaction has a conflicting lock on that version of the row or is writing
// it, and locks it, as an update would, if it is the newest then. Raises 55P03 after lock_timeout,
// 40P01 for a deadlock.
void await(const Opened &opened, HeapTuple row, const Changes *changes);

// The parameter values for one run of a table's statement. All but the key are null until set.
template <int count>
struct KeyedArguments
{
	Datum values[count];
	char nulls[count];

	explicit KeyedArguments(const text *key)
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

// Runs one of the table's statements as the caller, on the newest committed rows; returns the
// number of rows processed. Needs SPI open. Locks the table ROW EXCLUSIVE until the end of the
// transaction. Raises what open() and the executor raise.
uint64 run(KeyedTable *table, int statement, const Datum *values, const char *nulls);

} // namespace queue_ext::row
