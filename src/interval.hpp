// interval.hpp - intervals that mean the same to every caller.

#pragma once

#include "postgres.hpp"

#include "error.hpp"

namespace queue_ext {

// The time an interval after another. Days and months are counted in UTC, so that it
// depends on no session's time zone. Raises 22008 when that is no timestamp any more.
inline TimestampTz
end_of_interval(TimestampTz start, const Interval *interval)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval, TimestampGetDatum(start),
												 IntervalPGetDatum(interval)));
}

// Raises 22023 for an interval that is not positive, 22008 for one that, begun now, would not
// end.
inline void
check_duration(const char *what, const Interval *interval)
{
	error::check_positive(what, interval);
	end_of_interval(GetCurrentTimestamp(), interval);
}

} // namespace queue_ext
