// locks.hpp - taking the locks of many keys.
//
// Whoever inserts a job has its key's stripe (shared) and its key (exclusive), in this
// order, until the transaction ends. Whoever inserts more than stripe_count different
// ones has their stripes (exclusive) and no keys: so that each excludes the other, and
// the server's lock table is not filled.
//
// Invariant: one call takes its stripes in the order of their numbers, then its keys in
// the order of their locks, so calls alone cannot deadlock. (Transactions of several
// calls can, as with any lock: 40P01.)

#pragma once

#include "../postgres.hpp"

#include "job_key.hpp"

namespace queue_ext::unique {

// Takes the locks of the keys and waits for them, under lock_timeout. Raises what
// PostgreSQL raises where a lock cannot be had.
void lock_keys(const queue::Definition *definition, const JobKey *keys, int count);

} // namespace queue_ext::unique
