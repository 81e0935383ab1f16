// lock_found.hpp - locks the relation that a name means, and checks that it still means it.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// The relation to lock, or InvalidOid, and the lock mode.
struct Wanted
{
	Oid relation;
	LOCKMODE mode;
};

// Locks the relation that find() returns until the end of the transaction, and returns its OID;
// InvalidOid when find() returns that. find() raises an error where the caller has no right to the
// lock. Waiting for the lock may accept invalidation messages; if any has come since find() was
// called, it is called again with the lock held. If the answer is the same, it is final, whatever
// has come meanwhile: like RangeVarGetRelidExtended(), this ends however many changes there are.
template <typename Find>
Oid
lock_found(Find &&find)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Find>>);
	Wanted locked{};
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		// LockRelationOid() accepts no messages for a lock that this transaction holds already.
		AcceptInvalidationMessages();
		const uint64 messages_before = SharedInvalidMessageCounter;
		const Wanted found = find();
		if (OidIsValid(locked.relation)) {
			if (found.relation == locked.relation && found.mode == locked.mode)
				return found.relation;
			UnlockRelationOid(locked.relation, locked.mode);
		}
		if (!OidIsValid(found.relation))
			return InvalidOid;
		LockRelationOid(found.relation, found.mode);
		if (messages_before == SharedInvalidMessageCounter)
			return found.relation;
		locked = found;
	}
}

} // namespace queue_ext::catalog
