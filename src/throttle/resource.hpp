// resource.hpp - resources that may be used a number of times in any interval, and no more.
//
// Invariant: no interval of the resource's length contains more than "grants" committed grants. A
// resource is a row of throttled_resource. earlier_grants and last_locked together are its last
// grants, in order: the next one is due when the one that stands "grants" before it is older than
// the interval. None is due while last_locked is infinity; what is infinite in earlier_grants is no grant.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::throttle {

// Grants a use of the resource if one is due now; it counts if the transaction of the caller
// commits. Returns false at once, with nothing written, if none is due, or if another transaction
// has the row locked. Then *retry_at, unless that is null, is when to ask again: when the next grant
// is due, and soon if the other transaction decides that. Raises 42704 if there is no such resource.
// Takes ROW EXCLUSIVE on throttled_resource, and the row lock if it returns true.
bool lock_resource(const text *resource, const text *details, TimestampTz *retry_at);

// Insert, update and delete resources, by statements. A null pointer leaves a value as it is. False
// if the resource already exists (create) or does not exist. Take ROW EXCLUSIVE on
// throttled_resource, wait for transactions that have the row locked, and raise what the statements
// raise.
bool create_resource(const text *resource, const Interval *interval, int32 grants);
bool alter_resource(const text *resource, const Interval *interval, const int32 *grants);
bool drop_resource(const text *resource);

} // namespace queue_ext::throttle
