// qualify.hpp - changing words of SQL text where PostgreSQL's own parser finds
// them.
//
// The text is what the server wrote out of a parsed expression: operands stand in
// parentheses, so that an operator may be written as operator(pg_catalog.+), whose
// precedence differs, without a change of meaning.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::statement {

// The text with pg_catalog put before the names of operators, functions, types,
// collations and relations that have no schema. "before" is what makes the text a statement.
// This and the next function return a copy in the current context, and raise only what the
// parser raises.
char *qualify(const char *text, const char *before);

// What to put for the parameter of that number.
struct Replacement
{
	int parameter;
	const char *text;
};

// The text with parameters replaced.
char *replace_parameters(const char *text, const char *before, const Replacement *replacements,
						 int count);

#ifdef USE_ASSERT_CHECKING
// Whether the statement, a query, has the schema before all such names.
bool is_qualified(const char *text);
#endif

} // namespace queue_ext::statement
