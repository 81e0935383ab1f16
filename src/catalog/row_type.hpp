// row_type.hpp - rows as arguments of a call that waits for their table.
//
// A row says of which table it is, but not with which columns: it is read as the table
// has them when it is read. So a change of them between the making and the reading would
// make something else of its bytes.

#pragma once

#include "../postgres.hpp"

#include "../error.hpp"

namespace queue_ext::catalog {

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

// Runs lock(), which locks the table with that row type. Raises 42804 if rows made before
// cannot be read any more.
template <typename Lock>
void
lock_for_rows(Oid type, Lock &&lock)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Lock>>);
	const TupleDesc made = lookup_rowtype_tupdesc(type, -1);
	lock();
	const TupleDesc now = lookup_rowtype_tupdesc(type, -1);
	const bool is_intact = made == now || can_be_read(made, now);
	ReleaseTupleDesc(made);
	ReleaseTupleDesc(now);
	if (!is_intact)
		error::row_type_changed(type);
}

} // namespace queue_ext::catalog
