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

// Searches the text for the qualified names; a false match only adds a check. Those before the last one that it has
// are checked, too, if they are there.
statement::Tables
tables_in(const Definition *definition, const char *text)
{
	int count = lengthof(definition->tables);
	while (count > 1 && (definition->tables[count - 1].name == nullptr ||
						 strstr(text, definition->tables[count - 1].name) == nullptr))
		count--;
	return {definition->tables, count};
}

} // namespace queue_ext::definition
