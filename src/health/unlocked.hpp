// unlocked.hpp - looks at another relation of a queue than its table: an index, its archive.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::health {

// Calls body(Relation), locked ACCESS SHARE meanwhile. Does nothing if another session has it locked ACCESS
// EXCLUSIVE, or if it is of another kind, or gone.
template <typename Body>
void
with_unlocked(Oid oid, char kind, Body &&body)
{
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return;
	Relation relation = try_relation_open(oid, NoLock);
	if (relation != nullptr) {
		if (relation->rd_rel->relkind == kind)
			body(relation);
		relation_close(relation, NoLock);
	}
	UnlockRelationOid(oid, AccessShareLock);
}

} // namespace queue_ext::health
