// definition.cpp - see definition.hpp.

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// Set by note_growth(), so that the cache need not look at each definition.
static bool any_grown = false;

void
note_growth(Definition *definition)
{
	definition->has_grown = true;
	any_grown = true;
}

bool
take_growth()
{
	const bool has_any = any_grown;
	any_grown = false;
	return has_any;
}

// Searches the text for the archive's qualified name; a false match only adds a check.
statement::Tables
tables_in(const Definition *definition, const char *text)
{
	const bool names_archive =
		definition->archive_name != nullptr && strstr(text, definition->archive_name) != nullptr;
	return {definition->tables, names_archive ? 2 : 1};
}

} // namespace queue_ext::definition
