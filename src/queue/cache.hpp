// cache.hpp - the definitions this backend has at hand.
//
// Invariant: a cached definition is what the registry and the catalogs say, as
// far as this backend has accepted invalidation messages; after the queue's table
// has been locked and the definition is still valid, it stays so until the lock
// is let go.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::queue {

// Registers the callbacks that mark definitions invalid. Called once, by _PG_init.
void register_invalidation();

// The queue of that name, with its table locked until the end of the transaction
// so that neither can change under the caller. Raises 42704 when there is none,
// 42602 and 42622 for a bad name.
Definition *open_queue(const text *name, LOCKMODE lock);

// Likewise, of a managed queue. Raises 55000 for another, with the hint.
Definition *open_managed_queue(const text *name, LOCKMODE lock, const char *hint);

// Likewise, the one queue that the table carries. Raises 42704 when there is none,
// 42725 when there are more.
Definition *open_queue_of_table(Oid table, LOCKMODE lock);

// As open_queue; null when there is none.
Definition *open_queue_if_exists(const text *name, LOCKMODE lock);

} // namespace queue_ext::queue
