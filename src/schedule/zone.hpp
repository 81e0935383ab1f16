// zone.hpp - time zones by their names.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::schedule {

// The zone of that name, which lives as long as the backend. Raises 22023 if there is none.
pg_tz *zone_of(const char *name);

// By how much the zone's clock is behind UTC at that finite moment, in microseconds.
int64 offset_at(TimestampTz moment, pg_tz *zone);

// The moment at which the zone's clock shows that time; if it does so twice, the later one. False if it is out of range.
bool moment_of(Timestamp shown, pg_tz *zone, TimestampTz *moment);

} // namespace queue_ext::schedule
