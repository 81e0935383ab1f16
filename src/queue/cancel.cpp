// cancel.cpp - queue_cancel, queue_cancel_many: remove jobs that are no longer wanted, in any
// state.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_cancel);
QUEUE_EXT_FUNCTION(queue_ext_queue_cancel_many);

// Without an attempt, cancels the job under whatever attempt it is.
Datum
queue_ext_queue_cancel(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_cancel()");
	return finish_job(fcinfo, Action::cancel, Attempt::optional, options_now());
}

Datum
queue_ext_queue_cancel_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_cancel_many()");
	return finish_jobs(fcinfo, Action::cancel, Attempt::optional, options_now());
}

} // namespace queue_ext::queue
