// backoff.hpp - how long a failed job waits before it runs again.
//
// Free of PostgreSQL. All times are in microseconds; nothing here can overflow.
//
// The wait doubles with every failure, from base up to cap. Up to half of it is then subtracted at
// random, so that jobs that failed together do not run again together. ("Equal jitter": a job never
// waits less than half of its time.)

#pragma once

#include <cstdint>

namespace queue_ext::queue {

// Returns base * 2^(failures - 1), at most cap. Failures count from 1.
constexpr std::int64_t
backoff_ceiling(std::int64_t base, std::int64_t cap, int failures)
{
	std::int64_t wait = base;
	for (int i = 1; i < failures && wait < cap; i++)
		wait = wait > cap / 2 ? cap : wait * 2;
	return wait < cap ? wait : cap;
}

// Returns the wait after so many failures; fraction is random, in [0, 1).
constexpr std::int64_t
backoff(std::int64_t base, std::int64_t cap, int failures, double fraction)
{
	const std::int64_t ceiling = backoff_ceiling(base, cap, failures);
	const std::int64_t half = ceiling / 2;
	return ceiling - static_cast<std::int64_t>(static_cast<double>(half) * fraction);
}

} // namespace queue_ext::queue
