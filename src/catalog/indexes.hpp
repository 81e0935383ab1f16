// indexes.hpp - the indexes of a table, and the predicate of a partial one, simplified or as it is stored.

#pragma once

#include "../postgres.hpp"

#include "owner.hpp"

namespace queue_ext::catalog {

// Calls visit(index) for each index of the table, which is locked ACCESS SHARE meanwhile. Raises what that raises.
template <typename Visit>
void
each_index(Relation table, Visit &&visit)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Visit>>);
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		visit(index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

// As PostgreSQL simplifies it, a list of conditions; NIL if there is none. Simplifying evaluates immutable
// functions of constants: these are code of the table's owner, and may do anything. So they run as the owner.
// Raises what they raise; the index is open.
inline List *
index_predicate(Relation index)
{
	List *predicate = NIL;
	as_restricted_owner_of(index->rd_index->indrelid,
						   [&] { predicate = RelationGetIndexPredicate(index); });
	return predicate;
}

// As it was written; null if there is none, or no such index. Runs no code of the owner's.
inline Node *
stored_predicate(Oid index)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		return nullptr;
	bool is_null;
	const Datum tree = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indpred, &is_null);
	Node *predicate =
		is_null ? nullptr : static_cast<Node *>(stringToNode(TextDatumGetCString(tree)));
	ReleaseSysCache(tuple);
	return predicate;
}

} // namespace queue_ext::catalog
