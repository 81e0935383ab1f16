// index_predicate.hpp - the predicate of a partial index, simplified or as it is stored.

#pragma once

#include "../postgres.hpp"

#include "owner.hpp"

namespace queue_ext::catalog {

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
