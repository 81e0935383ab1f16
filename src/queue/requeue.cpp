// requeue.cpp - queue_requeue, queue_requeue_many: make dead jobs ready again.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_requeue);
QUEUE_EXT_FUNCTION(queue_ext_queue_requeue_many);

Datum
queue_ext_queue_requeue(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_requeue()");
	return finish_job(fcinfo, Action::requeue, Attempt::optional, options_now());
}

Datum
queue_ext_queue_requeue_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_requeue_many()");
	return finish_jobs(fcinfo, Action::requeue, Attempt::optional, options_now());
}

} // namespace queue_ext::queue
