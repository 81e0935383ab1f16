// fill_rows.hpp - the rows of a fill, read by statements in the queue's order.
//
// Invariant: a row that was pending when a fill read is among its candidates, or behind its cursor,
// or before that of the fill's order. So a cursor is not put between rows that are equal in the
// order.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/ring.hpp"

namespace queue_ext::claim {

// Reads the rows at the head of the order, or behind the order's cursor, into the candidates of the
// fill, and sets its cursor. Sets call_time. False if the bytes of the order's cursor are no row of
// the table. Raises what the executor raises. Needs SPI open.
bool read_rows(definition::Definition *definition, const ring::FillOrder &order,
			   statement::Arguments *arguments, ring::Fill *fill);

} // namespace queue_ext::claim
