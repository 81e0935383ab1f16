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

// Whether the job is not to be tried again. SQL objects of 0.1 have no such argument. Raises 22004 for a null.
static bool
is_final(FunctionCallInfo fcinfo, int number)
{
	if (PG_NARGS() <= number)
		return false;
	argument::check_not_null(fcinfo, number, "retry");
	return !PG_GETARG_BOOL(number);
}

// Reads the error of one job, the wait, and whether to try again from the arguments from that number on.
static FinishOptions
options_of_one(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_now();
	options.error = PG_ARGISNULL(number) ? nullptr : PG_GETARG_TEXT_PP(number);
	options.retry_in = argument::optional_not_negative(fcinfo, number + 1, "retry_in");
	options.is_final = is_final(fcinfo, number + 2);
	return options;
}

// Reads the same of many jobs, with an error for each, which may be null.
static FinishOptions
options_of_many(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_now();
	options.errors =
		PG_ARGISNULL(number) ? nullptr : argument::required_array(fcinfo, number, "errors");
	options.retry_in = argument::optional_not_negative(fcinfo, number + 1, "retry_in");
	options.is_final = is_final(fcinfo, number + 2);
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
