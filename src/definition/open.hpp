// open.hpp - from a queue's name to its definition, with its table locked.
//
// Invariant: a definition that is returned is what the registry and the catalogs say, as
// far as this backend has accepted invalidation messages; after the queue's table
// has been locked and the definition is still valid, it stays so until the lock
// is let go. It stays in memory until the context is reset that was current when it was
// opened.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// What the caller is about to do with the queue: it says which lock the queue's table gets,
// and which rights on the table the caller must have before that.
enum class Use {
	name,    // nothing but look at the definition: no lock, no right
	read,    // ACCESS SHARE, SELECT
	insert,  // ROW EXCLUSIVE, INSERT
	write,   // ROW EXCLUSIVE, UPDATE or DELETE
	claim,   // the same; in mode session, which writes nothing, as to read
	release, // the same where the queue has on_release, else as to read
	fail,    // the same where the queue has on_fail, else as to read
	own,     // the queues of the table (registry.hpp), then ACCESS SHARE; ownership
};

// The queue of that name, with its table locked until the end of the transaction
// so that neither can change under the caller. Raises 42704 when there is none,
// 42602 and 42622 for a bad name, 42501 where a right is missing.
Definition *open_queue(const text *name, Use use);

// Likewise, of a managed queue. Raises 55000 for another, with the hint.
Definition *open_managed_queue(const text *name, Use use, const char *hint);

// Likewise, the one queue that the table carries. Raises 42704 when there is none,
// 42725 when there are more, 42P01 when the table has been dropped.
Definition *open_queue_of_table(Oid table, Use use);

// The queue of that name on that table; null when there is none.
Definition *open_queue_of_name(Oid table, const char *name, Use use);

// Raises 42704; the hint says how there could be such a queue.
[[noreturn]] void raise_no_such_queue(const char *text);

// Whether the relation is what a managed queue has left behind: of the shape of its table,
// and no managed queue's.
bool is_left_behind(Oid table);

// As open_queue; null when there is none.
Definition *open_queue_if_exists(const text *name, Use use);

} // namespace queue_ext::definition
