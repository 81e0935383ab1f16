// advisory_lock.hpp - advisory locks by name, as every client can take them.
//
// Invariant: the lock of a name is pg_advisory_xact_lock(fnv_lock_key(name, prefix))
// with the prefix of queue_ext.advisory_lock_prefix. It belongs to the transaction:
// its end, or that of the subtransaction, gives it back.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::key {

// The number that names the lock. Raises where the name has no UTF-8.
int64 lock_key_of(const char *name, size_t length);

// Takes the lock and waits for it, under lock_timeout. Raises what PostgreSQL raises:
// 55P03, 40P01, 53200 where the lock table is full.
void lock(int64 key, LOCKMODE mode);

// Takes the lock if that takes no waiting; false if it would.
bool try_lock(int64 key, LOCKMODE mode);

// Defines the setting. Called once, by _PG_init.
void define_lock_setting();

} // namespace queue_ext::key
