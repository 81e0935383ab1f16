// claim.hpp - taking jobs from a queue, by the path that its table allows.
//
// Invariant: a row is returned only by the transaction that won its claim, and as it is after the
// claim's write. Rows that others have locked are passed by.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Claims up to request.max_jobs rows, in the queue's order, into output; by a statement if
// queue_ext.claim_path is portable or the table demands it. The queue's table must be locked (ROW
// EXCLUSIVE). Returns how many. Raises what the executor raises.
uint64 claim(definition::Definition *definition, const Request &request, const Output &output);

} // namespace queue_ext::claim
