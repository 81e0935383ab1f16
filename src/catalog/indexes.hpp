// indexes.hpp - the indexes of a table, and the predicate of a partial one, simplified or as it is stored.

#pragma once

#include "../postgres.hpp"

#include "users_code.hpp"

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

// The predicate as it was written; null if there is none, or no such index.
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

// The predicate as a list of conditions, simplified as PostgreSQL does it; NIL if there is none. To simplify evaluates
// code: a predicate that has code of users is left as it is, since that may do anything, and would do it with the
// rights of whoever asks.
inline List *
index_predicate(Relation index)
{
	Node *stored = stored_predicate(RelationGetRelid(index));
	if (!has_users_code(stored))
		return RelationGetIndexPredicate(index);
	fix_opfuncids(stored);
	return make_ands_implicit(canonicalize_qual(reinterpret_cast<Expr *>(stored), false));
}

} // namespace queue_ext::catalog
