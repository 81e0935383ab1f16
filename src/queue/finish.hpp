// finish.hpp - the ways a claim, or a job, comes to its end.
//
// Invariant: nothing happens to a job whose receipt is stale. A receipt is
// (id, attempt); it is good from the claim until the first of: another claim of
// the job, a finishing call with it, the job's removal. The check and the write
// are one statement, so a row lock decides between two callers.

#pragma once

#include "../postgres.hpp"

#include "../claim/job.hpp"
#include "../definition/definition.hpp"

namespace queue_ext::queue {

enum class Action { complete, fail, release, extend, cancel, requeue };

// What some actions need besides the receipts.
struct FinishOptions
{
	TimestampTz call_time;
	const Interval *lease;     // extend: null for the queue's
	const Interval *retry_in;  // fail: null for the queue's backoff
	const TimestampTz *run_at; // release: null to leave it
	const text *error;         // fail, of one job
	ArrayType *errors;         // fail, of many
};

// No options, at this moment.
inline FinishOptions
options_now()
{
	FinishOptions options{};
	options.call_time = GetCurrentTimestamp();
	return options;
}

// Does it to one job. True if the receipt was good. Raises what the executor
// raises. Locks the row.
bool finish_one(definition::Definition *definition, Action action, const claim::Receipt &receipt,
				const FinishOptions &options);

// Puts receipts into the order of their ids, in which rows are locked.
void sort_receipts(claim::Receipt *receipts, int count);

// Does it to many jobs, in the order of their ids, so that two such calls cannot
// deadlock. SPI must be open; SPI_tuptable then has the ids of the jobs whose
// receipts were good. Sorts the receipts.
void finish_many(definition::Definition *definition, Action action, claim::Receipt *receipts,
				 int count, const FinishOptions &options);

// What the two above share with the functions for rows (finish_row.hpp).

// The parameters that do not depend on the receipt.
statement::Arguments common_arguments(const definition::Definition *definition,
									  const FinishOptions &options);

// When a job that failed for the attempt-th time may run again.
TimestampTz retry_time(const definition::Definition *definition, const FinishOptions &options,
					   int32 attempt);

// The earliest that retry_time() can be.
TimestampTz earliest_retry(const definition::Definition *definition, const FinishOptions &options);

// When a lease given now ends.
TimestampTz lease_end(const definition::Definition *definition, const FinishOptions &options);

// The statement that takes the rows of "t" for which the fence holds out of the
// queue: into the archive, in that state, or away. tables: what the fence speaks of
// besides t, or null.
const char *removal_text(const definition::Definition *definition, const char *tables,
						 const char *fence, const char *final_state);

} // namespace queue_ext::queue
