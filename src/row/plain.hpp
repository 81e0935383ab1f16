// plain.hpp - whether rows of a table can be written without a statement.
//
// Invariant: where is_plain() says yes, the table's checks could be prepared and no
// trigger fires, an UPDATE by the executor would do nothing but write the row, test
// these checks and keep the indexes.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// Whether the expression has what cannot be cached, or run without a statement:
// sub-selects, domains, functions that may change or that some may not call.
bool is_involved(Node *expression);

// Whether the table is an ordinary one, without children, row security, rules or
// generated columns. The table must be locked.
bool is_plain(Relation table);

// Whether it has triggers on UPDATE.
bool has_update_triggers(Relation table);

struct Checks
{
	int count;
	ExprState **states;
};

// An expression ready to be evaluated, in the context given; null if it is too involved.
// What is needed on the way is left in the current context, as by the following.
ExprState *prepare_expression(Node *expression, MemoryContext context);

// Likewise, a condition.
ExprState *prepare_condition(Node *expression, MemoryContext context);

// Makes the table's CHECK constraints ready to be evaluated, in the context given. False if
// one of them is too involved.
bool prepare_checks(TupleDesc descriptor, Checks *checks, MemoryContext context);

// Whether the row satisfies the checks. Evaluates them in the context's memory.
bool satisfies(const Checks &checks, TupleTableSlot *row, ExprContext *context);

} // namespace queue_ext::row
