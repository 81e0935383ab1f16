// direct.hpp - the direct path of a claim: rows named by the queue's ring are checked, and written
// or locked, without a statement.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "compiled_claim.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Claims from the ring as drain() does (drain.hpp), into output. The queue's table must be locked
// (ROW EXCLUSIVE). Raises what fills, expressions, constraints and index entries raise, and 22023
// if on_claim leaves a row pending.
bool claim_direct(definition::Definition *definition, ring::Ring *ring, Request *request,
				  const Output &output, uint64 *claimed);

} // namespace queue_ext::claim
