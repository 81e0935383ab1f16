// keep.hpp - how long a queue keeps archived and dead jobs, and the slots of its archive.
//
// An archive that does not keep jobs for ever is partitioned by the column slot into eight slots, which
// are made with it. Time is cut into periods of a sixth of the keep; a job that is archived in a period
// goes to slot (period mod 8). So jobs that are kept are in seven slots, and the eighth has nothing but
// expired ones, and can be truncated, until its turn comes again.
//
// Invariant: the slot is where a row is, and tells nothing of it. After queue_alter() the periods are
// other ones, clocks go back, and owners insert rows: a slot may have rows of any age. So who removes rows
// looks at their finished_at.

#pragma once

#include "../postgres.hpp"

#include "../interval.hpp"

namespace queue_ext::definition {

constexpr int slot_count = 8;
constexpr int periods_per_keep = 6;

// Of an optional argument.
inline Interval
interval_or_zero(const Interval *interval)
{
	return interval == nullptr ? Interval{} : *interval;
}

inline bool
is_for_ever(const Interval &keep)
{
	return to_microseconds(keep) <= 0;
}

// The moment up to which jobs need not be kept any more.
inline TimestampTz
cutoff_of(const Interval &keep, TimestampTz now)
{
	return is_for_ever(keep) ? DT_NOBEGIN : now - to_microseconds(keep);
}

inline int64
period_length(const Interval &keep)
{
	return Max(to_microseconds(keep) / periods_per_keep, 1);
}

// The number of the period; negative before 2000.
inline int64
period_of(const Interval &keep, TimestampTz moment)
{
	const int64 length = period_length(keep);
	return moment / length - (moment % length < 0);
}

// The slot for jobs that are archived at that moment; the first where they are kept for ever.
inline int16
slot_of(const Interval &keep, TimestampTz moment)
{
	if (is_for_ever(keep))
		return 0;
	return static_cast<int16>((period_of(keep, moment) % slot_count + slot_count) % slot_count);
}

} // namespace queue_ext::definition
