// waiting.hpp - standing in a ring's list of waiters, the backends that wait for its jobs.
//
// Invariant: the last in the list keeps time for all. It sleeps no longer than until the next moment
// at which a row may become claimable without an announcement, and while a backend that was woken has
// not been heard of, no longer than a tick; all others sleep until they are woken, or their time is
// over. When the last one leaves, the one before it is woken, and keeps time from then on.
//
// No backend goes to sleep on old news: one that has looked for a job and found none enters the list
// only if nothing has been announced since before it looked (Ticket), which is checked in the same stay
// under the spinlock; an event that comes later finds the backend in the list.
//
// Every function takes the ring's spinlock. None waits or raises.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::ring {

// What had been announced when a backend began to look for a job.
struct Ticket
{
	Ring *ring; // null: there is none to wait at
	RingKey key;
	pg_atomic_uint32 *generation; // the table's wake-up generation
	uint32 wake_generation;
	uint32 news;
	TimestampTz looked_at;
	int entry;              // of the backend, by which it enters the ring's list
	bool is_one_of_several; // lists that it enters
};

// Fills in all but the last two. False if the ring is foreign.
bool take_ticket(Ring *ring, const RingKey &key, pg_atomic_uint32 *generation, Ticket *ticket);

// Whether there are candidates to be taken.
enum class Stock {
	some,
	none,    // and none were there when the queue was last read
	unknown, // until it is read
};

// None, where the ring is foreign.
Stock stock_of(Ring *ring, const RingKey &key, TimestampTz now, pg_atomic_uint32 *generation);

// What a backend is to do that wants to wait, or has been woken.
enum class Turn {
	sleep,     // in the list, until the time given
	look,      // out of the list: something may be claimable
	go,        // out of the list: it was chosen for a job, and must say answer() once it has looked
	elsewhere, // out of the list: the ring is of another queue now
};

// Decides on that. is_new: enters the list. *until: on entry when the caller's time is over, then
// until when to sleep at most, in steady time.
Turn next_turn(const Ticket &ticket, bool is_claiming, bool is_new, int64 *until);

// Leaves the list. True if it had been chosen before that, and so must answer().
bool leave_list(const Ticket &ticket);

// What a backend that was chosen has to say.
enum class Answer {
	found,   // a job; others may be left
	nothing, // somebody else was faster
	none,    // it could not look: the next one is chosen
};

void answer(const Ticket &ticket, bool is_claiming, Answer given);

// A backend that has not been chosen has tried to claim. Those that were woken only to tell their
// clients are heard of in this way.
void note_pop(Ring *ring, const RingKey &key, bool has_claimed);

// Announces a job, if the ring is of the table and the wake-up generation has moved.
void announce_at(Ring *ring, Oid database, Oid table, uint32 wake_generation);

// Takes all out of the list of the ring, if it is of the table.
void dismiss_at(Ring *ring, Oid database, Oid table);

} // namespace queue_ext::ring
