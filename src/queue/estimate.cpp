// estimate.cpp - see estimate.hpp.

#include "../postgres.hpp"

#include "estimate.hpp"

namespace queue_ext::queue {

using ring::RingView;
using stats::Mark;
using stats::Estimate;
using stats::Since;

// Whether all that is ready stands in the ring, but for what the clock has made so.
static bool
has_all(const RingView *ring)
{
	return ring != nullptr && ring->is_trusted && ring->is_at_end;
}

// Whether jobs of the priority that are not in the ring have not been ready for longer than those that are.
static bool
shows(const RingView *ring, int16 priority)
{
	if (ring == nullptr || !ring->is_trusted)
		return false;
	if (ring->is_at_end)
		return true;
	if (!ring->has_cursor || priority > ring->cursor)
		return false;
	if (priority < ring->cursor)
		return true;
	for (int i = 0; i < ring->heads.count; i++)
		if (ring->heads.marks[i].priority == priority)
			return true;
	return false;
}

// The earliest of all marks.
static Since
earliest(const stats::Marks &marks)
{
	Since since = marks.rest;
	for (int i = 0; i < marks.count; i++)
		since = earlier(since, marks.marks[i].since);
	return since;
}

// The jobs of the ring, which may have left without the ring being told.
static Since
since_of_ring(const Estimate &estimate, const RingView *ring)
{
	if (ring == nullptr)
		return stats::since_never;
	stats::Marks heads = ring->heads;
	doubt(&heads, estimate.left);
	return earliest(heads);
}

// The jobs that commits and fills have noted; for a priority that the ring shows, the ring knows better.
static Since
since_of_marks(const Estimate &estimate, const RingView *ring)
{
	Since since = stats::since_never;
	for (int i = 0; i < estimate.marks.count; i++) {
		const Mark &mark = estimate.marks.marks[i];
		const TimestampTz ready_at =
			shows(ring, mark.priority) ? PG_INT64_MAX : mark.since.ready_at;
		since = earlier(since, {ready_at, mark.since.sure_at, PG_INT64_MAX});
	}
	return earlier(since, {has_all(ring) ? PG_INT64_MAX : estimate.marks.rest.ready_at,
						   estimate.marks.rest.sure_at, PG_INT64_MAX});
}

// The jobs that the clock has made ready. The first scheduled one is there if no claim was committed since.
static Since
since_of_clock(const Estimate &estimate, TimestampTz now)
{
	const bool is_sure =
		estimate.due <= now && estimate.is_due_sure && estimate.claimed_at < estimate.due;
	return {estimate.clock.at <= now ? estimate.clock.at : PG_INT64_MAX,
			is_sure ? estimate.due : PG_INT64_MAX, PG_INT64_MAX};
}

// Whether no job is ready, by the numbers. A lease that has ended still counts as one.
static bool
has_none(const Estimate &estimate, TimestampTz now)
{
	const int64 ready = estimate.unfinished - estimate.leased - estimate.scheduled;
	return estimate.is_counted &&
		   (estimate.unfinished <= 0 || (ready <= 0 && estimate.clock.at > now));
}

Oldest
oldest_ready(const Estimate &estimate, const RingView *ring, TimestampTz now)
{
	const Since since =
		earlier(earlier(since_of_ring(estimate, ring), since_of_marks(estimate, ring)),
				since_of_clock(estimate, now));
	if (since.sure_at == PG_INT64_MAX && has_none(estimate, now))
		return {PG_INT64_MAX, true};
	return {since.sure_at, (estimate.is_whole || has_all(ring)) && since.ready_at >= since.sure_at};
}

// The ring may have more than there are, where jobs have left and it was not notified. Scheduled jobs
// that have become ready since the last look are not among those that are counted.
Ready
count_ready(const Estimate &estimate, const RingView *ring, TimestampTz now)
{
	const bool is_told = estimate.left.times.is_empty();
	const int64 in_ring = ring == nullptr ? 0 : ring->candidates;
	if (has_all(ring) && is_told && estimate.clock.at > now)
		return {true, in_ring, true};
	if (!estimate.is_counted)
		return {ring != nullptr && !ring->has_kinds && !estimate.is_doubted, in_ring, false};
	const int64 counted = Max(0, estimate.unfinished - estimate.leased - estimate.scheduled);
	return {true, is_told ? Max(in_ring, counted) : counted, false};
}

} // namespace queue_ext::queue
