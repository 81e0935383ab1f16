// news.hpp - rows become candidates without a sweep: those that were written, in an attached queue; and those that have
// become due, in any.
//
// A ring that is not sorted knows no order of its candidates but that in which they stand. A commit announces a row by
// its version alone (the table's log, ring/shared_memory.hpp), so the next pop reads that row, and those candidates
// between which it comes, and compares their order columns. A row behind the cursor is left to the fills. A row of such
// a ring that has become due is put into the log, too.
//
// Invariant: the ring takes note of an event only together with its row, in one stay under the spinlock, and only if it
// has not been read since the rows were compared; else, and where it is not known which row an event was about, it is
// swept. A row that is taken from those that become due is in flight until it stands among the candidates, or in the
// log, or is known to have been replaced or removed by a transaction that has committed. Where an error prevents that, a
// sweep is requested; no interrupt is heeded in between.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/ring.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// How much the log has of the rows that were written since the ring last read it.
enum class News {
	all,             // or nothing: the ring's generation says so
	more_than_known, // they were more than the log holds, and nothing else than rows
};

// Makes candidates of the rows that are due, and of the pending rows whose versions are in the log, until no row is
// due. The table must be locked. Takes the spinlocks of ring and log if there are any. Evaluates pending, in the caller's
// context if it has one, and sets the request's clock before that; raises what that and reading a row raise.
News admit_all(definition::Definition *definition, ring::Ring *ring, Request *request,
			   ExprContext *evaluation);

} // namespace queue_ext::claim
