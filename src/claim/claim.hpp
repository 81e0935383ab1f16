// claim.hpp - taking jobs from a queue, by the path that its table allows.
//
// Invariant: a row is handed out only by the transaction that won its claim, and
// as it is after the claim's write. Rows that others hold locked are passed by.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "output.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Claims up to request.max_jobs rows, in the queue's order, into output, by the path
// that queue_ext.claim_path says. The queue's table must be locked.
// Returns how many. Raises what the executor raises.
uint64 claim(definition::Definition *definition, const Request &request, const Output &output);

} // namespace queue_ext::claim
