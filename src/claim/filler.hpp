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
	bool is_mine;     // false: somebody else was at it, or has taken over
	bool is_foreign;  // the ring is of another queue
	bool is_waiting;  // the call has waited in vain
	bool is_stuck;    // many have begun to read, and none comes to an end
	bool is_sweep;    // it was read from the head
	bool is_complete; // to the end
	int read;         // so many rows that looked pending
	int added;        // by so many candidates the ring has grown
};

// How often a call has waited in vain for one fill.
struct Waits
{
	uint32 generation; // of the fill
	int count;
};

// Fills the ring, or waits a moment for whoever is at it, and takes over from a filler that
// stands still. One ordered read with the queue's own statement. Raises what the executor
// raises.
Filled fill_or_wait(definition::Definition *definition, Ring *ring, const Request &request,
					Waits *waits);

// Fills the ring if nobody is at it.
Filled fill_ahead(definition::Definition *definition, Ring *ring, const Request &request);

// Registers the callback. Called once, by _PG_init.
void register_filler();

} // namespace queue_ext::claim
