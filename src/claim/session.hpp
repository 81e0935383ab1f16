// session.hpp - claims in mode session by statements: by an advisory lock on the row key, which the
// session holds.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Like claim_portable(), with SPI connected.
uint64 claim_by_session(definition::Definition *definition, const Request &request,
						const Output &output);

// Whether there is a row that claim_by_session() could claim. Takes such a row's lock for a moment.
bool is_any_free(definition::Definition *definition, const Request &request);

// Claims, by their advisory locks, up to request.max_jobs of the count rows that the last statement
// has returned: each as its row key and the row. Returns how many. SPI must be connected.
uint64 claim_rows(definition::Definition *definition, const Request &request, uint64 count,
				  const Output &output);

} // namespace queue_ext::claim
