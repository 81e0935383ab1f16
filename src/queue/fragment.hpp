// fragment.hpp - from a queue's fragment, as stored, to text that can stand in a
// statement.
//
// A fragment speaks of its table's columns and of the call's variables:
// call_time, lease, worker, error, retry_at. The variables are found by
// PostgreSQL's own parser, and replaced where they stand by what the statement
// has for them; a name in double quotes is never a variable.
//
// In a managed queue's fragments the operators are also qualified with
// pg_catalog, so that no search path can change their meaning. Since
// operator(...) syntax has one precedence for all, such a fragment must have
// parentheses around every operand that is an operator's result.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::queue {

enum class FragmentKind { condition, order, assignments };

// What stands for each variable in the statement.
struct Variables
{
	const char *call_time;
	const char *lease;
	const char *worker;
	const char *error;
	const char *retry_at;
};

// The parameters of a statement that serves one job or makes a claim.
Variables scalar_variables();

// Returns the fragment with its variables replaced, and with its operators
// qualified if that is wanted; in the current context. Raises what the parser
// raises.
char *bind(const char *fragment, FragmentKind kind, const Variables &variables,
		   bool qualify_operators);

} // namespace queue_ext::queue
