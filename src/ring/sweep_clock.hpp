// sweep_clock.hpp - when a ring is to be read from the head again, for the sources that ask under its spinlock.

#pragma once

#include "../postgres.hpp"

#include "locked.hpp"

namespace queue_ext::ring {

// The least time between sweeps, if the factor says no more; and where the ring is notified of every write, and no
// candidate was tried in vain.
constexpr int64 least_sweep_interval_us = INT64CONST(100) * 1000;
constexpr int64 least_told_interval_us = USECS_PER_SEC;

inline uint32
current_of(const Generations &generations)
{
	return generations.current == nullptr ? 0 : pg_atomic_read_u32(generations.current);
}

// The generation to compare with the ring's: its own, if it knows enough.
inline uint32
asked_generation(const Ring *ring, TimestampTz now, const Generations &generations)
{
	const bool is_known =
		static_cast<int32>(ring->sweep.wake_generation - generations.least) >= 0 ||
		(generations.may_lag && ring->sweep.due != 0 && now < ring->sweep.due);
	return is_known ? ring->sweep.wake_generation : current_of(generations);
}

inline bool
must_sweep(const Ring *ring, TimestampTz now, const Generations &generations)
{
	const uint32 asked = asked_generation(ring, now, generations);
	return !is_sure(ring, now, asked) && is_sweep_due(ring, now, asked);
}

// When the next sweep is due: so that sweeps take about a twentieth of the time, within bounds.
inline TimestampTz
next_sweep(const Ring *ring)
{
	const bool is_told = ring->idleness.is_told && !ring->sweep.has_passed;
	const int64 least = is_told ? least_told_interval_us : least_sweep_interval_us;
	const int64 interval = sweep_interval_factor * ring->sweep.cost_us;
	return ring->sweep.ended_at + Min(Max(interval, least), most_sweep_interval_us);
}

} // namespace queue_ext::ring
