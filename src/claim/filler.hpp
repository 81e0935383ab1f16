// filler.hpp - reading candidates into a ring.

#pragma once

#include "../postgres.hpp"

#include "claim.hpp"
#include "program.hpp"

namespace queue_ext::claim {

enum class Filled {
	some,    // there may be candidates in the ring now
	nothing, // a sweep has found no pending row
	foreign  // the ring is of another queue
};

// Fills the ring, or waits a moment for whoever is at it. One ordered read through
// SPI, which must be open, with the queue's own statement. Raises what the executor
// raises.
Filled fill_or_wait(queue::Definition *definition, Ring *ring, const Request &request);

// Fills the ring if nobody is at it.
void fill_ahead(queue::Definition *definition, Ring *ring, const Request &request);

} // namespace queue_ext::claim
