// sleep.hpp - sleeping until a job of a queue may be claimable.
//
// Invariant: a backend holds no snapshot, no lock and no definition while it sleeps; all it keeps is
// its entry in the ring's list (ring/waiting.hpp), and whatever ends the wait takes it out of that:
// the end of the transaction or subtransaction by an error or a signal included. One that was chosen
// for a job and cannot look for it has the next one chosen.
//
// Where there is no ring to wait at, a wait sleeps for a tenth of a second.

#pragma once

#include "../postgres.hpp"

#include "../claim/request.hpp"
#include "../definition/definition.hpp"
#include "../ring/waiting.hpp"

namespace queue_ext::wait {

// A backend's wait for a job: what it had seen when it last looked for one.
struct Wait
{
	ring::Ticket ticket;
	bool is_claiming; // it claims when it is woken; else it returns to its client
	bool is_soon;     // it has hardly slept since the last look
	int64 until;      // steady time (steady_time.hpp)
	uint64 changes;   // of relations, that the last look has seen
	bool has_slept;
};

// To be called before each look for a job: from here on nothing is missed. definition: null for a
// queue that is paused, at which there is nothing to wait for but time. Raises what compiling a claim
// raises.
void before_look(Wait *wait, definition::Definition *definition, const claim::Request &request);

// Whether this backend was woken for a job, and has not answered yet.
bool *chosen();

// To be called after each look for a job. Where found is false, sleep() is next.
void after_look(Wait *wait, bool found);

// Sleeps. False if the time is over; else the caller is to look. Raises what an interrupt raises, and
// FATAL when the client has gone.
bool sleep(Wait *wait);

// Registers the transaction callbacks. Called once, by _PG_init.
void register_waits();

} // namespace queue_ext::wait
