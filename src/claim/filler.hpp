// filler.hpp - reading candidates into a ring.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "compiled_claim.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// What came of an attempt to fill a ring.
struct Filled
{
	bool is_mine;     // this call has read; false: another backend was reading, or has taken over
	bool is_foreign;  // the ring is of another queue
	bool is_waiting;  // the call has waited in vain, or another backend has just filled the ring
	bool is_stuck;    // fill after fill was taken over, and none was finished
	bool is_sweep;    // read from the head of the order
	bool is_complete; // read to the end
	int read;         // rows that looked pending
	int added;        // candidates by which the ring has grown
};

// How often a call has waited in vain for one fill.
struct Waits
{
	uint32 generation; // of the fill
	int count;
};

// Fills the ring by one ordered read with the queue's own statement; waits a moment if another
// backend is filling it, and takes over from one that makes no progress. waits: kept by the caller
// from one call to the next. Raises what the executor raises.
Filled fill_or_wait(definition::Definition *definition, ring::Ring *ring, const Request &request,
					const ring::Generations &generations, Waits *waits);

// Fills the ring, unless another backend is filling it. Never waits for that; raises what the
// executor raises.
Filled fill_ahead(definition::Definition *definition, ring::Ring *ring, const Request &request,
				  const ring::Generations &generations);

// Whether a queue without a pending row stays so while no transaction that has written ends: if its
// "pending" depends on the row alone, and this transaction has not written itself.
bool may_stay_empty(const RingClaim *claim);

// The number of transactions that have written and ended, in any database, as of a new snapshot.
uint64 ended_transactions();

// Registers the transaction callback. Called once, by _PG_init.
void register_filler();

} // namespace queue_ext::claim
