// finish_receipt.hpp - what the entry points queue_complete_receipt, queue_fail_receipts and so on
// have in common: they finish the rows that receipts name, as the functions for rows do.

#pragma once

#include "../postgres.hpp"

#include "finish.hpp"
#include "finish_text.hpp"

namespace queue_ext::queue {

// Performs the action on the row of arguments 0 and 1: queue, receipt. True if the receipt was good;
// for extend, *renewed is then the new one. Takes the lock on the table that definition/open.hpp says of the
// action, and locks the row. Raises 22P02 for a text that is no receipt of the queue, and what the
// functions for rows raise.
bool finish_receipt(FunctionCallInfo fcinfo, Action action, const FinishOptions &options,
					text **renewed);

// Performs the action on the rows of arguments 0 and 1: queue, receipts. Returns the set of those
// receipts that were good, in their order; for extend a row for each receipt: the new one, or null. Takes
// the lock on the table that definition/open.hpp says of the action, and locks the rows in the order of the
// bytes of their receipts. Raises 22004 for a null, also among the receipts, 2202E for an array of more
// than one dimension, 22023 if the errors differ in number, 22P02 for a text that is no receipt of the queue, and
// what the functions for rows raise.
Datum finish_receipts(FunctionCallInfo fcinfo, Action action, const FinishOptions &options);

} // namespace queue_ext::queue
