// news.hpp - rows of attached queues that were written become candidates, without a sweep.
//
// A ring that is not sorted knows no order of its candidates but that in which they stand. What is told of a row is its
// version alone (the table's log, ring/shared_memory.hpp), so the next pop reads that row, and those candidates between which
// it comes, and compares their order columns. A row behind the cursor is left to the fills.
//
// Invariant: the ring takes note of an event only together with its row, in one stay under the spinlock, and only if it
// has not been read since the rows were compared; else, and where it is not known which row an event was about, it is
// swept as before.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../ring/ring.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// What is known of the rows that were written since the ring was last told of any.
enum class News {
	all,             // or nothing: the ring's generation says so
	more_than_known, // they were more than the log holds, and nothing else than rows
};

// Enters the rows of which the log tells and that are pending into a ring that is not sorted. The table must be locked.
// Takes the spinlocks of ring and log if there is news. Evaluates pending, in the caller's context if it has one, and sets the
// request's clock before that; raises what that and reading a row raise.
News admit_news(definition::Definition *definition, ring::Ring *ring, Request *request,
				ExprContext *evaluation);

// Does that, and before it admit_due(), until no row is due. Raises what either raises.
News admit_all(definition::Definition *definition, ring::Ring *ring, Request *request,
			   ExprContext *evaluation);

} // namespace queue_ext::claim
