// fragment.hpp - compiles a queue's fragment, as its owner wrote it, to SQL that can be put into
// any statement and means the same there for every caller.
//
// A fragment refers to columns of its table and to the variables of the call: call_time, lease,
// worker, error, retry_at, retry; the condition of a repair instead to call_time, state, arguments. (If the table has a
// column of that name, the name means the column, and call.error and so on the variable; in the fragments of a managed
// queue the variable comes first.) PostgreSQL's own parser analyzes it, under the search path of the call that wrote
// it, as an expression over the table and as nothing else. The analyzed tree is then written out in full: every column
// with the alias t, every operand in parentheses, every operator, function and type with its schema. So neither the
// text nor the caller's search path can add or change anything.
//
// Invariant: a compiled fragment is one expression, ORDER BY list or SET list; its only parameters
// are those of the variables, with the numbers of statement/statement.hpp.

#pragma once

#include "../postgres.hpp"

#include "../statement/parameter.hpp"
#include "fragment_parse.hpp"

namespace queue_ext::definition {

// A plain column of an order: not null, and of one of PostgreSQL's own types.
struct OrderColumn
{
	AttrNumber number;
	bool is_descending;
};

// A fragment's text and trees; which are set depends on its kind.
struct CompiledFragment
{
	char *text;
	List *targets;    // of assignments: TargetEntry
	List *conjuncts;  // of a condition: its conjuncts (Node *)
	Node *expression; // of a condition
	char *bare_text;  // of an order: for CREATE INDEX; null if no index can have it
	int order_count;  // of an order of plain columns alone; 0 of any other
	OrderColumn *order_columns;
	List *order; // of an order: the expressions
};

// Compiles the fragment for the table under the search path. Raises what the parser raises, with
// the fragment's name in the context and the position within the fragment, and 42601, 42P02, 42803,
// 428C9, 0A000 for what the parser alone would accept. The relation must be locked. The result is
// in the current context.
CompiledFragment compile(const Fragment &fragment, Relation table, const char *search_path);

// Whether the conjunct can be the predicate of an index: it depends on columns of the row alone.
bool can_be_predicate(Node *conjunct);

// Whether the expression reads the variable of that parameter.
bool reads_variable(Node *expression, statement::Parameter parameter);

// Writes out the conjunct, or an ORDER BY expression, for CREATE INDEX: without an alias.
char *write_out_bare(Node *expression, Oid table);

// The SQL that replaces the variables that differ from job to job, in a statement for many jobs.
struct RowVariables
{
	const char *error;
	const char *retry_at;
	const char *new_progress;
};

// Returns the compiled fragment with these variables replaced. In the current context.
char *bind_rows(const char *compiled, FragmentKind kind, const RowVariables &variables);

// Returns the compiled condition of a repair with this SQL, of the row, for its variable "state". In
// the current context.
char *bind_state(const char *compiled, const char *state);

} // namespace queue_ext::definition
