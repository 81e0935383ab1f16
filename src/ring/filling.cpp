// filling.cpp - see filling.hpp.

#include "../postgres.hpp"

#include "filling.hpp"

#include "locked.hpp"
#include "sorted_order.hpp"
#include "sweep_clock.hpp"

namespace queue_ext::ring {

// One wait for the filler, and the bounds of all waits for one fill (most_waits_for()).
constexpr long wait_ms = 10;
constexpr int64 least_patience_us = INT64CONST(20) * 1000;
constexpr int64 most_patience_us = 10 * USECS_PER_SEC;
constexpr int most_doublings = 10;

// The number of waits in vain after which the fill is taken over: twice the time that the last such
// read took, within bounds. It doubles with each takeover, as a filler that is only slow would
// become slower with many reading beside it.
static int
most_waits_for(const Ring *ring)
{
	constexpr int64 us_per_ms = 1000;
	const int64 cost =
		ring->fill.is_sweep ? ring->sweep.cost_us + ring->due_question.cost_us : ring->fill.cost_us;
	const int64 patience = Max(2 * Min(cost, most_patience_us), least_patience_us);
	const int doublings = Max(0, Min(ring->fill.takeovers, most_doublings));
	return static_cast<int>(Min(patience << doublings, most_patience_us) / (wait_ms * us_per_ms));
}

// A request that comes after a sweep's beginning outlasts its end, since its snapshot may not show those
// rows: so requests are reset here, and not in finish_fill().
FillOrder
begin_fill(Ring *ring, const RingKey &key, TimestampTz now, const Generations &generations,
		   int64 lost)
{
	FillOrder order{};
	with_ring(ring, key, [&] {
		order.filler = ring->fill.filler;
		order.generation = ring->fill.generation;
		order.most_waits = most_waits_for(ring);
		order.takeovers = ring->fill.takeovers;
		if (ring->fill.filler != 0 && ring->fill.generation != lost)
			return;
		if (ring->fill.filler != 0) { // read again what the lost filler was to read
			request_sweep(ring);
			ring->fill.takeovers++;
		}
		order.is_sweep = ring->reading.is_at_end || ring->reading.cursor.size == 0 ||
						 must_sweep(ring, now, generations);
		order.is_needless = !order.is_sweep && ring->candidates.count > low_water;
		if (order.is_needless)
			return;
		ring->fill.filler = MyProcPid;
		ring->fill.has_dropped = false;
		order.generation = ++ring->fill.generation;
		order.is_mine = true;
		ring->fill.is_sweep = order.is_sweep;
		// This sweep may not see the rows of a request that comes from here on.
		if (order.is_sweep) {
			ring->sweep.due = PG_INT64_MAX;
			order.now = now;
			ring->sweep.row_due_before = Min(ring->sweep.row_due_before, ring->sweep.row_due);
			ring->sweep.row_due = PG_INT64_MAX;
			ring->idleness.is_sure = false;
			ring->flight.has_locked = false;
			ring->sweep.has_passed = false;
			ring->sweep.wake_generation = current_of(generations);
			ring->sweep.generation++;
			ring->flight.count = 0; // the sweep reads these rows, too
			ring->flight.claims_before = ring->counters.claims;
			ring->flight.gone_before = ring->counters.gone;
		}
		order.cursor = ring->reading.cursor;
	});
	return order;
}

// Adds what was read to a ring that is not sorted.
static void
append(Ring *ring, const FillOrder &order, const Fill &fill)
{
	// A sweep has read the ring's candidates again.
	if (order.is_sweep)
		clear(ring);
	const int count = Min(fill.count, ring_size - static_cast<int>(ring->candidates.count));
	for (int i = 0; i < count; i++)
		*at(ring, ring->candidates.count + i) = fill.candidates[i];
	ring->candidates.count += count;
	if (count < fill.count) // the cursor has passed what does not fit
		request_sweep(ring);
}

// Broadcasts in any case: a waiter of a fill that was lost may look again, too.
bool
finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const Fill &fill, int *added)
{
	bool is_lost = true;
	with_ring(ring, key, [&] {
		if (fill.ask_due_cost_us != 0)
			ring->due_question.cost_us = fill.ask_due_cost_us;
		if (ring->fill.generation != order.generation)
			return;
		is_lost = false;
		const int count_before = order.is_sweep ? 0 : static_cast<int>(ring->candidates.count);
		ring->flight.changes++;
		ring->fill.filler = 0;
		ring->reading.is_at_end = fill.is_complete;
		ring->reading.reads_again = fill.reads_again;
		if (fill.count > 0 || fill.cursor.size > 0)
			ring->reading.cursor = fill.cursor;
		if (key.is_sorted) {
			merge_fill(ring, fill.candidates, fill.count);
			step_back(ring);
		} else
			append(ring, order, fill);
		*added = static_cast<int>(ring->candidates.count) - count_before;
		announce_rest(ring, 1);
		// The clock may have been set back.
		const int64 cost = Max(fill.ended - fill.began - fill.ask_due_cost_us, 0);
		ring->fill.takeovers = 0;
		ring->counters.fill_time_us += cost;
		if (!order.is_sweep) {
			ring->counters.fills++;
			ring->fill.cost_us = cost;
			return;
		}
		ring->counters.sweeps++;
		ring->due_question.read_us += cost;
		if (fill.knows_due)
			ring->sweep.row_due = Min(ring->sweep.row_due, fill.next_due);
		else if (ring->sweep.row_due_before > order.now)
			ring->sweep.row_due = Min(ring->sweep.row_due, ring->sweep.row_due_before);
		ring->sweep.row_due_before = PG_INT64_MAX;
		ring->idleness.is_told = fill.is_told;
		ring->idleness.nothing_at = fill.count == 0 ? fill.nothing_at : 0;
		ring->sweep.ended_at = fill.ended;
		ring->sweep.cost_us = cost;
		if (ring->sweep.due == 0) // requested since it began
			return;
		ring->sweep.due = next_sweep(ring);
		// What it has read stands in the ring; a row that fell due meanwhile is among those to come.
		if (fill.quiet_until > fill.ended) {
			ring->idleness.is_sure = true;
			ring->idleness.quiet_until = Min(fill.quiet_until, fill.ended + most_sweep_interval_us);
		}
		announce_time(ring, next_event(ring));
	});
	ConditionVariableBroadcast(&ring->fill.ended);
	return !is_lost;
}

