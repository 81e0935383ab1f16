// finish_call.hpp - the calls that end a claim, or a job, for one job, many, and a row: what
// the entry points queue_complete, queue_fail and so on have in common.

#pragma once

#include "../postgres.hpp"

#include "finish.hpp"

namespace queue_ext::queue {

// Whether a receipt may leave the attempt open.
enum class Attempt { required, optional };

// Does it to the job of arguments 0 to 2: queue, id, attempt. The result is whether the
// receipt was good.
Datum finish_job(FunctionCallInfo fcinfo, Action action, Attempt attempt,
				 const FinishOptions &options);

// Does it to the jobs of arguments 0 to 2: queue, ids, attempts. The result are the ids of
// those whose receipts were good.
Datum finish_jobs(FunctionCallInfo fcinfo, Action action, Attempt attempt,
				  const FinishOptions &options);

// Does it to the row of arguments 0 and 1: queue, job. True if the receipt was good. For extend
// *extended is the row as it is then.
bool finish_row(FunctionCallInfo fcinfo, Action action, const FinishOptions &options,
				Datum *extended);

} // namespace queue_ext::queue
