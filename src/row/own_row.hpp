// own_row.hpp - writes rows of the extension's own tables, which are found by their OID.
//
// A statement would find the table by its name, as the user who has the rights to write it: and the owner of the
// schema may put another table there at any moment, with triggers.
//
// Invariant: none of these functions checks privileges or fires a trigger. Defaults, constraints and index
// expressions, which are the table's owner's, are evaluated as the current user. The table is locked ROW EXCLUSIVE.

#pragma once

#include "../postgres.hpp"

#include "newest.hpp"
#include "write.hpp"

namespace queue_ext::row {

// The values of a row to be written. A column that is not set stays as it is, or gets its default.
struct RowValues
{
	int width; // of the table, which may be of another version
	Datum *values;
	bool *nulls;
	bool *are_set;

	explicit RowValues(Relation table) : width(RelationGetNumberOfAttributes(table))
	{
		values = static_cast<Datum *>(palloc0(sizeof(Datum) * width));
		nulls = static_cast<bool *>(palloc(sizeof(bool) * width));
		are_set = static_cast<bool *>(palloc0(sizeof(bool) * width));
		memset(nulls, true, sizeof(bool) * width);
	}

	void set(AttrNumber column, Datum value, bool is_null = false) const
	{
		Assert(column <= width);
		values[column - 1] = value;
		nulls[column - 1] = is_null;
		are_set[column - 1] = true;
	}

	void set(AttrNumber column, const char *string) const
	{
		set(column, string == nullptr ? 0 : CStringGetTextDatum(string), string == nullptr);
	}

	void set(AttrNumber column, const Interval *interval) const
	{
		set(column, IntervalPGetDatum(interval), interval == nullptr);
	}
};

// Inserts the row. Raises what constraints and indexes raise, and may wait for a transaction that has written the same
// unique key.
void insert_own_row(Relation table, const RowValues &row);

// Inserts one of several rows, by the slot, which is of the table.
void insert_own_row(Target *target, TupleTableSlot *slot, const RowValues &row);

// Locks the newest version of the row, for which it may wait, and returns a copy; null if the row has been deleted.
HeapTuple lock_own_row(Relation table, const ItemPointerData &tid);

// Replaces the version, which this transaction has locked. Raises what constraints and indexes raise, and may wait for
// a transaction that has written the same unique key.
void update_own_row(Relation table, HeapTuple old, const RowValues &row);

// Locks the newest version of the scan's row, and puts the scan on it. False if the row has been deleted, or if
// another transaction has it locked and the call is not to wait.
bool lock_row(const NewestScan &scan, bool may_wait);

} // namespace queue_ext::row
