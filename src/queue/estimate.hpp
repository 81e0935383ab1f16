// estimate.hpp - a managed queue's ready jobs, without a look at its table: by what commits have noted
// (stats/transaction_counters.hpp), what fills have read (stats/look.hpp), and the ring.

#pragma once

#include "../postgres.hpp"

#include "../ring/view.hpp"
#include "../stats/shared_table.hpp"

namespace queue_ext::queue {

// Since when a ready job has been so, which is surely there; PG_INT64_MAX: none is known.
struct Oldest
{
	TimestampTz at;
	bool is_exact; // no other has been ready for longer; or there is none
};

// How many jobs are ready.
struct Ready
{
	bool is_known;
	int64 jobs;
	bool is_exact;
};

// ring: null if the queue has none that is sorted. Never raise.
Oldest oldest_ready(const stats::Estimate &estimate, const ring::RingView *ring, TimestampTz now);
Ready count_ready(const stats::Estimate &estimate, const ring::RingView *ring, TimestampTz now);

// Whether the number of scheduled jobs is known.
inline bool
knows_scheduled(const stats::Estimate &estimate, TimestampTz now)
{
	return estimate.is_counted && estimate.due > now;
}

} // namespace queue_ext::queue
