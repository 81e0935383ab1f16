// finish.hpp - the ways in which a claim, or a job, ends.
//
// Invariant: a call with a stale receipt changes nothing. A receipt is (id, attempt); it is good
// from the claim until the first of: another claim of the job, a finishing call with the receipt,
// the removal of the job. The check and the write are one statement, so the row lock decides
// between two callers.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "../job/job.hpp"
#include "finish_text.hpp"

namespace queue_ext::queue {

// What some actions need besides the receipts.
struct FinishOptions
{
	TimestampTz call_time;
	const Interval *lease;     // extend; null: that of the queue
	bool is_final;             // fail: the job is dead, whatever attempts it has left
	const Interval *retry_in;  // fail; null: the backoff of the queue
	const TimestampTz *run_at; // release; null: leave it as it is
	const text *error;         // fail, of one job
	ArrayType *errors;         // fail, of many
	Datum result;              // complete, of one job: a jsonb; 0: none
	ArrayType *results;        // complete, of many
	Datum progress;            // extend, of one job: a jsonb; 0: none
	ArrayType *progresses;     // extend, of many
};

// Returns options with the wall clock as the time of the call, and nothing else.
inline FinishOptions
options_now()
{
	FinishOptions options{};
	options.call_time = GetCurrentTimestamp();
	return options;
}

// What came of a job.
enum class Finished {
	no, // its receipt was not good
	yes,
	died, // of a managed queue, by this failure
};

// Performs the action on one job. Locks the row, and waits for a transaction that has it locked. Opens SPI. Raises what
// the executor raises.
Finished finish_one(definition::Definition *definition, Action action, const job::Receipt &receipt,
					const FinishOptions &options);

// Sorts the receipts by ID, which is the order in which rows are locked.
void sort_receipts(job::Receipt *receipts, int count);

// Performs the action on many jobs, in the order of their IDs, so that two such calls cannot
// deadlock. Sorts the receipts. SPI must be open; SPI_tuptable then has the IDs of the jobs whose
// receipts were good. Raises what the executor raises.
void finish_many(definition::Definition *definition, Action action, job::Receipt *receipts,
				 int count, const FinishOptions &options);

// The IDs in the first column of what the last statement has returned, allocated in the context. There may
// be more of them than jobs were asked for: a child of the table may have an ID again. Never raises but
// 53200.
int64 *returned_ids(MemoryContext context, int *count);

// Those of them that have died, of jobs that have failed.
int64 *died_ids(MemoryContext context, int *count);

// For finish_one(), finish_many() and the functions for rows (finish_row.hpp).

// Returns arguments with the parameters that do not depend on the receipt.
statement::Arguments common_arguments(const definition::Definition *definition,
									  const FinishOptions &options);

// Notes down how often each of the jobs has failed, with this time: its claims but for those that were released, or
// came before it was requeued. Of a table that does not count these, or not for the caller: its claims. SPI must be
// open. Raises what the executor raises.
void note_failures(definition::Definition *definition, const FinishOptions &options,
				   job::Receipt *receipts, int count);

// Returns when a job that has failed so often may run again. Raises 22008 if that is no timestamp any more.
TimestampTz retry_time(const definition::Definition *definition, const FinishOptions &options,
					   int32 failures);

// Returns the earliest time that retry_time() can return for any number of failures. Raises 22008 if that is
// no timestamp any more.
TimestampTz earliest_retry(const definition::Definition *definition, const FinishOptions &options);

// Counts jobs on which the action was performed; of those that failed, dead ones were not given
// back. Only a managed queue tells whether a job is dead. Raises 53200.
void count_finished(definition::Definition *definition, Action action, int64 number, int64 dead);

// Raises 55000 if the queue cannot do what the options ask for: it has no archive with a place for results, on_extend does not
// read the progress, or on_fail whether to try again. Compiles the definition where it needs that.
void check_options(definition::Definition *definition, const FinishOptions &options);

// Counts how long a job has run that was claimed at that time. Raises 53200.
void count_run(definition::Definition *definition, TimestampTz claimed_at,
			   const FinishOptions &options);

} // namespace queue_ext::queue
