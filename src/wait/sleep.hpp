// sleep.hpp - sleeping until a job of a queue, or of one of several, may be claimable.
//
// Invariant: a backend holds no snapshot, no lock and no definition while it sleeps; all it keeps is
// its entries in the rings' lists (ring/waiting.hpp), and whatever ends the wait takes them out of these:
// the end of the transaction or subtransaction by an error or a signal included. A backend that was chosen
// for a job of a queue and does not look for it has the next one chosen.
//
// Where a queue has no ring to wait at, a wait sleeps for a tenth of a second.
//
// A backend has one wait at a time: while it looks for a job, user code cannot begin another one.

#pragma once

#include "../postgres.hpp"

#include "../claim/request.hpp"
#include "../definition/definition.hpp"
#include "../ring/waiting.hpp"

namespace queue_ext::wait {

// A backend's wait for a job, of queues with the numbers 0 to queues - 1, which mean the same in each look.
struct Wait
{
	int queues;       // of the last look, at most ring::most_lists
	bool is_claiming; // it claims when it is woken; else it returns to its client
	bool is_soon;     // it has hardly slept since the last look
	int64 until;      // steady time (steady_time.hpp)
	uint64 changes;   // of relations, that the last look has seen
	bool has_slept;
};

// To be called before each look, at so many queues; and then for each of them: from here on nothing of it is missed.
// definition: null for a queue that is paused, at which there is nothing to wait for but time. before_look() raises what
// compiling a claim raises.
void begin_round(Wait *wait, int queues);
void before_look(int queue, definition::Definition *definition, const claim::Request &request);

// Whether this backend was woken for a job of that queue, and has not answered yet.
bool *chosen(int queue);

// To be called after the look for a job of that queue.
void after_look(const Wait *wait, int queue, bool found);

// To be called when a look is over, whether for all of the queues or not. Where found is false, sleep() is next.
void end_round(Wait *wait, bool found);

// Sleeps. False if the time is over; else the caller is to look. Raises what an interrupt raises, and
// FATAL when the client has gone.
bool sleep(Wait *wait);

// Registers the transaction callbacks. Called once, by _PG_init.
void register_waits();

} // namespace queue_ext::wait
