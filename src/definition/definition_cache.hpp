// definition_cache.hpp - the definitions that this backend has cached, within
// queue_ext.definition_cache_size.
//
// Invariant: a valid definition agrees with the registry and the catalogs, as far as this backend
// has accepted invalidation messages. A definition is freed when it is invalid, or gives its place
// up where there are too many; never while a call may be using one.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// To be called before a definition is looked up: the call may use definitions until the current
// memory context is reset. Frees the definitions that are not needed if no other call is under way.
void begin_call();

// The definition of (source, name); null when there is none. Reads the registry, and locks it
// ACCESS SHARE while it does so, unless the definition is cached and valid. Raises 55000 where the
// extension is not created.
Definition *find_definition(Oid source, const char *name);

// Makes the definition the most recently used one.
void touch(Definition *definition);

// Frees the plan of a definition's statement when no call is under way: a call further up the stack
// may be running it.
void discard_after_calls(statement::Statement *statement);

// queue_ext.definition_cache_size in bytes, the limit of each kind of cache by itself.
Size cache_limit();

// Defines the setting, and registers the transaction callback that frees definitions. Called once,
// by _PG_init.
void register_definition_cache();

} // namespace queue_ext::definition
