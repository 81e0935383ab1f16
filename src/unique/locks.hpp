// locks.hpp - taking the locks of many keys.
//
// Whoever inserts a job has its key's stripe (shared) and its key (exclusive), in this
// order, until the transaction ends. Whoever inserts more different ones than the server's
// lock table should hold has their stripes (exclusive) and no keys: so that each excludes
// the other.
//
// Invariant: one call takes its stripes in the order of their numbers, then its keys in
// the order of their locks, so calls alone cannot deadlock. (Transactions of several
// calls can, as with any lock: 40P01.)

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

// The locks of one queue's or table's keys are spread over so many stripes.
constexpr int stripe_count = 256;

struct Lock
{
	int64 key;
	int stripe;
};

// The lock of that name.
Lock lock_named(const char *name);

// Takes the locks and waits for them, under lock_timeout. The space is what the names
// of the stripes have in common: "queue=public.emails". Raises what PostgreSQL raises
// where a lock cannot be had.
void take_locks(const char *space, const Lock *locks, int count);

} // namespace queue_ext::unique
