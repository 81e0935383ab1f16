// writer.hpp - what one call needs to write rows of a queue's table without a
// statement.
//
// Invariant: what a writer writes is what the executor would: the columns' constraints
// hold and every index has its entry. The compiled claim (compiled_claim.hpp) has seen to it that
// there is nothing else to do.

#pragma once

#include "../postgres.hpp"

#include "../row/write.hpp"
#include "../statement/statement.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

struct Writer
{
	CompiledClaim *claim;
	Relation table;
	row::Target target;
	ExprContext *context; // with the variables of expressions
	TupleTableSlot *row;  // the one to be written
};

// Whether a call that this one is within has the queue's writer: the expressions are its.
bool is_writing(const definition::Definition *definition);

// The table must be locked, and the compiled claim made. Raises what the executor does where
// updates need a replica row key and there is none; command: what will be done.
Writer open_writer(definition::Definition *definition, const statement::Arguments &arguments,
				   CmdType command);

void close_writer(Writer *writer);

// Whether the constraints hold for the row, of which these columns are new.
bool keeps_constraints(const Writer *writer, const ColumnValue *columns, int count);

// Raises what the executor does where one does not.
void raise_violation(const Writer *writer);

// Enters the row, which has been added, into the indexes.
void index_new_row(Writer *writer, TupleTableSlot *row);

} // namespace queue_ext::claim
