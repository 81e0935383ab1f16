// remove.hpp - completing jobs of a managed queue without a statement.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "job.hpp"

namespace queue_ext::claim {

// Whether the caller's jobs can be removed so.
bool can_remove_directly(definition::Definition *definition);

// Removes the jobs whose receipts are good, in the order given, and puts the ids of
// those into ids. Returns how many. Waits for whoever has a row locked, as a DELETE
// does, and works on the newest committed rows at every isolation level. The table
// must be locked (RowExclusiveLock). Raises what a DELETE raises.
int remove_directly(definition::Definition *definition, const Receipt *receipts, int count,
					int64 *ids);

} // namespace queue_ext::claim
