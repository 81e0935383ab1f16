// extend.cpp - queue_extend, queue_extend_many, queue_extend_row, queue_extend_receipt,
// queue_extend_receipts: prolong claims.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"
#include "finish_receipt.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_extend);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_receipt);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_receipts);

// Reads the lease from the argument of that number; null is the lease of the queue. Raises 22023 if
// it is not positive.
static FinishOptions
options_with_lease(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, number, "lease");
	return options;
}

// SQL objects of 0.1 have no argument for the progress.
static bool
has_progress(FunctionCallInfo fcinfo, int number)
{
	return PG_NARGS() > number && !PG_ARGISNULL(number);
}

// Reads the lease and the progress of one job from the arguments from that number on.
static FinishOptions
options_of_one(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_with_lease(fcinfo, number);
	if (has_progress(fcinfo, number + 1))
		options.progress = PG_GETARG_DATUM(number + 1);
	return options;
}

// Reads the same of many jobs, with a progress for each, which may be null.
static FinishOptions
options_of_many(FunctionCallInfo fcinfo, int number)
{
	FinishOptions options = options_with_lease(fcinfo, number);
	if (has_progress(fcinfo, number + 1))
		options.progresses = argument::required_array(fcinfo, number + 1, "progress");
	return options;
}

Datum
queue_ext_queue_extend(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend()");
	return finish_job(fcinfo, Action::extend, Attempt::required, options_of_one(fcinfo, 3));
}

Datum
queue_ext_queue_extend_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_many()");
	return finish_jobs(fcinfo, Action::extend, Attempt::required, options_of_many(fcinfo, 3));
}

// Returns the updated row, which is the receipt from then on; null if the receipt was stale.
Datum
queue_ext_queue_extend_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_row()");
	Datum extended = 0;
	if (!finish_row(fcinfo, Action::extend, options_of_one(fcinfo, 2), &extended))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(extended);
}

Datum
queue_ext_queue_extend_receipt(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_receipt()");
	text *renewed = nullptr;
	if (!finish_receipt(fcinfo, Action::extend, options_of_one(fcinfo, 2), &renewed))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(renewed);
}

Datum
queue_ext_queue_extend_receipts(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_receipts()");
	return finish_receipts(fcinfo, Action::extend, options_of_many(fcinfo, 2));
}

} // namespace queue_ext::queue
