// ring.cpp - see ring.hpp.

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// Between sweeps lies at least this, and so many times what the last one took.
constexpr int64 least_sweep_interval_us = 100 * 1000;
constexpr int64 sweep_interval_factor = 20;

// Runs body with the spinlock held if the ring is of the key. False if it is not.
template <typename Body>
static bool
with_ring(Ring *ring, const RingKey &key, Body &&body)
{
	SpinLockAcquire(&ring->mutex);
	const bool is_ours = ring->key == key;
	if (is_ours)
		body();
	SpinLockRelease(&ring->mutex);
	return is_ours;
}

static void
clear(Ring *ring)
{
	ring->first = 0;
	ring->count = 0;
}

static bool
is_sweep_due(const Ring *ring, TimestampTz now)
{
	return now >= ring->sweep_due || now >= ring->lease_due;
}

void
reset(Ring *ring, const RingKey &key)
{
	SpinLockAcquire(&ring->mutex);
	ring->key = key;
	clear(ring);
	ring->cursor.size = 0;
	ring->is_at_end = false;
	ring->sweep_due = 0;
	ring->lease_due = PG_INT64_MAX;
	ring->filler = 0;
	ring->counters = {};
	SpinLockRelease(&ring->mutex);
}

bool
is_of(Ring *ring, const RingKey &key)
{
	return with_ring(ring, key, [] {});
}

Taken
take(Ring *ring, const RingKey &key, TimestampTz now, int max_places, ItemPointer places)
{
	Taken taken{0, 0, true, false};
	taken.is_foreign = !with_ring(ring, key, [&] {
		ring->used_at = now;
		if (is_sweep_due(ring, now))
			return;
		taken.count = Min(max_places, static_cast<int>(ring->count));
		for (int i = 0; i < taken.count; i++)
			places[i] = ring->places[(ring->first + i) % ring_size];
		ring->first = (ring->first + taken.count) % ring_size;
		ring->count -= taken.count;
		if (taken.count > 0)
			taken.number = ++ring->change_number;
		taken.is_low = ring->count <= low_water && !ring->is_at_end && ring->filler == 0;
	});
	return taken;
}

void
put_back(Ring *ring, const RingKey &key, const ItemPointerData *places, int count, uint32 number)
{
	with_ring(ring, key, [&] {
		if (count > 0 && ring->change_number != number) {
			ring->sweep_due = 0;
			return;
		}
		const int room = ring_size - static_cast<int>(ring->count);
		if (count > room)
			ring->sweep_due = 0;
		for (int i = Min(count, room) - 1; i >= 0; i--) {
			ring->first = (ring->first + ring_size - 1) % ring_size;
			ring->places[ring->first] = places[i];
			ring->count++;
		}
		ring->change_number++;
	});
}

void
ask_for_sweep(Ring *ring, const RingKey &key)
{
	with_ring(ring, key, [&] { ring->sweep_due = 0; });
}

void
ask_for_sweep_before(Ring *ring, const RingKey &key, int32 priority, TimestampTz run_at)
{
	with_ring(ring, key, [&] {
		const Cursor &cursor = ring->cursor;
		// A fill that is under way has set out before this.
		if (ring->filler != 0 || cursor.size == 0 || priority < cursor.priority ||
			(priority == cursor.priority && run_at <= cursor.run_at))
			ring->sweep_due = 0;
	});
}

void
expect(Ring *ring, const RingKey &key, TimestampTz due)
{
	with_ring(ring, key, [&] { ring->lease_due = Min(ring->lease_due, due); });
}

FillOrder
begin_fill(Ring *ring, const RingKey &key, TimestampTz now, int32 lost)
{
	FillOrder order{};
	with_ring(ring, key, [&] {
		order.filler = ring->filler;
		if (ring->filler != 0 && ring->filler != lost)
			return;
		if (ring->filler != 0) // whatever it was to read is to be read again
			ring->sweep_due = 0;
		ring->filler = MyProcPid;
		order.number = ++ring->fill_number;
		order.is_mine = true;
		order.is_sweep = ring->is_at_end || is_sweep_due(ring, now) || ring->cursor.size == 0;
		// What is asked for from here on has not been seen by this sweep.
		if (order.is_sweep) {
			ring->sweep_due = PG_INT64_MAX;
			ring->lease_due = PG_INT64_MAX;
		}
		order.cursor = ring->cursor;
	});
	return order;
}

void
finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const Fill &fill)
{
	with_ring(ring, key, [&] {
		if (ring->fill_number != order.number)
			return;
		ring->change_number++;
		// A sweep has seen what the ring holds, too, in its order.
		if (order.is_sweep)
			clear(ring);
		const int count = Min(fill.count, ring_size - static_cast<int>(ring->count));
		for (int i = 0; i < count; i++)
			ring->places[(ring->first + ring->count + i) % ring_size] = fill.places[i];
		ring->count += count;
		if (count < fill.count) // what does not fit is behind the cursor
			ring->sweep_due = 0;
		if (fill.count > 0)
			ring->cursor = fill.cursor;
		ring->is_at_end = fill.is_complete;
		ring->filler = 0;
		ring->counters.fill_time_us += fill.ended - fill.began;
		if (!order.is_sweep) {
			ring->counters.fills++;
			return;
		}
		ring->counters.sweeps++;
		if (ring->sweep_due != 0)
			ring->sweep_due = fill.ended + Max(least_sweep_interval_us,
											   sweep_interval_factor * (fill.ended - fill.began));
	});
	ConditionVariableBroadcast(&ring->filled);
}

void
cancel_fill(Ring *ring, const RingKey &key, const FillOrder &order)
{
	with_ring(ring, key, [&] {
		if (ring->fill_number != order.number)
			return;
		ring->filler = 0;
		ring->sweep_due = 0;
	});
	ConditionVariableBroadcast(&ring->filled);
}

void
wait_for_fill(Ring *ring, const RingKey &key)
{
	constexpr long patience_ms = 10;
	bool is_under_way = false;
	ConditionVariablePrepareToSleep(&ring->filled);
	with_ring(ring, key, [&] { is_under_way = ring->filler != 0; });
	if (is_under_way)
		ConditionVariableTimedSleep(&ring->filled, patience_ms, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
}

void
add(Ring *ring, const RingKey &key, const RingCounters &more, TimestampTz leased_until)
{
	with_ring(ring, key, [&] {
		if (more.claims > 0)
			ring->lease_due = Min(ring->lease_due, leased_until);
		ring->counters.claims += more.claims;
		ring->counters.empty_pops += more.empty_pops;
		ring->counters.locked += more.locked;
		ring->counters.gone += more.gone;
		ring->counters.not_pending += more.not_pending;
	});
}

} // namespace queue_ext::claim
