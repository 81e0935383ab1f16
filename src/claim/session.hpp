// session.hpp - claims in mode session by statements: an advisory lock on the row's key, held
// by the session.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "output.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// As claim_portable(), with SPI open.
uint64 claim_by_session(definition::Definition *definition, const Request &request,
						const Output &output);

} // namespace queue_ext::claim
