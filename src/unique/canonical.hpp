// canonical.hpp - JSON values as canonical text: equal values give equal texts, in every session
// and from every client.
//
// The text is PostgreSQL's output of jsonb (keys sorted by length, then by bytes; a space after a
// colon and a comma), but numbers lose the trailing zeros of their fraction: jsonb compares 1.0 and
// 1.00 as equal.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// An object key, not null-terminated; points into the array that it was read from.
struct KeyName
{
	const char *bytes;
	int length;
};

// Object keys in the order of jsonb, without duplicates.
struct Names
{
	int count;
	KeyName *list;
};

// Returns the elements of the array as keys, in the current memory context. Raises 22004 for a null
// element; "what" names the argument.
Names read_names(const char *what, ArrayType *array);

// Appends the names as a JSON array.
void append_names(StringInfo text, const Names &names);

// Appends the string as a JSON string literal.
void append_string(StringInfo text, const char *bytes, int length);

// Appends the canonical text of the value.
void append_value(StringInfo text, Jsonb *value);

// Appends an object with the named keys that the value has, and returns how many those are. The value must be an
// object, unless there are no names.
int append_keys(StringInfo text, Jsonb *value, const Names &names);

} // namespace queue_ext::unique
