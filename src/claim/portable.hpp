// portable.hpp - the portable path of a claim: generated statements, for every kind of table.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// Claims up to request.max_jobs rows into output. Locks and writes rows as UPDATE does, with
// triggers and privilege checks. The queue's table must be locked (ROW EXCLUSIVE). Returns how
// many; if none, it looks for lost occurrences. Raises what the executor raises, 22023 if on_claim leaves a row pending, and 55000 or 0A000
// if a lock mode finds no usable key.
uint64 claim_portable(definition::Definition *definition, const Request &request,
					  const Output &output);

// Raises 55000 or 0A000 if the key that the queue's lock mode needs is gone: it may have changed since
// the queue was attached.
void check_key(definition::Definition *definition);

// Checks the rows that the last statement has written, whose last column is whether they are still
// pending: a claim that leaves its row pending would return it again and again, so this raises
// 22023.
void check_written(const definition::Definition *definition, uint64 count);

// Records that this transaction has the row locks of the rows that the last statement has returned,
// whose last column is the row key (held/rows.hpp). Removes those that it had already, and returns
// how many are left.
uint64 hold_rows(definition::Definition *definition, uint64 locked);

} // namespace queue_ext::claim
