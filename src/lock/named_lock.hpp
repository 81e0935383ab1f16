// named_lock.hpp - locks by name that outlive sessions.
//
// Invariant: a lock is a row of named_lock, made when it is first asked for. Of any
// number of callers one gets it, when its transaction commits; its token is one more
// than that of whoever had it before. Both kinds, held until it is released and held
// until some time, are of one namespace.
//
// A lock that is held is refused at once. One that is free, but that another open
// transaction has acquired, is waited for: it may be rolled back.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::lock {

// Acquires the lock, until it is released or, if a timeout is given, for that long.
// Returns its token; 0 if it is held, or may not be acquired any more. Raises what
// waiting for a row's lock raises. Takes ROW EXCLUSIVE on the table, and the row's
// lock.
int64 acquire(const text *task_id, const Interval *timeout);

// Releases the lock if it is held, with that token if one is given. False if it is
// not. Waits and locks as acquire() does.
bool release(const text *task_id, const int64 *token);

// Sets how many times the lock may be acquired; null: without limit. Makes it if need
// be. Waits for whoever has the row.
void set_retries(const text *task_id, const int32 *retries);

} // namespace queue_ext::lock
