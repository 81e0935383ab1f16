// counts.hpp - the counters and histograms of a queue.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::stats {

// What has become of jobs.
enum class Counter {
	sent,
	claimed,
	completed,
	failed,
	retried,   // of the failed: those that are tried again
	dead,      // of the failed: those that are not
	moved,     // to the dead queue
	unstarted, // expired before a worker has started them
	released,
	cancelled,
	expired,    // claimed again after the end of a lease
	duplicates, // not inserted, as an equal job was there
	waits,      // calls that had to wait for a job
};
constexpr int counter_count = static_cast<int>(Counter::waits) + 1;

// The upper ends of the buckets, in microseconds: those that OpenTelemetry's semantic conventions for
// messaging give to the durations of operations. The last bucket has no end.
constexpr int64 bucket_ends_us[] = {5000,   10000,  25000,   50000,   75000,   100000,  250000,
									500000, 750000, 1000000, 2500000, 5000000, 7500000, 10000000};
constexpr int bucket_count = static_cast<int>(lengthof(bucket_ends_us)) + 1;

// How long something has taken how often; a bucket does not count those of the buckets before it.
struct Histogram
{
	int64 jobs[bucket_count];
	int64 total_us;
};

// A queue's counters and histograms, or what a transaction adds to them.
struct Counts
{
	int64 counters[counter_count];
	Histogram waiting; // from when a job was ready to its claim
	Histogram running; // from its claim to its completion or failure

	int64 get(Counter counter) const
	{
		return counters[static_cast<int>(counter)];
	}
	void add(Counter counter, int64 count)
	{
		counters[static_cast<int>(counter)] += count;
	}
};

// Adds a duration. A clock that was set back makes none of it.
inline void
add_duration(Histogram *histogram, int64 us)
{
	us = Max(us, 0);
	int bucket = 0;
	while (bucket < bucket_count - 1 && us > bucket_ends_us[bucket])
		bucket++;
	histogram->jobs[bucket]++;
	// A job may have been ready for as long as a timestamp can tell.
	if (pg_add_s64_overflow(histogram->total_us, us, &histogram->total_us))
		histogram->total_us = PG_INT64_MAX;
}

inline void
add_histogram(Histogram *histogram, const Histogram &more)
{
	for (int i = 0; i < bucket_count; i++)
		histogram->jobs[i] += more.jobs[i];
	if (pg_add_s64_overflow(histogram->total_us, more.total_us, &histogram->total_us))
		histogram->total_us = PG_INT64_MAX;
}

inline void
add_counts(Counts *counts, const Counts &more)
{
	for (int i = 0; i < counter_count; i++)
		counts->counters[i] += more.counters[i];
	add_histogram(&counts->waiting, more.waiting);
	add_histogram(&counts->running, more.running);
}

} // namespace queue_ext::stats
