// dead_jobs.hpp - a queue's dead jobs are moved to its dead queue (definition/dead_queue.hpp).
//
// A job that dies by a failure is moved by the transaction that says so; one that dies when its last lease ends, which no
// transaction says, by a claim, as each backend looks from time to time, or by queue_maintain. It leaves the table, for the
// archive if there is one, and the dead queue gets a job with its payload, priority, kind and errors, whose "origin" tells
// which job it was.
//
// Invariant: a dead job is in one of the two queues, as both tables are written by one statement. What hinders that leaves
// the job where it was, dead, and the failure or the claim as it is. These wait for no lock on the dead queue or the archive.
//
// What hinders the move of one job hinders that of its batch, and no more: the next look goes on behind, and so does
// queue_maintain.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "as_owner.hpp"
#include "looks.hpp"

namespace queue_ext::claim {

// Whether the queue has a dead queue, which may be gone.
inline bool
has_dead_queue(const definition::Definition *definition)
{
	return OidIsValid(definition->dead_queue);
}

// Moves those of the jobs, which a failure has ended, that are dead at that time, unless another session has a table locked
// that it writes. Waits for who has one of the jobs locked. What hinders it, any error, is said in the server's log alone.
// Raises what unless_hindered() raises.
void move_failed(definition::Definition *definition, const int64 *ids, int count, TimestampTz now);

// Moves a batch of dead jobs that nobody has locked, of those that died first, if it is time (looks.hpp): returns whether
// it was. Raises as move_failed() does.
bool move_dead_sometimes(definition::Definition *definition, TimestampTz now);

// A condition, of rows of that name: they are among the jobs of Parameter::ids, and were dead at that moment. Not "dead_at <=",
// which the index of dead jobs could serve, and read all of them.
const char *are_dead(const char *row, statement::Parameter moment);

// Whether one of the jobs of Parameter::ids that are_dead() at the call_time of the arguments is there, and no other session has it
// locked: for one that has locked them, and removed them without an error. Needs SPI open.
bool any_dead_stays(definition::Definition *definition, const statement::Arguments &arguments);

// Finds and locks a batch of jobs that were dead at that time, of those that died first behind that place, and that nobody
// has locked. Needs SPI open. Sets the place to that from which to go on if the caller cannot see to the batch.
FoundBatch lock_dead_batch(definition::Definition *definition, TimestampTz time, JobPlace *behind);

// Moves such a batch; none if there is no dead queue that can take them. Waits for locks on that and the archive. Raises what
// as_owner() and the executor raise, and 55000 where the archive is gone, or a trigger has suppressed a row. Sets the place as
// lock_dead_batch() does.
BatchResult move_dead_batch(definition::Definition *definition, TimestampTz now, Manner manner,
							JobPlace *behind);

} // namespace queue_ext::claim
