// undo.hpp - what the end of a transaction means for rings.
//
// Invariant: candidates whose claim is rolled back, with the transaction or with a
// subtransaction, go back into their ring; rows that a transaction makes claimable
// are made known when it has committed, not before. Where there are too many to
// remember, or others have taken some since, a sweep is asked for instead.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// This (sub)transaction has taken the candidates, as the ring's change of that number.
void note_claims(Ring *ring, const RingKey &key, const ItemPointerData *places, int count,
				 uint32 number);

// This (sub)transaction has claimed rows that did not come from the ring.
void note_other_claims(Ring *ring, const RingKey &key);

// When this transaction has committed, a sweep is due.
void note_wake(Ring *ring, const RingKey &key);

// The same, if the row stands behind the cursor by then.
void note_wake_before(Ring *ring, const RingKey &key, int32 priority, TimestampTz run_at);

// When this transaction has committed, a row will be claimable at that time.
void note_due(Ring *ring, const RingKey &key, TimestampTz due);

// Whether this transaction has made a row of the ring's queue claimable, of which
// nobody else may know yet.
bool has_wakes(const Ring *ring);

// Registers the callbacks. Called once, by _PG_init.
void register_undo();

} // namespace queue_ext::claim
