// extend.cpp - queue_extend, queue_extend_many, queue_extend_row:
// the claim holds for longer.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_extend);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_row);

Datum
queue_ext_queue_extend(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend()");
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, 3, "lease");
	return finish_job(fcinfo, Action::extend, Attempt::required, options);
}

Datum
queue_ext_queue_extend_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_many()");
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, 3, "lease");
	return finish_jobs(fcinfo, Action::extend, Attempt::required, options);
}

Datum
queue_ext_queue_extend_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_row()");
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, 2, "lease");
	Datum extended = 0;
	if (!finish_row(fcinfo, Action::extend, options, &extended))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(extended);
}

} // namespace queue_ext::queue
