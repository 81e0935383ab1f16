// meaning.hpp - what the name of a queue, as written, means under a search path.
//
// Invariant: a remembered meaning is returned only if a lookup of the name would give the same now,
// as far as this backend has accepted invalidation messages. Several spellings and paths may mean
// one definition.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// A meaning that depends on a longer path is not remembered.
constexpr int max_remembered_path = 16;

// The result of a lookup, and what it depends on.
struct Meaning
{
	catalog::Dependent dependent;
	Definition *definition; // null: no such queue
	const char *text;       // as written
	Meaning *next;          // of those of the definition; null before it is remembered
	Oid schema;             // of a qualified name, or InvalidOid
	bool is_path_free;      // the name means the same under every search path
	int path_length;
	Oid path[max_remembered_path];
};

// The definition that the text means for the caller, if the text was looked up before and its
// meaning is still valid; else null. The text must not be longer than max_name_text. Raises what
// reading catalogs raises.
Definition *known_meaning(const char *text);

// Makes an empty meaning, in a context below the current one, with the present search path.
Meaning *begin_meaning();

// Remembers the meaning if it has a definition and is still valid; deletes it otherwise.
void end_meaning(const char *text, Meaning *meaning);

// The definition that the text means: a remembered one, or else as find(meaning) looks it up, which
// sets definition, schema and is_path_free and records dependencies. Null when there is no such
// queue. Raises what find() raises.
template <typename Find>
Definition *
meaning_of(const char *text, Find &&find)
{
	Definition *definition = known_meaning(text);
	if (definition != nullptr)
		return definition;
	Meaning *meaning = begin_meaning();
	make_dependent(&meaning->dependent, [&] { find(meaning); });
	definition = meaning->definition;
	end_meaning(text, meaning);
	return definition;
}

// The memory of the definition's meanings. Never raises.
Size size_of_meanings(const Definition *definition);

// Forgets invalid meanings, and those of invalid definitions. Never raises.
void forget_invalid_meanings();

// Forgets the meanings of the definition; to be called before it is freed. Never raises.
void forget_meanings_of(Definition *definition);

} // namespace queue_ext::definition
