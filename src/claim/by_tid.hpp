// by_tid.hpp - the path of a claim that writes rows named by the queue's ring through the executor:
// by one prepared statement over their TIDs. So it has triggers, policies, generated columns,
// column privileges and functions as an UPDATE has them, and does not search for its rows.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "compiled_claim.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Claims from the ring as drain() does (drain.hpp), into output. The queue's table must be locked
// (ROW EXCLUSIVE). Raises what fills and the executor raise, and 22023 if on_claim leaves a row
// pending.
bool claim_by_tid(definition::Definition *definition, ring::Ring *ring, Request *request,
				  const Output &output, uint64 *claimed);

} // namespace queue_ext::claim
