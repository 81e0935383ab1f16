// written.hpp - notes what a transaction writes into the tables of queues, and what of that it can claim itself.
// transaction_callbacks.hpp says what becomes of that at its end.
//
// Functions that note something raise 53200 for want of memory. None takes a ring's spinlock.

#pragma once

#include "../postgres.hpp"

#include "../ring/ring.hpp"
#include "at_once.hpp"

namespace queue_ext::wake {

// Notes that this (sub)transaction has written rows, not from a ring, that are claimable again if it is rolled back,
// from that time on; at_once: it is not known, or they may be so already.
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

// Notes that the job of that id, of a managed queue, gets another kind: this transaction's notes of its former versions, which
// are for the former kind, are not to come after those of the new one.
void note_kind_change(Oid table, int64 id);

} // namespace queue_ext::wake
