// ended.hpp - sleeping until a job may have ended.
//
// Invariant: a backend that waits is counted in the table's wakes from before it looks, so a commit that
// it does not see is one that finds it counted, and says so. It holds no snapshot, no lock and no
// definition while it sleeps. What no commit says, as that of a prepared transaction, it finds out by itself, within
// a second.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::wait {

// A backend's wait for the end of a job.
struct EndWait
{
	int64 until;  // steady time (steady_time.hpp)
	uint32 ended; // what had been told of when it last looked
	int futile;   // looks in vain since the wait began
};

// To be called before each look: from here on nothing is missed.
void before_look(EndWait *wait, Oid table);

// Sleeps until a transaction that has written to the table has committed, or for a second; longer looks in vain are
// spaced. False if the time is over. Raises what an interrupt raises, and FATAL when the client has gone.
bool sleep(EndWait *wait);

// Ends the wait. After an error the end of the transaction does it.
void end_wait(EndWait *wait);

// Registers the transaction callback. Called once, by _PG_init.
void register_end_waits();

} // namespace queue_ext::wait
