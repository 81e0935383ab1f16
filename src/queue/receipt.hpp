// receipt.hpp - receipts as text: what names one claim of one row, for clients that cannot keep the
// row itself as it was.
//
// A receipt has the values of a row by which the functions for rows (finish_row.hpp) know it: those
// of the key, and of the fence. They are written in the binary form of their types, in the server's
// encoding, so the text depends on no setting of a session. It is no secret and no proof: a role that
// has the rights to finish a row could pass the row as well.
//
// Invariant: a text that make_receipt() did not return for this queue, under these columns, is
// refused (22P02), but for one that was made up on purpose, with a right checksum: that names a row
// as its values say.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../statement/row_type.hpp"

namespace queue_ext::queue {

// The bytes of a receipt whose header is well-formed.
struct ReceiptBytes
{
	const unsigned char *start;
	int length;
};

// Returns the receipt of the row, which is of the queue's table, or of the type queue_job where the
// queue is managed. In the current context. Raises 55000 if the table has no key, 22004 for a null
// in the key, 42804 for a row of another type or one that cannot be read any more, 42883 for a type
// without a binary form, 0A000 for one whose binary form is not exact, 54000 for a receipt that
// would be too long, and what the types' functions raise. The table must be locked.
text *make_receipt(definition::Definition *definition, const statement::Row &job);

// Returns the bytes that the text stands for, in the current context. Raises 22P02 if it is no
// receipt. Takes no lock.
ReceiptBytes parse_receipt(const text *receipt);

// Raises 22P02 if the receipt is of another queue, or of other columns, 55000 if the table has no
// key. The table must be locked.
void check_receipt(definition::Definition *definition, const ReceiptBytes &bytes);

// Returns a row of the queue's table with the values of the receipt; its other columns are null. In
// the current context. Raises what check_receipt() and the types' functions raise; these may have
// run user-defined code that has changed the queue. The table must be locked.
statement::Row row_of_receipt(definition::Definition *definition, const ReceiptBytes &bytes);

} // namespace queue_ext::queue
