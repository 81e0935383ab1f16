// row_type.hpp - rows as arguments of a call, during which their table may change.
//
// A row says of which table it is, but not with which columns: it is read as the table
// has them when it is read. So a change of them between the making and the reading would
// make something else of its bytes. It may come while the call waits for the table's lock;
// then, of code of the user's, which runs when a statement is parsed and planned.

#pragma once

#include "../postgres.hpp"

#include "../error.hpp"

namespace queue_ext::statement {

// A row, and the columns with which it was made.
struct Row
{
	Datum value;
	TupleDesc columns;
};

// The columns of the rows that are made now, in the current context.
inline TupleDesc
columns_of(Oid type)
{
	const TupleDesc now = lookup_rowtype_tupdesc(type, -1);
	const TupleDesc columns = CreateTupleDescCopy(now);
	ReleaseTupleDesc(now);
	return columns;
}

// Whether rows made with these columns can be read as ones with those of now: columns may
// have been added and dropped, but not have another type.
inline bool
can_be_read(TupleDesc made, TupleDesc now)
{
	if (made->natts > now->natts)
		return false;
	for (int i = 0; i < made->natts; i++) {
		const Form_pg_attribute before = TupleDescAttr(made, i);
		const Form_pg_attribute after = TupleDescAttr(now, i);
		if (before->attlen != after->attlen || before->attalign != after->attalign ||
			(!after->attisdropped && before->atttypid != after->atttypid))
			return false;
	}
	return true;
}

// Raises 42804 if rows made with these columns cannot be read any more.
inline void
check_readable(TupleDesc made)
{
	const Oid type = made->tdtypeid;
	const TupleDesc now = lookup_rowtype_tupdesc(type, -1);
	const bool is_intact = can_be_read(made, now);
	ReleaseTupleDesc(now);
	if (!is_intact)
		error::row_type_changed(type);
}

// Runs lock(), which locks the table with that row type. Returns the columns of rows that were
// made before; raises 42804 if they cannot be read any more.
template <typename Lock>
TupleDesc
lock_for_rows(Oid type, Lock &&lock)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Lock>>);
	const TupleDesc made = columns_of(type);
	lock();
	check_readable(made);
	return made;
}

} // namespace queue_ext::statement
