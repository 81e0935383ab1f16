// transaction_callbacks.hpp - what the end of a transaction means for rings.
//
// Invariant: candidates whose claim is rolled back, with the transaction or with a
// subtransaction, go back into their ring; rows that a transaction makes claimable
// are made known when it has committed, not before. From before they can be seen
// until they are made known, their table's wakes say that they are under way. Where
// there are too many to remember, or others have taken some since, a sweep is asked
// for instead.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// Makes the note that the next three write to, so that they do not fail for want of
// memory before they have noted anything.
void prepare_note(Ring *ring, const RingKey &key);

// This (sub)transaction has taken the candidates. is_until_end: the claims last no longer
// than the transaction, however it ends.
void note_claims(Ring *ring, const RingKey &key, const Candidate *candidates, const Taken &taken,
				 bool is_until_end);

// It has tried them.
void note_tried(Ring *ring, const RingKey &key, const Taken &taken);

// When this transaction has committed, what it has claimed becomes claimable again at
// that time.
void note_lease(Ring *ring, const RingKey &key, TimestampTz end);

// This (sub)transaction has written rows that may be claimable again if it is rolled
// back, and did not come from a ring.
void note_writes(Oid table);

// When this transaction has committed, rows of the table may be claimable.
void note_wake(Oid table);

// The same, of this row of a managed queue, from its run_at on.
void note_offer(Oid table, const Candidate &candidate);

// When this transaction has committed, a row of a managed queue will be claimable at
// that time.
void note_due(Oid table, TimestampTz due);

// Whether this transaction has made a row of the table claimable, of which nobody else
// may know yet.
bool has_wakes(Oid table);

// Registers the callbacks. Called once, by _PG_init.
void register_transaction_callbacks();

} // namespace queue_ext::claim
