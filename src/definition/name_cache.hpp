// name_cache.hpp - the cache of names: which definition the name of a queue, as written, leads to
// under a search path.
//
// Invariant: a cached name is used only if a lookup of the name would give the same definition now,
// as far as this backend has accepted invalidation messages. Several spellings and paths may lead
// to one definition.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// A name whose lookup depends on a longer path is not cached.
constexpr int max_cached_path = 16;

// An entry of the cache: the result of a lookup, and what it depends on.
struct CachedName
{
	catalog::Dependent dependent;
	Definition *definition; // null: no such queue
	const char *text;       // as written
	CachedName *next;       // of those of the definition; null before it is in the cache
	Oid schema;             // of a qualified name, or InvalidOid
	bool is_path_free;      // the name leads to it under every search path
	int path_length;
	Oid path[max_cached_path];
};

// The definition that the text leads to for the caller, if the text was looked up before and its
// entry is still valid; else null. The text must not be longer than max_name_text. Raises what
// reading catalogs raises.
Definition *cached_definition(const char *text);

// Makes an empty entry, in a context below the current one, with the present search path.
CachedName *begin_cached_name();

// Puts the entry into the cache if it has a definition and is still valid; deletes it otherwise.
void end_cached_name(const char *text, CachedName *cached);

// The definition that the text leads to: the cached one, or else as find(cached) looks it up, which
// sets definition, schema and is_path_free and records dependencies. Null when there is no such
// queue. Raises what find() raises.
template <typename Find>
Definition *
definition_named(const char *text, Find &&find)
{
	Definition *definition = cached_definition(text);
	if (definition != nullptr)
		return definition;
	CachedName *cached = begin_cached_name();
	make_dependent(&cached->dependent, [&] { find(cached); });
	definition = cached->definition;
	end_cached_name(text, cached);
	return definition;
}

// The memory of the names that lead to the definition. Never raises.
Size size_of_cached_names(const Definition *definition);

// Removes invalid entries, and those of invalid definitions. Never raises.
void remove_invalid_names();

// Removes the names that lead to the definition; to be called before it is freed. Never raises.
void remove_names_of(Definition *definition);

} // namespace queue_ext::definition
