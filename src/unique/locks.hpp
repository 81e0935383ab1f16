// locks.hpp - takes the advisory locks of many keys.
//
// To insert a job or row, a call takes its key's stripe (shared) and then its key (exclusive),
// until the end of the transaction. A call with more different keys than max_key_locks() takes
// their stripes (exclusive) and no keys. Either kind excludes the other.
//
// Invariant: a call takes its stripes in the order of their numbers, then its keys in ascending
// order, so single calls cannot deadlock. (Transactions of several calls can, as with any lock:
// 40P01.)

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// The number of stripes over which the keys of a queue or table are spread.
constexpr int stripe_count = 256;

// The advisory lock of a key, and the stripe that the key belongs to.
struct Lock
{
	int64 key;
	int stripe;
};

// Returns the lock of that name. Raises where the name cannot be converted to UTF-8.
Lock lock_named(const char *name);

// Takes the locks and waits for them, under lock_timeout. The names of the stripes contain the
// space: "queue=public.emails". Raises 55P03, 40P01, and 53200 if the lock table is full.
void take_locks(const char *space, const Lock *locks, int count);

} // namespace queue_ext::unique
