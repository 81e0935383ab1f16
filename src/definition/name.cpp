// name.cpp - see name.hpp.

#include "../postgres.hpp"

#include "name.hpp"

#include "../error.hpp"

namespace queue_ext::definition {

// Raises 42622 instead of truncating, which would make two names one.
static void
store_part(char *part, const char *bytes, size_t length)
{
	if (length >= NAMEDATALEN)
		error::name_too_long(pnstrdup(bytes, length));
	memcpy(part, bytes, length);
	part[length] = '\0';
}

// Reads a quoted part; the cursor is at the first quote. Returns the position behind the last, or
// null if it is missing.
static const char *
read_quoted(const char *cursor, char *part)
{
	StringInfoData bytes;
	initStringInfo(&bytes);
	for (cursor++;; cursor++) {
		if (*cursor == '\0')
			return nullptr;
		if (*cursor == '"' && *++cursor != '"')
			break;
		appendStringInfoChar(&bytes, *cursor);
	}
	store_part(part, bytes.data, bytes.len);
	return cursor;
}

// Folds to lower case as the parser does, without truncation.
static const char *
read_bare(const char *cursor, char *part)
{
	const char *start = cursor;
	while (*cursor != '\0' && *cursor != '.' && *cursor != '"' && !scanner_isspace(*cursor))
		cursor++;
	const int length = static_cast<int>(cursor - start);
	const char *folded = downcase_identifier(start, length, false, false);
	store_part(part, folded, strlen(folded));
	return cursor;
}

// Returns the position behind the part and its spaces; null if there is no part.
static const char *
read_part(const char *cursor, char *part)
{
	cursor = skip_space(cursor);
	cursor = *cursor == '"' ? read_quoted(cursor, part) : read_bare(cursor, part);
	if (cursor == nullptr || part[0] == '\0')
		return nullptr;
	return skip_space(cursor);
}

// More than two parts, a missing part and text behind the name all raise 42602.
Name
parse_name(const char *text)
{
	Name name{};
	const char *cursor = read_part(text, name.name);
	if (cursor != nullptr && *cursor == '.') {
		memcpy(name.schema, name.name, NAMEDATALEN);
		cursor = read_part(cursor + 1, name.name);
	}
	if (cursor == nullptr || *cursor != '\0' || *text == table_mark)
		error::invalid_name(text);
	return name;
}

char *
to_text(const Name &name)
{
	return name.is_qualified() ? psprintf("%s.%s", name.schema, name.name) : pstrdup(name.name);
}

// Does not ask quote_identifier(), whose answer depends on the keywords of the server's version.
static bool
is_bare(const char *name)
{
	const char *cursor = name;
	while ((*cursor >= 'a' && *cursor <= 'z') || *cursor == '_' ||
		   (*cursor >= '0' && *cursor <= '9' && cursor > name))
		cursor++;
	return cursor > name && *cursor == '\0';
}

// Doubles a quote within the name.
static void
append_for_lock(StringInfo text, const char *name)
{
	if (is_bare(name)) {
		appendStringInfoString(text, name);
		return;
	}
	appendStringInfoChar(text, '"');
	for (; *name != '\0'; name++) {
		if (*name == '"')
			appendStringInfoChar(text, '"');
		appendStringInfoChar(text, *name);
	}
	appendStringInfoChar(text, '"');
}

char *
lock_name(Oid schema, const char *name)
{
	const char *schema_name = get_namespace_name(schema);
	if (schema_name == nullptr)
		return nullptr;
	StringInfoData text;
	initStringInfo(&text);
	append_for_lock(&text, schema_name);
	appendStringInfoChar(&text, '.');
	append_for_lock(&text, name);
	return text.data;
}

// Without a lock, so the answer may be outdated at once.
Oid
find_table(const Name &name)
{
	const RangeVar *relation =
		makeRangeVar(name.is_qualified() ? pstrdup(name.schema) : nullptr, pstrdup(name.name), -1);
	return RangeVarGetRelid(relation, NoLock, true);
}

// The relation or its schema may have been dropped by another session.
char *
qualified_name(Oid relation)
{
	char *name = get_rel_name(relation);
	char *schema = get_namespace_name(get_rel_namespace(relation));
	if (name == nullptr || schema == nullptr)
		return nullptr;
	return pstrdup(quote_qualified_identifier(schema, name));
}

} // namespace queue_ext::definition
