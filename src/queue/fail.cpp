// fail.cpp - queue_fail, queue_fail_many, queue_fail_row: end claims whose work has failed. The job
// is tried again later, or is dead.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_fail);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_row);

Datum
queue_ext_queue_fail(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail()");
	FinishOptions options = options_now();
	options.error = PG_ARGISNULL(3) ? nullptr : PG_GETARG_TEXT_PP(3);
	options.retry_in = argument::optional_not_negative(fcinfo, 4, "retry_in");
	return finish_job(fcinfo, Action::fail, Attempt::required, options);
}

// errors has an element for each ID, which may be null.
Datum
queue_ext_queue_fail_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_many()");
	FinishOptions options = options_now();
	options.errors = PG_ARGISNULL(3) ? nullptr : argument::required_array(fcinfo, 3, "errors");
	options.retry_in = argument::optional_not_negative(fcinfo, 4, "retry_in");
	return finish_jobs(fcinfo, Action::fail, Attempt::required, options);
}

Datum
queue_ext_queue_fail_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_row()");
	FinishOptions options = options_now();
	options.error = PG_ARGISNULL(2) ? nullptr : PG_GETARG_TEXT_PP(2);
	options.retry_in = argument::optional_not_negative(fcinfo, 3, "retry_in");
	PG_RETURN_BOOL(finish_row(fcinfo, Action::fail, options, nullptr));
}

} // namespace queue_ext::queue
