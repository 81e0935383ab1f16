// claimed.hpp - notes what a transaction takes from rings: candidates, leases, sweeps of its own. transaction_callbacks.hpp says
// what becomes of that at its end.
//
// Functions that note something raise 53200 for want of memory. note_tried(), owes_sweep() and
// owes_sweep_of_empty() take the rings' spinlocks.

#pragma once

#include "../postgres.hpp"

#include "../ring/ring.hpp"

namespace queue_ext::wake {

// Makes the note to which note_taken(), note_tried(), note_own_fill(), note_lease() and note_leased() write,
// so that they have it before memory can run out. ended: how many queues of the table had ended, by the count in its
// wakes, when this one had not. If another count is there when the transaction has committed, all rings of the table are to
// sweep: a queue that is left alone trusts the trigger, which does not fire for direct claims that make rows ready for it.
// is_beside: there is another queue of the table.
void prepare_note(ring::Ring *ring, const ring::RingKey &key, uint32 ended, bool is_beside);

// Notes that this (sub)transaction has taken the candidates; returns their place in the note.
// is_until_end: their claims end with the transaction, even if it commits.
int note_taken(ring::Ring *ring, const ring::RingKey &key, const ring::Candidate *candidates,
			   const ring::Taken &taken, bool is_until_end);

// Notes that it has tried the candidates noted at that place, with what came of it, and lets them go
// (settle()). locked: a bit for each, from the lowest, that another transaction has locked; these
// are forgotten, as the end of this transaction makes none of them claimable. passed: likewise, those that were passed by,
// of which those are forgotten that the transaction has taken before.
void note_tried(ring::Ring *ring, const ring::RingKey &key, const ring::Taken &taken, int place,
				uint64 locked, uint64 passed, const ring::RingCounters &counters);

// Notes that this (sub)transaction has filled the ring when it had written: it does not see what it has deleted or
// claimed.
void note_own_fill(ring::Ring *ring, const ring::RingKey &key);

// Notes that the rows claimed become claimable again at that time, once this transaction has
// committed.
void note_lease(ring::Ring *ring, const ring::RingKey &key, TimestampTz end);

// Notes that this one of the rows claimed becomes claimable again at its time, once this transaction has
// committed.
void note_leased(ring::Ring *ring, const ring::RingKey &key, const ring::DueJob &job);

// Whether leases of its own claims from the table have ended that this transaction has not seen end, by a sweep for the
// ring; others are told when it has committed, and a sweep of theirs does not show what only it sees. Spaced as sweeps
// are: by twenty times the cost of the last one. Takes the ring's spinlock then, and has it swept.
bool owes_sweep(ring::Ring *ring, const ring::RingKey &key, TimestampTz now);

// The same of a ring in which nothing is left: also after note_own_left(), as others who have tried these rows have taken
// them out.
bool owes_sweep_of_empty(ring::Ring *ring, const ring::RingKey &key, TimestampTz now);

// Notes a sweep for the ring that this transaction has made, of what was pending at call_time.
void note_own_sweep(const ring::Ring *ring, const ring::RingKey &key, TimestampTz call_time,
					TimestampTz ended);

// Notes that rows which only this transaction can see were put into the ring.
void note_own_left(const ring::Ring *ring, const ring::RingKey &key);

} // namespace queue_ext::wake
