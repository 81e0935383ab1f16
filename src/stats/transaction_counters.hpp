// transaction_counters.hpp - what a transaction adds to the statistics of queues.
//
// Invariant: what a (sub)transaction has counted reaches the shared table (shared_table.hpp) when the
// transaction has committed, in one stay under the entry's spinlock, and is forgotten if the
// subtransaction or the transaction is rolled back, or prepared: no callback of ours runs when a
// prepared transaction ends. The locks that the transaction has on the queue's table are still held
// then, so that the entry cannot have become another queue's by a drop.

#pragma once

#include "../postgres.hpp"

#include "shared_table.hpp"

namespace queue_ext::stats {

// Unfinished jobs that were removed, by what they counted as.
struct Removed
{
	int64 ready;
	int64 scheduled;
	int64 leased;
	TimestampTz
		due; // when the first of the scheduled ones would have been ready; PG_INT64_MAX: there is none
	TimestampTz death; // see note_death(): the first; PG_INT64_MAX: there is none
	Left left;         // the ready and the scheduled ones
};
constexpr Removed none_removed = {0, 0, 0, PG_INT64_MAX, PG_INT64_MAX, none_left};

// What of a job's row tells as what it counts.
struct JobTimes
{
	TimestampTz run_at;
	TimestampTz leased_until; // DT_NOBEGIN: null
	TimestampTz dead_at;      // DT_NOBEGIN: null
};

// Adds a job. One that has died counts as none.
void add_removed(Removed *removed, int16 priority, const JobTimes &job, TimestampTz now);

// What was known before a look, of jobs that it may not have seen.
struct Former
{
	Marks bounds;
	Clock clock;
	bool is_whole;
};

// What happens to the entry itself when the transaction has committed.
enum class Change { none, begins, ends };

// What one (sub)transaction has counted of one queue.
struct TransactionCounters
{
	TransactionCounters *next;
	Place place;
	SubTransactionId made_in;
	Change change;
	bool is_new;   // the entry was made for a queue that is being created
	bool is_empty; // the queue begins with an empty table
	Counts counts; // since the change, as the next ones
	Marks marks;   // of jobs that become ready
	Left claimed;
	int64 claims; // that are in claimed
	Left left;    // as in Estimate
	Clock clock;  // as in Estimate
	TimestampTz due;
	int64 delayed;  // jobs that are ready later, first at due
	int64 requeued; // dead jobs
	Removed removed;
	bool is_blind;   // jobs may have been written, or have left, without a note
	bool has_vain;   // a rollback puts candidates back into the ring that are not there
	bool has_looked; // when it had written: a rollback brings back what it did not see
	Former former;   // before these looks
};

// The counters of the current subtransaction for the queue, until the next call; null if nothing is
// counted. Raises 53200.
TransactionCounters *counters_of(definition::Definition *definition);

// The counters of the current subtransaction for the managed queue of the table, until the next call; null if
// nothing is counted. Raises 53200.
TransactionCounters *counters_of_table(Oid table);

// Adds to a counter of the queue. Raises 53200.
void count(definition::Definition *definition, Counter counter, int64 number);

// Adds to a counter of the queue at once, whatever becomes of the transaction. Raises 53200.
void count_at_once(definition::Definition *definition, Counter counter);

// How many the current transaction has counted so far of the queue, in all its subtransactions that
// were not rolled back.
int64 counted(definition::Definition *definition, Counter counter);

// How many jobs that the managed queue of the table was sent the current transaction has counted so far, in
// all its subtransactions that were not rolled back.
int64 counted_by_trigger(Oid table);

// Notes that the queue counts anew once this transaction has committed: it was created, or attached.
// is_empty: its table has just been made. Raises 53200.
void note_begin(Oid table, const char *queue, bool is_managed, bool is_empty);

// Notes a job that is ready from that time on. is_new: it was not so before. Never raises.
void note_ready(TransactionCounters *counters, int16 priority, TimestampTz run_at, bool is_new);

// Notes a job that was claimed. Never raises.
void note_claim(TransactionCounters *counters, int16 priority, TimestampTz run_at);

// Notes a job that was ready, or would have been, and has left in another way than by a claim from the ring.
// Never raises.
void note_left(TransactionCounters *counters, int16 priority, TimestampTz run_at);

// Notes that some jobs have left in another way than by a claim from the ring, and no more is known of them.
// Never raises.
void note_some_left(TransactionCounters *counters);

// Notes jobs that were removed, or would be lost otherwise.
void note_removed(TransactionCounters *counters, const Removed &removed);

// Notes that a job in its last attempt is not leased any more, or for longer, which would have died with
// its lease then. Once that time has come, it is not known whether the job counted as leased.
void note_death(TransactionCounters *counters, TimestampTz at);

// Notes that the transaction, which has written, has looked at the queue's table, and what was known before. Never
// raises.
void note_look(TransactionCounters *counters, const Estimate &before);

// Notes that candidates were tried in vain.
void note_vain(TransactionCounters *counters);

// Notes that jobs of no larger priority than that become ready by the clock, at that time or later.
void note_clock(TransactionCounters *counters, int32 priority, TimestampTz at);

// Notes that the queue is gone once this transaction has committed. Raises 53200.
void note_end(Oid table, const char *queue, bool is_managed);

// Registers the callbacks. Called once, by _PG_init.
void register_transaction_counters();

} // namespace queue_ext::stats
