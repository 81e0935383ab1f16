// direct.hpp - the direct path of a claim: rows named by the queue's ring, checked
// and written, or locked, without a statement.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "output.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Whether the caller's claims of the queue can take the direct path.
bool can_claim_directly(definition::Definition *definition);

// As claim_portable() (portable.hpp). The queue's table must be locked.
uint64 claim_direct(definition::Definition *definition, const Request &request,
					const Output &output);

} // namespace queue_ext::claim
