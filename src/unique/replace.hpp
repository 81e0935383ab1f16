// replace.hpp - changes a job that waits, for a unique insert that has found it.
//
// Invariant: a job is changed only while no claim of it stands: leased_until is null, and it is not dead.
// One that a worker has, or may still have although its lease has ended, keeps its payload; so no
// completion removes a payload that its worker has not seen. The statement passes by a row that another
// transaction has locked, as a claim that is under way has: it waits for no worker.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::unique {

// What a unique insert does with a job that is there.
enum class OnConflict {
	keep,
	replace,  // gives it the new payload, priority, run_at and kind
	postpone, // moves its run_at to a later time
};

struct Conflict
{
	OnConflict rule;
	const Interval *max_delay; // postpone: from created_at, to the latest run_at; null: no limit
};

// What became of the job.
enum class Change {
	none, // a worker may have it, or another transaction has it locked
	kept, // it is later already, or a trigger suppressed the change
	done,
};

// Raises 42501 unless the caller has the right to insert what the change writes, 0A000 where row level security
// applies to the caller or to the owner: no policy for INSERT says which rows a sender may change.
void check_may_change(const definition::Definition *definition);

// Changes the job of that ID. The arguments have the payload and options of the new job. Runs an UPDATE,
// as the owner of the queue's table. The lock of the job's key must be held. Raises what an UPDATE raises.
Change change_job(definition::Definition *definition, const Conflict &conflict, int64 id,
				  statement::Arguments arguments);

} // namespace queue_ext::unique
