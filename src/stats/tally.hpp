// tally.hpp - what a transaction adds to the statistics of queues.
//
// Invariant: what a (sub)transaction has counted reaches the shared table (table.hpp) when the
// transaction has committed, in one stay under the entry's spinlock, and is forgotten if the
// subtransaction or the transaction is rolled back, or prepared: no callback of ours runs when a
// prepared transaction ends. The locks that the transaction has on the queue's table are still held
// then, so that the entry cannot have become another queue's by a drop.

#pragma once

#include "../postgres.hpp"

#include "table.hpp"

namespace queue_ext::stats {

// What happens to the entry itself when the transaction has committed.
enum class Change { none, begins, ends };

// What one (sub)transaction has counted of one queue.
struct Tally
{
	Tally *next;
	Place place;
	SubTransactionId made_in;
	Change change;
	bool is_new;   // the entry was made for a queue that is being created
	bool is_empty; // the queue begins with an empty table
	Counts counts; // since the change, as the next ones
	Marks marks;   // of jobs that become ready
	TimestampTz due;
	int64 delayed;  // jobs that do so later, first at due
	int64 requeued; // dead jobs
	bool is_blind;  // jobs were written of which nobody tells
};

// The tally of the current subtransaction for the queue, until the next call; null if nothing is
// counted. Raises 53200.
Tally *tally_of(definition::Definition *definition);

// The same for the managed queue of the table.
Tally *tally_of_table(Oid table);

// Adds to a counter of the queue. Raises 53200.
void count(definition::Definition *definition, Counter counter, int64 number);

// Adds to a counter of the queue at once, whatever becomes of the transaction. Raises 53200.
void count_at_once(definition::Definition *definition, Counter counter);

// How many the current transaction has counted so far of the queue, in all its subtransactions that
// were not rolled back.
int64 counted(definition::Definition *definition, Counter counter);

// The same of what the managed queue of the table was sent.
int64 counted_by_trigger(Oid table);

// Notes that the queue counts anew once this transaction has committed: it was created, or attached.
// is_empty: its table has just been made. Raises 53200.
void note_begin(Oid table, const char *queue, bool is_managed, bool is_empty);

// Notes a job that is ready from that time on. is_new: it was not so before. Never raises.
void note_ready(Tally *tally, int16 priority, TimestampTz run_at, bool is_new);

// Notes that the queue is gone once this transaction has committed. Raises 53200.
void note_end(Oid table, const char *queue, bool is_managed);

// Registers the callbacks. Called once, by _PG_init.
void register_tallies();

} // namespace queue_ext::stats
