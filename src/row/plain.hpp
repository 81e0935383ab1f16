// plain.hpp - whether rows of a table can be written without a statement.
//
// Invariant: if is_plain() is true, the table's checks could be prepared and no trigger fires, an
// UPDATE by the executor would do no more than check NOT NULL and these constraints, write the row
// and insert index entries.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// What keeps the expression from being cached, or evaluated without a statement: a sub-select, a
// domain, DEFAULT, or a function that is user-defined and not immutable, or whose EXECUTE privilege
// has been granted or revoked. Null if nothing does; else in words, in the current context.
const char *find_involved(Node *expression);

// Whether the table has its rows in a heap of its own, and in no other table.
bool has_heap(Relation table);

// What keeps has_heap() tables from being plain, in words: being a partition, rules or generated
// columns. Null if nothing does. Row security is another matter: it depends on the caller.
const char *find_special(Relation table);

// Whether a row of the table lacks columns that are computed when it is read. An expression that is
// evaluated on the row alone must not have them.
bool has_unstored(Relation table);

// Whether the table is an ordinary heap table, not a partition, without children, row security,
// rules or generated columns. The table must be locked.
bool is_plain(Relation table);

// Whether the table has triggers on UPDATE, enabled or not.
bool has_update_triggers(Relation table);

// CHECK constraints ready to be evaluated.
struct Checks
{
	int count;
	ExprState **states;
};

// A copy of the table's descriptor with its constraints, in the current context. To prepare an
// expression may run a user-defined function, and that may rename a column: the relcache then has
// another descriptor, also for an open relation, and may free the former one.
TupleDesc copy_columns(Relation table);

// Prepares the expression for evaluation, in the context given; null if it is involved. Leaves what it
// allocates on the way in the current context, and watches the functions of PostgreSQL's own that it
// meets. The result is good until a function of the user's in it changes, so that the caller must
// depend on the expression.
ExprState *prepare_expression(Node *expression, MemoryContext context);

// Prepares the condition for ExecQual(), in the context given, as prepare_expression() does; null if it
// is involved.
ExprState *prepare_condition(Node *expression, MemoryContext context);

// Prepares the table's CHECK constraints, in the context given, as prepare_expression() does. False if
// one of them is involved. The caller must depend on the constraints (depend_on_checks()).
bool prepare_checks(Relation table, Checks *checks, MemoryContext context);

// Whether the row satisfies the checks. Evaluates them in the ExprContext's per-tuple memory;
// raises what their functions raise.
bool satisfies(const Checks &checks, TupleTableSlot *row, ExprContext *context);

} // namespace queue_ext::row
