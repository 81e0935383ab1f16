// definition_cache.hpp - the definitions this backend has at hand, and no more of them
// than queue_ext.definition_cache_size allows.
//
// Invariant: a valid definition is what the registry and the catalogs say, as far as this
// backend has accepted invalidation messages. A definition is freed when it is invalid, or
// the least recently used of too many; never while a call may be using one.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// To be called by each call before it has a definition found: it uses definitions until
// the current context is reset. Frees what is not needed, if no other call is under way.
void begin_call();

// The definition of (source, name), the most recently used one then; null when there is
// none now. Takes ACCESS SHARE on the registry where it is not at hand. Raises 55000 where
// the extension is not created.
Definition *find_definition(Oid source, const char *name);

// Makes it the most recently used one.
void touch(Definition *definition);

// Frees the plan of a definition's statement when no call is under way any more, since one
// further up may be running it.
void discard_after_calls(statement::Statement *statement);

// queue_ext.definition_cache_size in bytes, which holds for each kind of cache.
Size cache_limit();

// Defines the setting, and registers the callback that ends all calls. Called once, by
// _PG_init.
void register_definition_cache();

} // namespace queue_ext::definition
