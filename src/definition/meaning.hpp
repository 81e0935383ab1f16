// meaning.hpp - what the name of a queue, as written, means under a search path.
//
// Invariant: a meaning that is recalled is what looking the name up would give now, as far
// as this backend has accepted invalidation messages. Several spellings and paths may mean
// one definition.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

constexpr int max_remembered_path = 16;

struct Meaning
{
	catalog::Dependent dependent;
	Definition *definition; // null: there is none
	Oid schema;             // that the name is qualified with, or InvalidOid
	bool is_path_free;      // the search path does not matter
	int path_length;
	Oid path[max_remembered_path];
};

// The definition that the text means for the caller, if that was looked up before and still
// holds; or null. The text is no longer than max_name_text. Never raises.
Definition *recall(const char *text);

// An empty meaning in the current context.
Meaning *begin_meaning();

// Remembers the meaning, if a definition was found.
void end_meaning(const char *text, Meaning *meaning);

// The definition that the text means: recalled, or else as find(meaning) finds out, which
// sets the definition, the schema and is_path_free, and says what they depend on. Null when
// there is none. Raises what find() raises.
template <typename Find>
Definition *
meaning_of(const char *text, Find &&find)
{
	Definition *definition = recall(text);
	if (definition != nullptr)
		return definition;
	Meaning *meaning = begin_meaning();
	make_dependent(&meaning->dependent, [&] { find(meaning); });
	definition = meaning->definition;
	end_meaning(text, meaning);
	return definition;
}

// To be called before definitions that are not valid are freed. Never raises.
void forget_meanings_of_invalid();

} // namespace queue_ext::definition
