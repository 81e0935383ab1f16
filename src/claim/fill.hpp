// fill.hpp - the rows of a fill, read in the queue's order, by its index or by statements; and what a sweep learns of the rows that become
// claimable by the clock alone.
//
// Invariant: a row that was pending when a fill read is among its candidates, or behind its cursor,
// or before that of the fill's order. So a cursor is not put between rows that are equal in the
// order.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/filling.hpp"
#include "managed_rows.hpp"

namespace queue_ext::claim {

// Reads the rows at the head of the order, or behind the order's cursor, into the candidates of the
// fill, and sets its cursor. Enters what it passes by, of a managed queue, among the rows to come. Sets call_time. False if
// the bytes of the order's cursor are no row of the table. Raises what the executor raises. Needs SPI open. Takes the ring's
// spinlock.
bool read_rows(definition::Definition *definition, ring::Ring *ring, const ring::FillOrder &order,
			   statement::Arguments *arguments, ring::Fill *fill);

// Enters the first of them into the ring; those of an attached queue, too, if RingClaim::due is set. Returns the time from
// which on there may be more; PG_INT64_MAX: there are none. numbers: null, or of a managed queue. Takes the ring's spinlock. Raises what
// the executor raises.
TimestampTz expect_first_due(definition::Definition *definition, ring::Ring *ring,
							 const statement::Arguments &arguments, Numbers *numbers);

} // namespace queue_ext::claim
