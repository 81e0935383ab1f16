// fail.cpp - queue_fail, queue_fail_many, queue_fail_row, queue_fail_receipt, queue_fail_receipts:
// end claims whose work has failed. The job is tried again later, or is dead.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"
#include "finish_receipt.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_fail);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_receipt);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_receipts);

// Reads the error of one job and the wait from the arguments from that number on.
static FinishOptions
options_of_one(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_now();
	options.error = PG_ARGISNULL(number) ? nullptr : PG_GETARG_TEXT_PP(number);
	options.retry_in = argument::optional_not_negative(fcinfo, number + 1, "retry_in");
	return options;
}

// Reads the errors of many jobs, an element for each, which may be null, and the wait from the arguments
// from that number on.
static FinishOptions
options_of_many(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_now();
	options.errors =
		PG_ARGISNULL(number) ? nullptr : argument::required_array(fcinfo, number, "errors");
	options.retry_in = argument::optional_not_negative(fcinfo, number + 1, "retry_in");
	return options;
}

Datum
queue_ext_queue_fail(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail()");
	return finish_job(fcinfo, Action::fail, Attempt::required, options_of_one(fcinfo, 3));
}

Datum
queue_ext_queue_fail_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_many()");
	return finish_jobs(fcinfo, Action::fail, Attempt::required, options_of_many(fcinfo, 3));
}

Datum
queue_ext_queue_fail_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_row()");
	PG_RETURN_BOOL(finish_row(fcinfo, Action::fail, options_of_one(fcinfo, 2), nullptr));
}

Datum
queue_ext_queue_fail_receipt(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_receipt()");
	PG_RETURN_BOOL(finish_receipt(fcinfo, Action::fail, options_of_one(fcinfo, 2), nullptr));
}

Datum
queue_ext_queue_fail_receipts(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_receipts()");
	return finish_receipts(fcinfo, Action::fail, options_of_many(fcinfo, 2));
}

} // namespace queue_ext::queue
