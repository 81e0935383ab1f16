// due_rows.hpp - the rows of a ring that become claimable by the clock alone: a lease ends, or the time comes for which
// a job was sent.
//
// Invariant: they stand in the order of their times. One for which there is no room costs a sweep at its time,
// which its caller is told. A row may have changed since, so that it is looked at before it becomes a candidate
// (claim/news.hpp), and the bytes are not trusted: indexes are kept within bounds on each access.
//
// Everything here runs under the ring's spinlock, allocates nothing and never raises.

#pragma once

#include "../postgres.hpp"

#include "gap.hpp"
#include "sorted_run.hpp"
#include "state.hpp"

namespace queue_ext::ring {

inline bool
is_sound(const DueRows &rows)
{
	return rows.first < due_size && rows.count <= due_size;
}

inline void
clear(DueRows *rows)
{
	rows->first = 0;
	rows->count = 0;
}

inline const DueRow &
at(const DueRows &rows, uint32 index)
{
	return rows.rows[(rows.first + index) % due_size];
}

inline DueRow *
at(DueRows *rows, uint32 index)
{
	return &rows->rows[(rows->first + index) % due_size];
}

// PG_INT64_MAX: there is none.
inline TimestampTz
first_due(const DueRows &rows)
{
	return rows.count == 0 ? PG_INT64_MAX : at(rows, 0).due;
}

// How many are due at that time, or earlier.
inline uint32
count_until(const DueRows &rows, TimestampTz due)
{
	return find_first(0U, rows.count, [&](uint32 i) { return at(rows, i).due <= due; });
}

// Enters a row that is due at a known time. Returns the time of the one that had to go, or of this one;
// PG_INT64_MAX: there was room.
inline TimestampTz
enter(DueRows *rows, const DueRow &row)
{
	const uint32 index = count_until(*rows, row.due);
	const bool is_full = rows->count == due_size;
	if (is_full && index == rows->count)
		return row.due;
	for (uint32 i = index; i > 0 && at(*rows, i - 1).due == row.due; i--)
		if (at(*rows, i - 1).candidate.is_same_as(row.candidate)) {
			at(rows, i - 1)->candidate = row.candidate;
			return PG_INT64_MAX;
		}
	const TimestampTz lost = is_full ? at(*rows, --rows->count).due : PG_INT64_MAX;
	open_gap<due_size>(rows, index);
	*at(rows, index) = row;
	return lost;
}

// Takes the first one. There must be one.
inline DueRow
take_first(DueRows *rows)
{
	const DueRow row = at(*rows, 0);
	rows->first = (rows->first + 1) % due_size;
	rows->count--;
	return row;
}

} // namespace queue_ext::ring
