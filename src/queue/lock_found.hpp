// lock_found.hpp - from a name to a relation that is locked and still meant.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::queue {

// Locks the relation that find() finds, until the end of the transaction, and returns
// it; InvalidOid when there is none. Waiting for the lock may bring news of a change, so
// find() is asked again, with the lock held, if any message of another backend has come
// since it was asked. If the answer is the same, it stands, whatever has come meanwhile:
// like RangeVarGetRelidExtended(), this ends however many changes there are.
template <typename Find>
Oid
lock_found(LOCKMODE mode, Find &&find)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Find>>);
	Oid locked = InvalidOid;
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		// A relation that this transaction has locked already brings no news along.
		AcceptInvalidationMessages();
		const uint64 messages_before = SharedInvalidMessageCounter;
		const Oid found = find();
		if (OidIsValid(locked) && found == locked)
			return found;
		if (OidIsValid(locked))
			UnlockRelationOid(locked, mode);
		if (!OidIsValid(found))
			return InvalidOid;
		LockRelationOid(found, mode);
		if (messages_before == SharedInvalidMessageCounter)
			return found;
		locked = found;
	}
}

} // namespace queue_ext::queue
