// finish_call.hpp - what the entry points queue_complete, queue_fail and so on have in common:
// calls that end the claims of one job, of many jobs, or of a row.

#pragma once

#include "../postgres.hpp"

#include "../statement/row_type.hpp"
#include "finish.hpp"
#include "finish_text.hpp"

namespace queue_ext::queue {

// Whether a receipt must have an attempt.
enum class Attempt { required, optional };

// Performs the action on the job of arguments 0 to 2: queue, id, attempt. Returns, as a bool,
// whether the receipt was good. Takes ROW EXCLUSIVE on the queue's table and locks the row. Raises
// 22004 for a null, and what check_options(), open_managed_queue() and the executor raise.
Datum finish_job(FunctionCallInfo fcinfo, Action action, Attempt attempt,
				 const FinishOptions &options);

// Performs the action on the jobs of arguments 0 to 2: queue, ids, attempts. Returns the set of IDs of
// the jobs whose receipts were good. Takes ROW EXCLUSIVE on the queue's table and locks the rows. Raises
// 22004 for a null, 2202E for an array of more than one dimension, 22023 if the arrays differ in length, and what
// check_options(), open_managed_queue() and the executor raise.
Datum finish_jobs(FunctionCallInfo fcinfo, Action action, Attempt attempt,
				  const FinishOptions &options);

// Performs the action on the row of arguments 0 and 1: queue, job. True if the receipt was good; for
// extend, *extended is then the updated row. Takes the lock on the table that definition/open.hpp says of
// the action. Raises 22004 for a null, 42804 if the row is of another type or cannot be read any more, and
// what open_queue() and the function in finish_row.hpp raise.
bool finish_row(FunctionCallInfo fcinfo, Action action, const FinishOptions &options,
				Datum *extended);

// For a job of a managed queue: finish_one(), without a statement where that is possible, and makes a
// job that was given back known to claims. Raises what these raise.
bool finish_and_wake(definition::Definition *definition, Action action, job::Receipt receipt,
					 const FinishOptions &options);

// For the functions that take receipts (finish_receipt.hpp).

// Opens the queue with the lock that definition/open.hpp says of the action, for a row. Raises what
// open_queue() raises.
definition::Definition *open_to_finish(const text *name, Action action);

// Finishes the row, and makes known to claims what was given back. As finish_row.hpp has it.
bool finish_and_wake(definition::Definition *definition, Action action, const statement::Row &job,
					 const FinishOptions &options, Datum *extended);

} // namespace queue_ext::queue
