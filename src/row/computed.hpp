// computed.hpp - rows whose columns get the values of prepared expressions: what an UPDATE assigns, and the defaults of
// a new row.
//
// User-defined code may run in any evaluation (use.hpp), and may write the row that is replaced.

#pragma once

#include "../postgres.hpp"

#include "plain.hpp"

namespace queue_ext::row {

// A column that is written, and the expression that gives its value.
struct ColumnValue
{
	AttrNumber number;
	ExprState *value;
	bool not_null;
};

// Prepares the targets of an UPDATE, in the context given, as prepare_expression() does. Returns the part that
// is too involved for that, in words, or null; *columns and *count are then those before it.
const char *prepare_columns(const List *targets, Relation table, MemoryContext context,
							ColumnValue **columns, int *count);

// Puts the values of the columns into the arrays of the row, which is stored after that.
void compute_columns(const ColumnValue *columns, int count, ExprContext *context,
					 TupleTableSlot *row);

// Makes new_row the version that replaces old_row, with these columns computed from that. The other values may point into
// old_row. Both are slots of the table.
void compute_new_version(Relation table, TupleTableSlot *old_row, const ColumnValue *columns,
						 int count, ExprContext *context, TupleTableSlot *new_row);

// Whether NOT NULL of these columns and all checks hold for the row: the other columns are unchanged, or have a value.
bool keeps_constraints(const Checks &checks, const ColumnValue *columns, int count,
					   TupleTableSlot *row, ExprContext *context);

} // namespace queue_ext::row
