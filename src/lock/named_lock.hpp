// named_lock.hpp - locks by name that outlive sessions.
//
// Invariant: a lock is a row of named_lock, inserted when the lock is first asked for. Of any
// number of callers one acquires the lock, when its transaction commits; its token is one more than
// that of the previous holder. Both kinds, held until released and held until some time, share one
// set of names.
//
// A lock that is held is refused at once. If the lock is free, but another open transaction has
// acquired it, the call waits: that transaction may roll back.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::lock {

// Acquires the lock until it is released or, with a timeout, for that long. Returns its token; 0 if
// the lock is held or has no retries left. Takes ROW EXCLUSIVE on named_lock, and the row lock.
// Raises what waiting for a row lock raises, 22008 if the timeout ends after the last timestamp,
// and 55000 if the row cannot be made.
int64 acquire(const text *task_id, const Interval *timeout);

// Releases the lock. False if it is not held, or not with that token, if one is given. Waits and
// locks as acquire() does.
bool release(const text *task_id, const int64 *token);

// Sets how many times the lock may still be acquired; null: without limit. Inserts the row if there
// is none. Waits and locks as acquire() does. Raises 55000 if the row cannot be made.
void set_retries(const text *task_id, const int32 *retries);

} // namespace queue_ext::lock
