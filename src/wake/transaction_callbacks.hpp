// transaction_callbacks.hpp - what the end of a transaction does to rings.
//
// Invariant: candidates whose claim is rolled back, with the transaction or with a subtransaction,
// go back into their ring, and so do those whose claim was a lock that ends with the commit, unless
// the transaction has changed the row; rows that a transaction makes claimable are told to rings
// when it has committed, not before. From before other backends can see them until then, their
// table's wakes (ring/shared_memory.hpp) count the transaction as under way. Where there are too many to
// remember, or other backends have taken some since, a sweep is requested instead.
//
// Functions that note something raise 53200 for want of memory. note_tried(), owes_sweep() and the
// callbacks take the rings' spinlocks.

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

// Notes that this (sub)transaction has written rows, not from a ring, that are claimable again if it is rolled back,
// from that time on; at_once: it is not known, or they may be so already.
constexpr TimestampTz at_once = PG_INT64_MIN;
void note_writes(Oid table, TimestampTz due);

// Notes that this (sub)transaction has replaced a row version that it has locked for a claim, which
// ends when it commits: the row is then claimable at another TID. It has been pending all the time,
// so that no backend has taken the queue to be idle.
void note_moved(Oid table);

// Notes that a row written by this (sub)transaction would have died at that time. If that is over when the
// transaction has committed, the next claim is to look at the table.
void note_deadline(Oid table, TimestampTz death);

// Notes that a queue of the table is gone once this transaction has committed: the waiters for
// its jobs are to look.
void note_queue_end(Oid table);

// Notes that rows of the table may be claimable once this transaction has committed.
void note_wake(Oid table);

// Notes that this row version, which this transaction has written, may be claimable once the transaction
// has committed.
void note_version(Oid table, const ring::Version &version);

// Notes that this transaction replaces that version: a rollback may make it claimable, and while the row was locked,
// claims may have passed it by.
void note_replaced(Oid table, const ring::Version &version);

// Notes that this row of a managed queue is claimable from its run_at on, once this transaction has
// committed; kind: the hash of its kind (ring/kinds.hpp).
void note_offer(Oid table, const ring::Candidate &candidate, uint64 kind);

// Notes that a row of a managed queue will be claimable at that time, once this transaction has committed;
// kind: the hash of its kind.
void note_due(Oid table, TimestampTz due, uint64 kind);

// Notes that this row of a managed queue will be claimable at its time, once this transaction has committed;
// kind: the hash of its kind.
void note_due_row(Oid table, const ring::DueRow &row, uint64 kind);

// Whether this transaction has made rows of the table claimable that are not all in its list of offers.
bool has_unlisted(Oid table);

// Whether it has offers of the table.
bool has_offers(Oid table);

// A row of a managed queue that this transaction offers.
struct OwnOffer
{
	ring::Candidate candidate;
	SubTransactionId made_in;
};

// Lists the offers of the table's jobs that may be of those kinds (null: of all), in the order of their sort keys, in
// the current memory context. Raises 53200.
OwnOffer *list_offers(Oid table, const ring::Kinds *kinds, int *count);

// Whether the row at that TID is on the list.
bool is_offered(Oid table, const ItemPointerData &tid);

// Takes the offer off the list, unless a rollback to a savepoint may bring it back: its row is not there any more.
void withdraw_offer(Oid table, const OwnOffer &offer);

// Registers the callbacks. Called once, by _PG_init.
void register_transaction_callbacks();

} // namespace queue_ext::wake
