// name.hpp - a queue's name as the caller writes it: emails, jobs.emails,
// "Odd Queue", jobs."Odd Queue".
//
// The rules are those of regclass input: parts separated by dots, folded to lower case unless in
// double quotes. A part that is too long is an error, and never truncated.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

// The longest spelling of a name: two quoted parts of nothing but doubled quotes.
constexpr int max_name_text = 2 * (2 * (NAMEDATALEN - 1) + 2) + 1;

// The first byte of the keys by which tables are cached as names are; no name begins with it.
constexpr char table_mark = '\1';

// A name without quotes and escapes.
struct Name
{
	char schema[NAMEDATALEN]; // empty when the caller gave none
	char name[NAMEDATALEN];

	bool is_qualified() const
	{
		return schema[0] != '\0';
	}
};

// The position behind the parser's own whitespace, as textToQualifiedNameList() has it.
inline const char *
skip_space(const char *cursor)
{
	while (scanner_isspace(*cursor))
		cursor++;
	return cursor;
}

// Parses the name. Raises 42602 for text that is no name, 42622 for a part that is too long. Takes
// no lock.
Name parse_name(const char *text);

// The name for messages: schema and name with a dot between, without quotes. In the current
// context.
char *to_text(const Name &name);

// The relation of that name, looked up as regclass does; InvalidOid when there is none. Takes no
// lock. Raises 42501 for a schema without USAGE.
Oid find_table(const Name &name);

// The relation's name for statements: qualified and quoted; null when the relation does not exist.
// In the current context.
char *qualified_name(Oid relation);

// The queue's name as part of a lock name: schema.name, each in double quotes unless it consists of
// lower-case letters, digits and underscores and does not begin with a digit. Depends neither on
// settings nor on the reserved words of a version of PostgreSQL. Null when the schema does not
// exist. In the current context.
char *lock_name(Oid schema, const char *name);

} // namespace queue_ext::definition
