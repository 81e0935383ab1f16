// writer.hpp - what one call needs to write rows of a queue's table without a statement.
//
// Invariant: what a writer writes is what the executor would write: the columns' constraints hold
// and every index has its entry. The compiled claim (compiled_claim.hpp) has made sure that there
// is nothing else to do.

#pragma once

#include "../postgres.hpp"

#include "../row/write.hpp"
#include "../statement/statement.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

// The state of one call that writes.
struct Writer
{
	const DirectClaim *claim;
	row::StackedUse *use; // of its expressions
	Relation table;
	row::Target target;
	ExprContext *context; // with the parameters of the expressions
	TupleTableSlot *row;  // the one to be written
};

// Whether a call further up the stack is using the expressions of the queue; a nested call takes a
// statement.
bool is_writing(const definition::Definition *definition);

// The variables of the fragments, as parameters numbered like statement::Parameter.
ParamListInfo make_parameters(const statement::Arguments &arguments);

// Makes the time that of the call in the parameters of the expressions.
void set_clock(const ExprContext *context, TimestampTz call_time);

// A context in which the claim's expressions can be evaluated without a writer. The caller frees it.
ExprContext *make_evaluation(const CompiledClaim *claim, const statement::Arguments &arguments);

// Whether the row is pending. Evaluates that in the context; no call further up the stack may be using the expressions.
bool is_pending(const RingClaim *claim, ExprContext *context, TupleTableSlot *row);

// The row of an attached queue that is not pending, and that the XID has written; when it becomes so by the clock alone, by
// the claim's expression for that (PG_INT64_MAX: never). Evaluates it in the context.
ring::DueRow due_row_of(const RingClaim *claim, ExprContext *context, TupleTableSlot *row,
						TransactionId writer);

// Opens the table, which must be locked, with the claim compiled. command: what will be done.
// Raises 55000 where a publication needs a replica identity for that and there is none. On ERROR
// the resource owner closes it.
Writer open_writer(definition::Definition *definition, const statement::Arguments &arguments,
				   CmdType command);

// Closes what open_writer() opened; the lock stays.
void close_writer(Writer *writer);

} // namespace queue_ext::claim
