// replace.hpp - changes a job that waits, for a unique insert that has found it.
//
// Invariant: no completion removes a payload that its worker has not seen. A job that a worker has stays as
// it is. One whose lease has ended is taken over as by a claim, with a new attempt, so that the receipt of
// the worker that is late is good no more. The statement passes by a row that another transaction has
// locked, as a claim that is under way has: it waits for no worker.
//
// The sender needs no right to update. So the statement runs as the owner of the table, but only where it
// runs no code of anybody's and its errors show nothing of the row (is_safe_as_owner()): what was written
// to run as its caller would find the caller's temporary objects, with the owner's rights.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::unique {

// What a unique insert does with a job that is there.
enum class OnConflict {
	keep,
	replace, // gives it the new payload, priority, run_at, kind and expiry
	postpone, // moves its run_at to a later time, and its expiry with that, or to the one that is given
};

struct Conflict
{
	OnConflict rule;
	const Interval *max_delay; // postpone: from created_at, to the latest run_at; null: no limit
};

// What became of the job.
enum class ChangeOutcome {
	none, // a worker may have it, or another transaction has it locked
	kept, // it is later already, or a trigger suppressed the change
	done,
};

// Raises 42501 unless the caller has the right to insert what the change writes, and either to update it, or the
// owner may do that instead; 0A000 where row level security applies to the caller or to the owner, as no policy for
// INSERT says which rows a sender may change, and where another queue of the table may have the row.
void check_may_change(const definition::Definition *definition,
					  const statement::Arguments &arguments);

// Changes the job of that ID. The arguments have the payload and options of the new job. The lock of the
// job's key must be held. Raises what an UPDATE raises, and what check_may_change() does.
ChangeOutcome change_job(definition::Definition *definition, const Conflict &conflict, int64 id,
						 statement::Arguments arguments);

} // namespace queue_ext::unique
