// interval.hpp - intervals whose length does not depend on the session.

#pragma once

#include "postgres.hpp"

#include "error.hpp"

namespace queue_ext {

// Adds the interval to start. Days and months are counted in UTC, so the result does not depend on
// TimeZone. Raises 22008 when the result is out of range.
inline TimestampTz
end_of_interval(TimestampTz start, const Interval *interval)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval, TimestampGetDatum(start),
												 IntervalPGetDatum(interval)));
}

// The interval as it is from start on, without days and months, which SQL would add in the TimeZone of the session. In
// the current context. Raises 22008 when the end is out of range.
inline const Interval *
exact_length(TimestampTz start, const Interval *interval)
{
	if (interval->month == 0 && interval->day == 0)
		return interval;
	auto *exact = static_cast<Interval *>(palloc0(sizeof(Interval)));
	exact->time = end_of_interval(start, interval) - start;
	return exact;
}

// Raises 22023 for an interval that is not positive or is infinite, 22008 for one that begins now
// and would end after the last timestamp.
inline void
check_duration(const char *what, const Interval *interval)
{
	error::check_positive(what, interval);
	end_of_interval(GetCurrentTimestamp(), interval);
}

// Converts an interval to microseconds, with months of 30 days and days of 24 hours, as PostgreSQL
// compares intervals. The result is capped.
inline int64
to_microseconds(const Interval &interval)
{
	const double microseconds =
		static_cast<double>(interval.time) +
		(static_cast<double>(interval.month) * DAYS_PER_MONTH + interval.day) * USECS_PER_DAY;
	constexpr double most = 1e17; // some 3,000 years
	return static_cast<int64>(Min(microseconds, most));
}

} // namespace queue_ext
