// recurring.hpp - jobs that recur: the claim of an occurrence sends the next one.
//
// An occurrence is a job whose unique_key begins with "schedule|", before the name of its schedule
// (schedule/occurrence.hpp). So a claim sees in the row that it has claimed anyway whether there is more to
// do. The schedule's row then decides: it has the job, or the schedule has been changed meanwhile, and
// the job is one like any other. Both the ID and the key must be those of the schedule, as a table that
// was truncated may give an ID again.
//
// The next occurrence is sent in the claim's transaction, as the owner of the table (as_owner.hpp), so that a worker
// needs no right to insert, and a claim that is rolled back has sent nothing. Where the table has code of
// users, it is sent as the worker.
//
// A job that is deleted by others than queue_cancel takes the chain with it. A sweep, which comes
// when the next moment of a schedule has come, and from time to time a claim, looks for schedules
// whose moment has passed, and sends the job again where it is not there. Not where row security
// applies to the owner, who may not see that it is there.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../schedule/store.hpp"

namespace queue_ext::claim {

// The occurrences that a claim has taken.
struct Occurrences
{
	List *taken; // Occurrence * (recurring.cpp)
	MemoryContext context;
};

// Notes an occurrence whose first attempt this transaction has claimed. False if it has been missed,
// and is dropped: it is not to be handed out. Locks the row of its schedule, and may wait for that.
bool take_occurrence(const definition::Definition *definition, Occurrences *occurrences,
					 Datum unique_key, int64 id);

// Notes the occurrences whose first attempt this transaction has claimed, among the first count rows that
// the last statement has returned. Leaves out those that have been missed, and are dropped; returns how many
// rows are left. Locks the rows of their schedules, and may wait for that.
uint64 take_occurrences(const definition::Definition *definition, Occurrences *occurrences,
						uint64 count);

// Sends what follows the occurrences, and deletes those that are dropped. Raises what an INSERT
// raises.
void follow_occurrences(definition::Definition *definition, const Occurrences &occurrences);

// The schedules whose occurrences, not taken by a worker yet, are among these jobs: to be asked before
// the jobs are removed. List of Schedule *. Raises XX000 only.
List *find_occurrences(definition::Definition *definition, const int64 *ids, int count);

// Sends what follows those of the occurrences that are among the jobs, which this transaction has removed.
// Sorts the IDs. Raises what an INSERT raises.
void follow_cancelled(definition::Definition *definition, const List *occurrences, int64 *ids,
					  int count);

// Whether the queue has schedules, as far as this backend knows.
bool may_recur(definition::Definition *definition);

// Sends occurrences again that are due and have been lost, and counts them in Recurrence::sent. Waits
// for no other transaction. Raises what an INSERT raises.
void send_lost(definition::Definition *definition, TimestampTz now);

// Calls send_lost() if the last look of this backend was some time ago, or another moment of a schedule has
// come since. Costs nothing for a queue without schedules. Raises what an INSERT raises.
void send_lost_sometimes(definition::Definition *definition, TimestampTz now);

// Whether send_lost_sometimes() would send any: for a call that must not write.
bool is_any_lost(definition::Definition *definition, TimestampTz now);

// How many of the occurrences are not handed out.
int count_dropped(const Occurrences *occurrences);

// Adds the schedule's job, and returns its ID; 0 if a trigger has suppressed the row.
int64 send_occurrence(definition::Definition *definition, const schedule::Schedule &schedule);

// Deletes the schedule's occurrence unless a worker has taken it, which it waits to see. Returns whether
// it was there.
bool remove_occurrence(definition::Definition *definition, const schedule::Schedule &schedule);

// Whether no other committed transaction has taken or deleted the schedule's occurrence.
bool has_occurrence(definition::Definition *definition, const schedule::Schedule &schedule);

} // namespace queue_ext::claim
