// row_type.hpp - rows as arguments of a call, while the columns of their table change.
//
// A composite value has the OID of its row type, but not the columns that it was made with: it is
// read with the columns that the table has at that moment. So a change of the columns in between
// would read its bytes as other types. The change may come while the call waits for the table's
// lock, or from user-defined code that runs when a statement is analyzed and planned.

#pragma once

#include "../postgres.hpp"

#include "../error.hpp"

namespace queue_ext::statement {

// A row, and the columns that it was made with.
struct Row
{
	Datum value;
	TupleDesc columns;
};

// The row, a composite value, as a tuple, which is not copied.
inline HeapTupleData
tuple_of(Datum row)
{
	HeapTupleData tuple{};
	tuple.t_data = DatumGetHeapTupleHeader(row);
	tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
	ItemPointerSetInvalid(&tuple.t_self);
	return tuple;
}

// The columns that a row of the type has now; a copy in the current context.
inline TupleDesc
columns_of(Oid type)
{
	const TupleDesc now = lookup_rowtype_tupdesc(type, -1);
	const TupleDesc columns = CreateTupleDescCopy(now);
	ReleaseTupleDesc(now);
	return columns;
}

// Whether a row made with these columns can be read with the present ones: columns may have been
// added and dropped, but not have changed their type.
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

// Raises 42804 if a row made with these columns cannot be read with the present ones.
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

// Runs lock(), which locks the table with that row type. Returns the columns that rows made before
// have; raises 42804 if these cannot be read any more.
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
