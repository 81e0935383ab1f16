// fragment.hpp - from a queue's fragment, as the user wrote it, to SQL that can
// stand in any statement and means the same there for everybody.
//
// A fragment speaks of its table's columns and of the call's variables:
// call_time, lease, worker, error, retry_at. (Where a table has a column of that
// name, the column is meant, and call.error and so on is the variable; in the
// fragments of a managed queue the variable comes first.)
// PostgreSQL's own parser reads it, under the search path it was written
// under, as an expression over the table and as nothing else. What the parser
// understood is then written out in full: every column with the alias t, every
// operand in parentheses, every operator, function and type with its schema. So
// neither the text nor the caller's search path can smuggle anything in.
//
// Invariant: a compiled fragment is one expression, ORDER BY list or SET list;
// its only parameters are the variables', as statement.hpp numbers them.

#pragma once

#include "../postgres.hpp"

#include "fragment_parse.hpp"

namespace queue_ext::definition {

// How the columns of an order follow each other: as one row comparison has it, or
// not.
enum class Direction { mixed, ascending, descending };

struct CompiledFragment
{
	char *text;
	List *targets;       // of assignments: TargetEntry
	List *conjuncts;     // of a condition: the parts (Node *) that all must hold
	Node *expression;    // of a condition
	char *bare_text;     // of an order: as CREATE INDEX wants it; null if no index can have it
	Direction direction; // of an order
	List *order_columns; // of an order that is not mixed: the columns' numbers
	List *order;         // of an order: the expressions
};

// Compiles the fragment for the table under the search path. Raises what the
// parser raises, with the fragment named in the context and the position in it,
// and 42601, 42P02, 42701, 428C9, 0A000 for what the parser alone would let pass.
// The relation must be locked. The result is in the current context.
CompiledFragment compile(const Fragment &fragment, Relation table, const char *search_path);

// Whether that part of a condition can be an index's predicate: it depends on
// columns of the row, and on nothing else.
bool can_be_predicate(Node *conjunct);

// That part, or an ORDER BY, written out for CREATE INDEX: without an alias.
char *write_out_bare(Node *expression, Oid table);

// What stands for the variables that differ from job to job, where a statement
// serves many.
struct RowVariables
{
	const char *error;
	const char *retry_at;
};

// The compiled fragment with those variables in place of their parameters.
char *bind_rows(const char *compiled, FragmentKind kind, const RowVariables &variables);

} // namespace queue_ext::definition
