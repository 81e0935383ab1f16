// direct.hpp - the direct path of claim.hpp: rows named by the queue's ring, checked
// and written without a statement.

#pragma once

#include "../postgres.hpp"

#include "claim.hpp"

namespace queue_ext::claim {

// Whether the caller's claims of the queue can take the direct path.
bool can_claim_directly(queue::Definition *definition);

// As claim_portable(). The queue's table must be locked and SPI open.
uint64 claim_direct(queue::Definition *definition, const Request &request, const Output &output);

// This transaction has claimed rows by the portable path: should it be rolled back,
// the queue's ring has to find them again.
void note_portable_claims(queue::Definition *definition);

// When this transaction commits, a row will have become claimable.
void wake_at_commit(queue::Definition *definition);

// The same, of a managed queue, in that place of the order.
void wake_at_commit(queue::Definition *definition, int32 priority, TimestampTz run_at);

// When this transaction commits, a row will be claimable from that time on.
void expect_at_commit(queue::Definition *definition, TimestampTz due);

} // namespace queue_ext::claim
