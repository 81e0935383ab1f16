// moment.hpp - when the jobs of a schedule occur: on a grid of moments, in a time zone.
//
// The grid of an interval has its moments one interval apart: each is the one before, plus the
// interval, as PostgreSQL adds it to a timestamptz in that zone. So "1 day" is the same time of day on
// the next day, and "24 hours" is not, where a clock change is in between.
//
// The grid of a cron expression has the moments at which a clock in the zone shows a time that the
// expression means. Where the clock is put back, and shows an hour twice, an expression with all 24
// hours means both; any other means the first one. Where it is put forward, a time that it skips
// means the moment as long after the change as the time is after the hour that is skipped began, as
// for PostgreSQL; but not for an expression with all hours, which goes on with the time that the
// clock shows.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::schedule {

// What becomes of occurrences whose successor's time comes before a worker takes them.
enum class Missed {
	once, // the next claim takes one of them, for all
	skip, // they are dropped
	all,  // each is done
};

// The grid and the rule of a schedule. Either every or cron is not null.
struct Timing
{
	const Interval *every;
	const char *cron;
	const char *time_zone;
	Missed missed;
};

// Raises 22023 for a zone that is not known, an expression that is none or means no date, or an
// interval that is not positive in each of its parts, or shorter than a second.
void check_timing(const Timing &timing);

// The first moment of a new schedule, after now: of the grid that begins at starts_at; null: one
// interval after now. Raises 22008.
TimestampTz first_moment(const Timing &timing, const TimestampTz *starts_at, TimestampTz now);

// The moment after that one. Raises 22008.
TimestampTz moment_after(const Timing &timing, TimestampTz planned);

// What follows an occurrence that was planned for that moment, and is taken, dropped or cancelled
// now. Raises 22008.
TimestampTz next_moment(const Timing &timing, TimestampTz planned, TimestampTz now);

// Whether an occurrence that was planned for that moment has been missed by now, and is not to be
// done. Raises 22008.
bool is_left_out(const Timing &timing, TimestampTz planned, TimestampTz now);

} // namespace queue_ext::schedule
