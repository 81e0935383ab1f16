// cursor_row.hpp - a row's order columns in the cursor of a ring that is not sorted.
//
// Invariant: the bytes of a cursor are checked before any of PostgreSQL's functions sees them: by
// the forms of the columns' types (ring/cursor.hpp), and text by the encoding. Varlena headers are not
// stored but made.

#pragma once

#include "../postgres.hpp"

#include "../ring/cursor.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

// The cursor at a row with these columns; first: the number of the first one of the order. A cursor of
// size 0 if the order's columns are too large.
ring::Cursor cursor_of(const RingClaim *claim, TupleDesc columns, HeapTuple row, int first);

// Makes a row of the queue's table from the cursor, with the order's columns alone. False if the
// bytes are no such row. The table must be locked.
bool make_row(const RingClaim *claim, const ring::Cursor &cursor, Datum *row);

} // namespace queue_ext::claim