// Requests a sweep, since begin_fill() may have reset the request that this fill was to serve.
void
cancel_fill(Ring *ring, const RingKey &key, const FillOrder &order)
{
	with_ring(ring, key, [&] {
		if (ring->fill.generation != order.generation)
			return;
		ring->fill.filler = 0;
		ring->sweep.row_due = Min(ring->sweep.row_due, ring->sweep.row_due_before);
		ring->sweep.row_due_before = PG_INT64_MAX;
		request_sweep(ring);
	});
	ConditionVariableBroadcast(&ring->fill.ended);
}

// Tests the ring after joining the waiters, as a broadcast before that would be missed.
bool
wait_for_fill(Ring *ring, const RingKey &key, const FillOrder &order)
{
	const auto is_under_way = [&] {
		bool is_it = false;
		with_ring(ring, key, [&] {
			is_it = ring->fill.filler != 0 && ring->fill.generation == order.generation;
		});
		return is_it;
	};
	ConditionVariablePrepareToSleep(&ring->fill.ended);
	bool is_in_vain = false;
	if (is_under_way()) {
		ConditionVariableTimedSleep(&ring->fill.ended, wait_ms, PG_WAIT_EXTENSION);
		is_in_vain = is_under_way();
	}
	ConditionVariableCancelSleep();
	return !is_in_vain;
}

} // namespace queue_ext::ring
