// name.hpp - a queue's name as the caller writes it: emails, jobs.emails,
// "Odd Queue", jobs."Odd Queue".
//
// The rules are those of a table's name given as regclass: parts between dots,
// folded to lower case unless in double quotes. A part that is too long is an
// error, never truncated.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

// The longest spelling of a name: two quoted parts of nothing but doubled quotes.
constexpr int max_name_text = 2 * (2 * (NAMEDATALEN - 1) + 2) + 1;

// What no name as written begins with: where names are remembered, tables are by this.
constexpr char table_mark = '\1';

struct Name
{
	char schema[NAMEDATALEN]; // empty when the caller gave none
	char name[NAMEDATALEN];

	bool is_qualified() const
	{
		return schema[0] != '\0';
	}
};

// Takes the name apart. Raises 42602 for what is no name, 42622 for a part that
// is too long. Takes no lock.
Name parse_name(const char *text);

// The name for messages: schema and name with a dot between, without quotes.
// Allocated in the current context.
char *to_text(const Name &name);

// The relation of that name, found as regclass finds it; InvalidOid when there is none.
// Raises 42501 for a schema that the caller may not use.
Oid find_table(const Name &name);

// The relation's name for statements: qualified and quoted; null when there is no such
// relation (any more). In the current context.
char *qualified_name(Oid relation);

// The name in that schema as the names of locks have it: schema.name, each in double
// quotes unless it is of lower-case letters, digits and underscores, and does not begin
// with a digit. It depends neither on settings nor on the words that a version of
// PostgreSQL reserves. Null when there is no such schema (any more). In the current
// context.
char *lock_name(Oid schema, const char *name);

} // namespace queue_ext::definition
