// resource.hpp - resources that may be used so often, and no more.
//
// Invariant: of the grants that have been committed, no interval of the resource's
// length has more than its "grants" in it. A resource is a row of throttled_resource.
// last_locked and earlier_grants together are the last grants, in order: whether one
// more is due is seen by the one that stands "grants" before it.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::throttle {

// Locks the resource if that is due now; the caller's transaction must commit for it
// to count. False at once, with nothing written, if it is not, or if another
// transaction has the row. Raises 42704 if there is no such resource. Takes ROW
// EXCLUSIVE on the table, and the row's lock if it returns true.
bool lock_resource(const text *resource, const text *details);

// Adds, changes and removes resources, by statements. A null pointer leaves a value as
// it is. False if there is one already, or none.
bool create_resource(const text *resource, const Interval *interval, int32 grants);
bool alter_resource(const text *resource, const Interval *interval, const int32 *grants);
bool drop_resource(const text *resource);

} // namespace queue_ext::throttle
