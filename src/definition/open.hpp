// open.hpp - from a queue's name to its definition, with its table locked.
//
// Invariant: a definition that is returned agrees with the registry and the catalogs, as far as
// this backend has accepted invalidation messages. If it is still valid after the queue's table has
// been locked, it stays so until the lock is released. It stays in memory until the reset of the
// context that was current when it was opened.

#pragma once

#include "../postgres.hpp"

#include "definition.hpp"

namespace queue_ext::definition {

// What the caller is about to do with the queue: it decides which lock the queue's table gets, and
// which rights on the table the caller must have before that.
enum class Use {
	name,          // only read the definition: no lock, no right needed
	read,          // ACCESS SHARE, SELECT
	insert,        // ROW EXCLUSIVE, INSERT
	insert_unique, // as insert
	write,         // ROW EXCLUSIVE, UPDATE or DELETE
	remove,        // as write; what it deletes goes to the archive
	purge,         // as write; what it deletes is gone
	claim,         // as write; in mode session, which writes nothing, as read
	release,       // as write if the queue has on_release, else as read
	fail,          // as write if the queue has on_fail, else as read
	own,           // lock_queues_of() the table, then ACCESS SHARE; ownership
};

// The queue of that name. Locks its table until the end of the transaction, so that neither can
// change. Raises 42704 when there is none, 42602 and 42622 for a bad name, 42501 where a right is
// missing, 42P09 for an ambiguous name.
Definition *open_queue(const text *name, Use use);

// The managed queue of that name. Locks its table as open_queue() does, and raises what that raises, and
// 55000, with the hint, for an attached queue.
Definition *open_managed_queue(const text *name, Use use, const char *hint);

// The only queue of the table. Locks the table until the end of the transaction. Raises 42704 when there
// is none, 42725 when there are more, 42P01 when the table does not exist, 42501 where a right is missing.
Definition *open_queue_of_table(Oid table, Use use);

// The queue of that name on that table; null when there is none. Locks the table until the end of the
// transaction. Raises 42501 where a right is missing.
Definition *open_queue_of_name(Oid table, const char *name, Use use);

// Raises 42704; the hint says how to create the queue, or to adopt its table, or which queue may be
// meant.
[[noreturn]] void raise_no_such_queue(const char *text);

// Whether the relation was left behind by a managed queue: it has the columns of such a queue's
// table, and belongs to no managed queue. Takes no lock on it.
bool is_left_behind(Oid table);

// As open_queue(), but returns null when there is none.
Definition *open_queue_if_exists(const text *name, Use use);

} // namespace queue_ext::definition
