// ended.cpp - see ended.hpp.

#include "../postgres.hpp"

#include "ended.hpp"

#include "../compat.hpp"
#include "../ring/shared_memory.hpp"
#include "../steady_time.hpp"

namespace queue_ext::wait {

using ring::Wakes;

// How long to sleep at most, where commits say what they have written and where they may not.
constexpr int64 longest_us = USECS_PER_SEC;
constexpr int64 poll_us = USECS_PER_SEC / 10;

// Others' jobs end, too: so many looks come as soon as something is said, the next ones after pauses.
constexpr int most_futile = 4;
constexpr int64 least_pause_us = 1000;
constexpr int64 most_pause_us = INT64CONST(50) * 1000;

// The wakes that count this backend; null: none.
static Wakes *counted = nullptr;

static void
count_in(Wakes *wakes)
{
	if (counted == wakes)
		return;
	if (counted != nullptr)
		pg_atomic_fetch_sub_u32(&counted->awaiting_ends, 1);
	counted = wakes;
	if (wakes != nullptr)
		pg_atomic_fetch_add_u32(&wakes->awaiting_ends, 1);
}

// A FATAL exit runs this, too.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event == XACT_EVENT_ABORT)
		count_in(nullptr);
}

void
register_end_waits()
{
	RegisterXactCallback(on_transaction_end, nullptr);
}

void
before_look(EndWait *wait, Oid table)
{
	count_in(ring::get_wakes(table));
	wait->ended = pg_atomic_read_u32(&counted->ends);
}

static void
sleep_until(int64 until)
{
	constexpr int64 us_per_ms = 1000;
	const int64 ms = (until - steady_now() + us_per_ms - 1) / us_per_ms;
	compat::wait_for_latch(static_cast<long>(Max(ms, 1)));
	CHECK_FOR_INTERRUPTS();
}

// The abort of the transaction takes the backend out of the list, too.
static void
sleep_in_list(const EndWait *wait, int64 until)
{
	ConditionVariablePrepareToSleep(&counted->ending);
	while (steady_now() < until && pg_atomic_read_u32(&counted->ends) == wait->ended)
		sleep_until(until);
	ConditionVariableCancelSleep();
}

bool
sleep(EndWait *wait)
{
	InvalidateCatalogSnapshot();
	if (++wait->futile > most_futile) {
		const int doublings = Min(wait->futile - most_futile, 10);
		const int64 end =
			Min(wait->until, steady_now() + Min(least_pause_us << doublings, most_pause_us));
		while (steady_now() < end)
			sleep_until(end);
	}
	sleep_in_list(
		wait, Min(wait->until, steady_now() + (ring::are_rings_shared() ? longest_us : poll_us)));
	return steady_now() < wait->until;
}

void
end_wait(EndWait *)
{
	count_in(nullptr);
}

} // namespace queue_ext::wait
