// complete.cpp - queue_complete, queue_complete_many, queue_complete_row: end claims whose work is
// done.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_complete);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_row);

Datum
queue_ext_queue_complete(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete()");
	return finish_job(fcinfo, Action::complete, Attempt::required, options_now());
}

Datum
queue_ext_queue_complete_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_many()");
	return finish_jobs(fcinfo, Action::complete, Attempt::required, options_now());
}

Datum
queue_ext_queue_complete_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_row()");
	PG_RETURN_BOOL(finish_row(fcinfo, Action::complete, options_now(), nullptr));
}

} // namespace queue_ext::queue
