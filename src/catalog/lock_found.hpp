// lock_found.hpp - from a name to a relation that is locked and still meant.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::catalog {

// A relation that is to be locked, or InvalidOid; and how.
struct Wanted
{
	Oid relation;
	LOCKMODE mode;
};

// Locks the relation that find() wants, until the end of the transaction, and returns
// it; InvalidOid when it wants none. find() raises an error where the caller has no right to
// the lock. Waiting for the lock may bring news of a change, so find() is asked again, with
// the lock held, if any message of another backend has come since it was asked. If the
// answer is the same, it stands, whatever has come meanwhile: like
// RangeVarGetRelidExtended(), this ends however many changes there are.
template <typename Find>
Oid
lock_found(Find &&find)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Find>>);
	Wanted locked{};
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		// A relation that this transaction has locked already brings no news along.
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
