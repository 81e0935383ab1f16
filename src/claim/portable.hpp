// portable.hpp - the portable path of a claim: generated statements, for every kind of table.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "output.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Claims up to request.max_jobs rows into output. It takes the row locks and writes the rows
// as UPDATE does, triggers and privileges included. The queue's table must be locked. Returns
// how many. Raises what the executor raises.
uint64 claim_portable(definition::Definition *definition, const Request &request,
					  const Output &output);

} // namespace queue_ext::claim
