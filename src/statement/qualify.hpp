// qualify.hpp - replaces names and parameters in SQL text, where PostgreSQL's own parser finds
// them.
//
// The text is what ruleutils.c wrote from an analyzed expression: operands stand in parentheses, so
// an operator can become operator(pg_catalog.+), which has another precedence, without a change of
// meaning.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// Returns the text with pg_catalog put before the names of operators, functions, types, collations
// and relations that have no schema. "before" is put in front of the text to make it a statement,
// and is not in the result. This function and the next return a copy in the current context, and
// raise only what the raw parser raises.
char *qualify(const char *text, const char *before);

// The text that replaces the parameter of that number.
struct Replacement
{
	int parameter;
	const char *text;
};

// Returns the text with the parameters replaced.
char *replace_parameters(const char *text, const char *before, const Replacement *replacements,
						 int count);

#ifdef USE_ASSERT_CHECKING
// Whether all such names in the statement have a schema.
bool is_qualified(const char *text);
#endif

} // namespace queue_ext::statement
