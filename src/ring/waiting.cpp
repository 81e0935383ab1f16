// waiting.cpp - see waiting.hpp.

#include "../postgres.hpp"

#include "waiting.hpp"

#include "../steady_time.hpp"
#include "locked.hpp"

namespace queue_ext::ring {

// A backend that was woken keeps others from a job that is ready for two ticks at most; and where no
// client comes of however many, all are woken after four.
constexpr int64 tick_us = INT64CONST(25) * 1000;
// The least time between looks where changes are not announced.
constexpr int64 least_look_us = INT64CONST(100) * 1000;
// The least time to sleep for a known moment, since timers are as coarse as that.
constexpr int64 least_sleep_us = 1000;
// How often the last one looks whether the queue is still there.
constexpr int64 longest_sleep_us = 2 * USECS_PER_SEC;

bool
take_ticket(Ring *ring, const RingKey &key, pg_atomic_uint32 *generation, Ticket *ticket)
{
	ticket->ring = ring;
	ticket->key = key;
	ticket->generation = generation;
	ticket->wake_generation = pg_atomic_read_u32(generation);
	ticket->looked_at = GetCurrentTimestamp();
	return with_ring(ring, key, [&] { ticket->news = ring->waiters.news; });
}

Stock
stock_of(Ring *ring, const RingKey &key, TimestampTz now, pg_atomic_uint32 *generation)
{
	Stock stock = Stock::none;
	with_ring(ring, key, [&] {
		const uint32 wake_generation = pg_atomic_read_u32(generation);
		const bool is_due = is_sweep_due(ring, now, wake_generation);
		const int count = takeable(ring, static_cast<int>(ring->candidates.count));
		if (is_due && !is_sure(ring, now, wake_generation))
			stock = Stock::unknown;
		else if (count > 0)
			stock = Stock::some;
		else
			stock =
				ring->reading.is_at_end && ring->fill.filler == 0 ? Stock::none : Stock::unknown;
	});
	return stock;
}

static bool
has_news(const Ticket &ticket)
{
	return ticket.ring->waiters.news != ticket.news ||
		   pg_atomic_read_u32(ticket.generation) != ticket.wake_generation;
}

// Whether jobs stand ready for backends that were woken, and may not come.
static bool
needs_tick(Ring *ring)
{
	return ring->waiters.credits > 0 || (ring->candidates.count > 0 && ring->sweep.due != 0);
}

// Has others woken in place of those that were woken before the last tick, and have not been heard of:
// first as many as there are jobs for, then ever more, as their clients may be gone, too. A backend
// that is on its way to a candidate may be stopped, or be reading the queue for long, so it counts no
// longer, either. False if there are no candidates to wake others for.
static bool
replace_lapsed(Ring *ring)
{
	constexpr int bits_a_lapse = 4;
	constexpr int most_lapses = 4;
	Waiters *waiters = &ring->waiters;
	waiters->credits = waiters->new_credits;
	waiters->new_credits = 0;
	waiters->claiming = 0;
	const int count = takeable(ring, static_cast<int>(ring->candidates.count));
	const int rest = count - waiters->credits;
	if (rest <= 0 || ring->sweep.due == 0)
		return false;
	announce(ring, Max(rest, 1 << (bits_a_lapse * waiters->lapses)));
	waiters->lapses = Min(waiters->lapses + 1, most_lapses);
	return true;
}

// Those that were woken and return to their clients are heard of by pops, of whomever.
static void
hear(Waiters *waiters)
{
	waiters->credits = Max(waiters->credits - 1, 0);
	waiters->new_credits = Min(waiters->new_credits, waiters->credits);
	waiters->lapses = 0;
}

// When the last one is to look at the table again.
static TimestampTz
next_look(const Ring *ring, TimestampTz looked_at)
{
	TimestampTz look = looked_at + least_look_us;
	if (may_be_quiet(ring))
		look = ring->idleness.quiet_until;
	else if (ring->sweep.due != PG_INT64_MAX) // else one is under way, and announces what it finds
		look = Max(look, ring->sweep.due);
	return Max(Min(look, next_due(ring)), looked_at + least_sleep_us);
}

// The turn of the one that keeps time. What one before it has left to look at, it leaves to that one
// for a while.
static Turn
keep_time(Ring *ring, const Ticket &ticket, bool is_new, int64 *until)
{
	Waiters *waiters = &ring->waiters;
	const TimestampTz now = GetCurrentTimestamp();
	const TimestampTz left_at =
		waiters->left_at <= now ? waiters->left_at : 0; // else the clock was set back
	const TimestampTz look = next_look(ring, Max(ticket.looked_at, left_at));
	// If now is before the last look, the clock was set back, too.
	if (now >= look || now < ticket.looked_at) {
		waiters->left_at = now;
		return Turn::look;
	}
	if (!is_new && waiters->is_ticking && now >= waiters->look_at) {
		// Those woken during the last tick get another.
		const bool has_lapsed =
			waiters->credits > waiters->new_credits || (waiters->credits == 0 && needs_tick(ring));
		if (has_lapsed && !replace_lapsed(ring))
			return Turn::look;
		waiters->new_credits = 0;
	}
	waiters->is_ticking = needs_tick(ring);
	waiters->look_at = Min(look, now + (waiters->is_ticking ? tick_us : longest_sleep_us));
	*until = Min(*until, steady_now() + (waiters->look_at - now));
	return Turn::sleep;
}

// The backend is in the list when it reads the wake-up generation: who raises that afterwards finds
// it there.
Turn
next_turn(const Ticket &ticket, bool is_claiming, bool is_new, int64 *until)
{
	Ring *ring = ticket.ring;
	Turn turn = Turn::elsewhere;
	with_ring(ring, ticket.key, [&] {
		Waiters *waiters = &ring->waiters;
		if (is_new && !enter(waiters, ticket.entry, is_claiming, ticket.is_one_of_several))
			return;
		if (!is_in_list(ticket.entry)) {
			turn = Turn::go;
			return;
		}
		turn = Turn::sleep;
		if (is_new && has_news(ticket))
			turn = Turn::look;
		else if (is_last(waiters, ticket.entry))
			turn = keep_time(ring, ticket, is_new, until);
		if (turn == Turn::look)
			leave(waiters, ticket.entry);
	});
	return turn;
}

bool
leave_list(const Ticket &ticket)
{
	bool was_chosen = false;
	with_ring(ticket.ring, ticket.key, [&] {
		was_chosen = !is_in_list(ticket.entry);
		if (!was_chosen)
			leave(&ticket.ring->waiters, ticket.entry);
	});
	return was_chosen;
}

void
answer(const Ticket &ticket, bool is_claiming, Answer given)
{
	with_ring(ticket.ring, ticket.key, [&] {
		Waiters *waiters = &ticket.ring->waiters;
		if (is_claiming)
			waiters->claiming = Max(waiters->claiming - 1, 0);
		else
			hear(waiters);
		if (given == Answer::none)
			announce(ticket.ring, 1);
		if (given == Answer::found)
			announce_rest(ticket.ring, 0);
	});
}

void
note_pop(Ring *ring, const RingKey &key, bool has_claimed)
{
	// Read without the spinlock: who comes to wait now looks for itself.
	if (ring->waiters.credits == 0 && ring->waiters.count == 0)
		return;
	with_ring(ring, key, [&] {
		hear(&ring->waiters);
		if (has_claimed)
			announce_rest(ring, 0);
	});
}

// Under the spinlock, if the ring is of that table.
template <typename Body>
static void
if_of_table(Ring *ring, Oid database, Oid table, Body &&body)
{
	SpinLockAcquire(&ring->mutex);
	const RingKey key = ring->key;
	SpinLockRelease(&ring->mutex);
	if (key.database == database && key.table == table)
		body(key);
}

void
announce_at(Ring *ring, Oid database, Oid table, uint32 wake_generation)
{
	if_of_table(ring, database, table, [&](const RingKey &key) {
		with_ring(ring, key, [&] {
			if (ring->sweep.wake_generation != wake_generation)
				announce(ring, 1);
		});
	});
}

void
dismiss_at(Ring *ring, Oid database, Oid table)
{
	if_of_table(ring, database, table, [&](const RingKey &) { dismiss(ring); });
}

} // namespace queue_ext::ring
