// transaction_callbacks.hpp - what the end of a transaction does to rings.
//
// Invariant: candidates whose claim is rolled back, with the transaction or with a subtransaction,
// go back into their ring, and so do those whose claim was a lock that ends with the commit, unless
// the transaction has changed the row; rows that a transaction makes claimable are told to rings
// when it has committed, not before. From before other backends can see them until then, their
// table's wakes (ring/shared_memory.hpp) count the transaction as under way. Where there are too many to
// remember, or other backends have taken some since, a sweep is requested instead. claimed.hpp and written.hpp note what
// a transaction does meanwhile.
//
// The callbacks take the rings' spinlocks.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::wake {

// Registers the callbacks. Called once, by _PG_init.
void register_transaction_callbacks();

} // namespace queue_ext::wake
