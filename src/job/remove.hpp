// remove.hpp - completing jobs of a managed queue without a statement.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "job.hpp"

namespace queue_ext::job {

// Whether the caller's jobs can be completed this way: there is no archive, no trigger on DELETE,
// and the caller has the rights.
bool can_remove_directly(definition::Definition *definition);

// Deletes the jobs whose receipts are good, in the order given, and puts their ids into ids.
// Returns how many. Waits for a transaction that has a row locked, as DELETE does, and works on the
// newest committed rows at every isolation level. The table must be locked (ROW EXCLUSIVE). Raises
// what a DELETE raises.
int remove_directly(definition::Definition *definition, const Receipt *receipts, int count,
					int64 *ids);

} // namespace queue_ext::job
