// canonical.hpp - JSON values as text, so that equal values are equal texts, in every
// session and every client.
//
// It is the text that PostgreSQL has for jsonb (keys by length, then by their bytes; a
// space after a colon and a comma), but for numbers, which lose the zeros at the end
// of their fraction: jsonb holds 1.0 and 1.00 to be equal.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

struct Name
{
	const char *bytes;
	int length;
};

// Names of an object's keys, in jsonb's order of keys, each once.
struct Names
{
	int count;
	Name *list;
};

// The names in the array, in the current context. Raises 22004 for a null.
Names read_names(const char *what, ArrayType *array);

// Adds the names as a JSON array.
void append_names(StringInfo text, const Names &names);

// Adds the string in quotes, as JSON has it.
void append_string(StringInfo text, const char *bytes, int length);

// Adds the value.
void append_value(StringInfo text, Jsonb *value);

// Adds an object of those keys that the value has. It must be an object, or there
// must be no names.
void append_keys(StringInfo text, Jsonb *value, const Names &names);

} // namespace queue_ext::unique
