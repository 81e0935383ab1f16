// finish_row.hpp - the ways the claim of a row comes to its end, for any table: the
// row that was handed out is the receipt.
//
// Invariant: nothing happens to a row whose claim has gone to somebody else. In
// claim mode update the columns that on_claim wrote must still hold the receipt's
// values (in a managed queue: attempt); in the other modes this session must still
// hold the row's lock.

#pragma once

#include "../postgres.hpp"

#include "../statement/row_type.hpp"
#include "finish.hpp"

namespace queue_ext::queue {

// Does it to the row; action is complete, release, fail or extend. True if the
// receipt was good. For extend *extended is the row as it is then, in the current
// context. Raises 55000 where the table has no key, or the queue no such fragment,
// 42804 where the job cannot be read any more, and what the executor raises. Locks the row.
// SPI must not be open.
bool finish_row(definition::Definition *definition, Action action, const statement::Row &job,
				const FinishOptions &options, Datum *extended);

} // namespace queue_ext::queue
