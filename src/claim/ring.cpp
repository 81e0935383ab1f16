// ring.cpp - see ring.hpp.

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// A filler that is at it for longer is presumed lost; two at once do no harm.
constexpr int64 filler_patience_us = 100 * 1000;

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

void
reset(Ring *ring, const RingKey &key)
{
	SpinLockAcquire(&ring->mutex);
	ring->key = key;
	clear(ring);
	ring->cursor.size = 0;
	ring->is_at_end = false;
	ring->sweep_due = 0;
	ring->filler = 0;
	ring->filler_until = 0;
	ring->counters = {};
	SpinLockRelease(&ring->mutex);
}

Taken
take(Ring *ring, const RingKey &key, TimestampTz now, int max_places, ItemPointer places,
	 int *count)
{
	Taken taken = Taken::foreign;
	*count = 0;
	with_ring(ring, key, [&] {
		taken = Taken::none;
		if (now >= ring->sweep_due)
			return;
		const int taking = Min(max_places, static_cast<int>(ring->count));
		for (int i = 0; i < taking; i++)
			places[i] = ring->places[(ring->first + i) % ring_size];
		ring->first = (ring->first + taking) % ring_size;
		ring->count -= taking;
		*count = taking;
		if (taking > 0)
			taken = Taken::some;
	});
	return taken;
}

void
put_back(Ring *ring, const RingKey &key, const ItemPointerData *places, int count)
{
	with_ring(ring, key, [&] {
		if (ring->count + count > ring_size)
		{
			ring->sweep_due = 0;
			return;
		}
		for (int i = count - 1; i >= 0; i--)
		{
			ring->first = (ring->first + ring_size - 1) % ring_size;
			ring->places[ring->first] = places[i];
			ring->count++;
		}
	});
}

void
ask_for_sweep(Ring *ring, const RingKey &key)
{
	with_ring(ring, key, [&] { ring->sweep_due = 0; });
}

FillOrder
begin_fill(Ring *ring, const RingKey &key, TimestampTz now)
{
	FillOrder order{};
	with_ring(ring, key, [&] {
		if (ring->filler != 0 && ring->filler != MyProcPid && now < ring->filler_until)
			return;
		ring->filler = MyProcPid;
		ring->filler_until = now + filler_patience_us;
		order.is_mine = true;
		order.is_sweep = ring->is_at_end || now >= ring->sweep_due || ring->cursor.size == 0;
		order.cursor = ring->cursor;
	});
	return order;
}

void
finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const ItemPointerData *places,
			int count, const Cursor &cursor, bool is_complete, TimestampTz began, TimestampTz ended)
{
	with_ring(ring, key, [&] {
		// A sweep has seen what the ring holds, too, in its order.
		clear(ring);
		for (int i = 0; i < count; i++)
			ring->places[i] = places[i];
		ring->count = count;
		ring->cursor = cursor;
		ring->is_at_end = is_complete;
		ring->filler = 0;
		ring->counters.fill_time_us += ended - began;
		if (!order.is_sweep)
		{
			ring->counters.fills++;
			return;
		}
		ring->counters.sweeps++;
		ring->sweep_due =
			ended + Max(least_sweep_interval_us, sweep_interval_factor * (ended - began));
	});
}

void
cancel_fill(Ring *ring, const RingKey &key)
{
	with_ring(ring, key, [&] {
		if (ring->filler == MyProcPid)
			ring->filler = 0;
	});
}

void
add(Ring *ring, const RingKey &key, const RingCounters &more)
{
	with_ring(ring, key, [&] {
		ring->counters.claims += more.claims;
		ring->counters.empty_pops += more.empty_pops;
		ring->counters.locked += more.locked;
		ring->counters.gone += more.gone;
		ring->counters.not_pending += more.not_pending;
	});
}

} // namespace queue_ext::claim
