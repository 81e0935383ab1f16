// advisory_lock.hpp - advisory locks by name, which clients can also take in SQL.
//
// Invariant: the lock of a name is pg_advisory_xact_lock(fnv_lock_key(name, prefix)) with the
// prefix of queue_ext.advisory_lock_prefix. It is released at the end of the transaction, or at the
// rollback of the subtransaction that took it.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::key {

// The key of the lock. Raises what utf8_of() raises.
int64 lock_key_of(const char *name, size_t length);

// Takes the lock; waits for it for up to lock_timeout. Raises 55P03 after that, 40P01 for a
// deadlock, 53200 when the lock table is full.
void lock(int64 key, LOCKMODE mode);

// Takes the lock if no other session has a conflicting one; false otherwise, without waiting.
// Raises 53200 when the lock table is full.
bool try_lock(int64 key, LOCKMODE mode);

// Defines the setting. Called once, by _PG_init.
void define_lock_setting();

} // namespace queue_ext::key
