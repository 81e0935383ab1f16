// fill_due.hpp - what a sweep learns of the rows that become claimable by the clock alone.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/ring.hpp"
#include "../stats/look.hpp"

namespace queue_ext::claim {

// Counts all of them in a managed queue, and finds when the first is due. Raises what the executor raises.
void count_to_come(definition::Definition *definition, const statement::Arguments &arguments,
				   stats::Look *look);

// Enters the first of them into the ring; those of an attached queue, too, if CompiledClaim::due is set. Returns the time from
// which on there may be more; PG_INT64_MAX: these are all. Takes the ring's spinlock. Likewise.
TimestampTz expect_first_due(definition::Definition *definition, ring::Ring *ring,
							 const statement::Arguments &arguments);

} // namespace queue_ext::claim
