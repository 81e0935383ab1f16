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

Datum
queue_ext_queue_extend(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend()");
	return finish_job(fcinfo, Action::extend, Attempt::required, options_with_lease(fcinfo, 3));
}

Datum
queue_ext_queue_extend_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_many()");
	return finish_jobs(fcinfo, Action::extend, Attempt::required, options_with_lease(fcinfo, 3));
}

// Returns the updated row, which is the receipt from then on; null if the receipt was stale.
Datum
queue_ext_queue_extend_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_row()");
	Datum extended = 0;
	if (!finish_row(fcinfo, Action::extend, options_with_lease(fcinfo, 2), &extended))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(extended);
}

Datum
queue_ext_queue_extend_receipt(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_receipt()");
	text *renewed = nullptr;
	if (!finish_receipt(fcinfo, Action::extend, options_with_lease(fcinfo, 2), &renewed))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(renewed);
}

Datum
queue_ext_queue_extend_receipts(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_receipts()");
	return finish_receipts(fcinfo, Action::extend, options_with_lease(fcinfo, 2));
}

} // namespace queue_ext::queue
