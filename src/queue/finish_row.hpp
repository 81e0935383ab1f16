// finish_row.hpp - the ways in which the claim of a row ends, for any table: the row that was
// handed out is the receipt.
//
// Invariant: a call changes nothing if another claim of the row has followed. In claim mode update
// the columns that on_claim wrote must still have the values of the receipt (in a managed queue:
// attempt, with leased_until not null); in the other modes this session must still hold the row.

#pragma once

#include "../postgres.hpp"

#include "../statement/row_type.hpp"
#include "finish.hpp"
#include "finish_text.hpp"

namespace queue_ext::queue {

// Performs the action on the row; it is complete, release, fail or extend. For extend, if the receipt was good, *extended is
// then the updated row, in the current memory context. Raises 55000 if the table has no key or the queue no such fragment, or
// it is to fail for good and on_fail does not read "retry", 22004 for a null in the key, 42804 if the row cannot be read any
// more, and what the executor raises. Locks the row. SPI must not be open.
Finished finish_row(definition::Definition *definition, Action action, const statement::Row &job,
					const FinishOptions &options, Datum *extended);

} // namespace queue_ext::queue
