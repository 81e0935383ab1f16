// definition.cpp - see definition.hpp.

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// A list, so that the cache need not look at each definition.
static Definition *grown = nullptr;

void
note_growth(Definition *definition)
{
	if (definition->has_grown)
		return;
	definition->has_grown = true;
	definition->next_grown = grown;
	grown = definition;
}

Definition *
take_grown()
{
	Definition *definition = grown;
	if (definition == nullptr)
		return nullptr;
	grown = definition->next_grown;
	definition->has_grown = false;
	return definition;
}

void *
allocate_beside(Definition *definition, Size size)
{
	void *allocated = MemoryContextAllocZero(definition->context, size);
	note_growth(definition);
	return allocated;
}

// A session uses few of the statements, and of many queues only two or three.
statement::Statement *
statement_at(Definition *definition, statement::Statement **place)
{
	if (*place == nullptr) {
		auto *listed =
			static_cast<ListedStatement *>(allocate_beside(definition, sizeof(ListedStatement)));
		listed->next = definition->statements;
		definition->statements = listed;
		*place = &listed->statement;
	}
	return *place;
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
