// locked.hpp - stays under a ring's spinlock, for the sources that make them.
//
// Invariant: backends that wait (waiters.hpp) are announced jobs by whatever makes jobs claimable,
// in the same stay under the spinlock, and are woken when it is over.

#pragma once

#include "../postgres.hpp"

#include "due_rows.hpp"
#include "probe.hpp"
#include "state.hpp"

namespace queue_ext::ring {

// The candidate at that index from the first, wrapping around: never outside the array, whatever
// the bytes say.
inline Candidate *
at(Candidates *candidates, uint32 index)
{
	return &candidates->elements[(candidates->first + index) % ring_size];
}

inline Candidate *
at(Ring *ring, uint32 index)
{
	return at(&ring->candidates, index);
}

// Leaves the cursor alone: a caller that loses candidates by this must request a sweep.
inline void
clear(Ring *ring)
{
	ring->candidates.first = 0;
	ring->candidates.count = 0;
}

// So many rows may have become claimable: as many of the backends that wait are woken when the
// spinlock is released.
inline void
announce(Ring *ring, int count)
{
	Waiters *waiters = &ring->waiters;
	waiters->news++;
	waiters->announced = Min(waiters->announced + count, waiters->count);
}

// Has the backend that keeps time look again, unless its timer ends by then.
inline void
announce_time(Ring *ring, TimestampTz due)
{
	ring->waiters.is_late |= ring->waiters.count > 0 && due < ring->waiters.look_at;
}

// A sweep under way keeps the request: finish_fill() leaves sweep.due at 0 then.
inline void
request_sweep(Ring *ring)
{
	ring->sweep.due = 0;
	ring->idleness.is_sure = false;
	announce(ring, 1); // at least
}

// Takes out the waiters that were announced something. Returns false if there are more than can
// be woken at once.
inline bool
end_stay(Ring *ring, Woken *woken)
{
	woken->count = 0;
	if (ring->waiters.announced <= 0 && !ring->waiters.is_late)
		return true;
	const bool is_all = take_announced(&ring->waiters, woken);
	ring->counters.wakes += woken->count;
	return is_all;
}

// Wakes them, and those for whom there was no room.
inline void
wake_all(Ring *ring, Woken *woken, bool is_all)
{
	wake(*woken);
	while (!is_all) {
		SpinLockAcquire(&ring->mutex);
		is_all = end_stay(ring, woken);
		SpinLockRelease(&ring->mutex);
		wake(*woken);
	}
}

// Runs body under the spinlock if the ring is of the key, and returns whether it is; then wakes
// the waiters for what body has announced. Body must not raise, wait or take another lock.
// section: the caller's name (probe.hpp).
template <typename Body>
bool
with_ring(Ring *ring, const RingKey &key, Body &&body, const char *section = __builtin_FUNCTION())
{
	SpinLockAcquire(&ring->mutex);
	const uint64 begun = now();
	const bool is_ours = ring->key == key;
	// The bytes are not trusted: keep what body indexes by within bounds.
	if (ring->candidates.first >= ring_size || ring->candidates.count > ring_size) {
		clear(ring);
		request_sweep(ring);
	}
	if (!is_sound(ring->due_rows)) {
		clear(&ring->due_rows);
		request_sweep(ring);
	}
	if (is_ours)
		body();
	Woken woken;
	const bool is_all = end_stay(ring, &woken);
	const uint64 ended = now();
	SpinLockRelease(&ring->mutex);
	add_stay(section, ended - begun);
	if (woken.count > 0)
		wake_all(ring, &woken, is_all);
	return is_ours;
}

// Whether the ring is quiet, as long as that is believed, and but for rows that are due.
inline bool
may_be_quiet(const Ring *ring)
{
	return ring->idleness.is_sure && ring->reading.is_at_end;
}

// The earliest time known at which a row becomes claimable.
inline TimestampTz
next_due(const Ring *ring)
{
	return Min(ring->sweep.row_due, first_due(ring->due_rows));
}

// Whether a row may be claimable that the last sweep did not see: a sweep is requested, the
// earliest known time has come, or the table's wake-up generation has moved.
inline bool
is_row_due(const Ring *ring, TimestampTz now, uint32 wake_generation)
{
	return ring->sweep.due == 0 || now >= next_due(ring) ||
		   wake_generation != ring->sweep.wake_generation;
}

// The longest time between sweeps, whatever they cost.
constexpr int64 most_sweep_interval_us = 60 * USECS_PER_SEC;

// Also when the sweep interval is over, as rows become claimable without a wake-up, too; and when the
// clock has been set back since it began, which would put the sweep off by as much.
inline bool
is_sweep_due(const Ring *ring, TimestampTz now, uint32 wake_generation)
{
	return now >= ring->sweep.due || is_row_due(ring, now, wake_generation) ||
		   (ring->sweep.due != PG_INT64_MAX && ring->sweep.due - now > 2 * most_sweep_interval_us);
}

// Whether all that is claimable before the cursor is in the ring, or in flight: since the last sweep the ring has been
// notified of all that became claimable. Not if the clock has been set back since.
inline bool
is_sure(const Ring *ring, TimestampTz now, uint32 wake_generation)
{
	return ring->idleness.is_sure && now < ring->idleness.quiet_until &&
		   ring->idleness.quiet_until - now <= 2 * most_sweep_interval_us &&
		   !is_row_due(ring, now, wake_generation);
}

// Whether all that is claimable is so.
inline bool
is_quiet(const Ring *ring, TimestampTz now, uint32 wake_generation)
{
	return ring->reading.is_at_end && ring->fill.filler == 0 && is_sure(ring, now, wake_generation);
}

// Whether a sorted ring is to hold a claimable row of that sort key. Rows behind the cursor are
// left to the fills.
inline bool
covers(const Ring *ring, const SortKey &sort_key)
{
	return ring->reading.is_at_end ||
		   (ring->reading.cursor.size > 0 && !(ring->reading.cursor.sort_key < sort_key));
}

// How many of the first count candidates may be taken. During a fill a sorted ring may hold offers
// behind the cursor, and lack what comes before them.
inline int
takeable(Ring *ring, int count)
{
	count = Min(count, static_cast<int>(ring->candidates.count));
	if (!ring->key.is_sorted)
		return count;
	while (count > 0 && !covers(ring, at(ring, count - 1)->sort_key()))
		count--;
	return count;
}

// Announces the candidates that are there, but for so many that the caller is about to take, and for
// those for which others have been woken. No news for a backend that has looked since they came.
inline void
announce_rest(Ring *ring, int taken)
{
	Waiters *waiters = &ring->waiters;
	if (waiters->count == 0 || ring->sweep.due == 0)
		return;
	const int rest = takeable(ring, static_cast<int>(ring->candidates.count)) - taken -
					 waiters->claiming - waiters->credits;
	waiters->announced = Min(waiters->announced + Max(rest, 0), waiters->count);
}

// When a row may become claimable without an announcement: at the known times; and at the end of the
// quiet time, or else at the next sweep.
inline TimestampTz
next_event(const Ring *ring)
{
	return Min(next_due(ring), may_be_quiet(ring) ? ring->idleness.quiet_until : ring->sweep.due);
}

} // namespace queue_ext::ring
