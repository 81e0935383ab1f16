// row_context.hpp - what the context of an error, or of another message, says where no statement is run: what was done,
// the queue, and the row.
//
// Invariant: the callback reads what the frames on the stack hold, and no catalog; it does not raise. A row that the
// caller may not see is not named.
//
// Example:
//     RowContext context{};
//     begin_context(&context, definition, act_of(ClaimStatement::claim_by_tid));
//     context.row = slot;
//     ...
//     end_context(&context);

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// In the frame of a call. On ERROR the handler that catches it takes it off PostgreSQL's list.
struct RowContext
{
	ErrorContextCallback callback;
	const definition::Definition *definition;
	const char *act;     // as KeptStatement::act; null: a statement says that
	TupleTableSlot *row; // of the table; null: none is to be named
};

// Begins and ends, in pairs, what errors say. Do not raise.
void begin_context(RowContext *context, const definition::Definition *definition, const char *act);
void end_context(const RowContext *context);

} // namespace queue_ext::claim
