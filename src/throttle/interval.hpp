// interval.hpp - intervals that mean the same to every caller.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::throttle {

// The time an interval after another. Days and months are counted in UTC, so that it
// depends on no session's time zone. Raises 22008 when that is no timestamp any more.
inline TimestampTz
end_of_interval(TimestampTz start, const Interval *interval)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval, TimestampGetDatum(start),
												 IntervalPGetDatum(interval)));
}

} // namespace queue_ext::throttle
