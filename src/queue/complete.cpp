// complete.cpp - queue_complete, queue_complete_many, queue_complete_row, queue_complete_receipt,
// queue_complete_receipts: end claims whose work is done.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"
#include "finish_receipt.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_complete);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_receipt);
QUEUE_EXT_FUNCTION(queue_ext_queue_complete_receipts);

// SQL objects of 0.1 have no argument for the result.
Datum
queue_ext_queue_complete(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete()");
	FinishOptions options = options_now();
	if (PG_NARGS() > 3 && !PG_ARGISNULL(3))
		options.result = PG_GETARG_DATUM(3);
	return finish_job(fcinfo, Action::complete, Attempt::required, options);
}

Datum
queue_ext_queue_complete_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_many()");
	FinishOptions options = options_now();
	if (PG_NARGS() > 3 && !PG_ARGISNULL(3))
		options.results = argument::required_array(fcinfo, 3, "results");
	return finish_jobs(fcinfo, Action::complete, Attempt::required, options);
}

Datum
queue_ext_queue_complete_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_row()");
	PG_RETURN_BOOL(finish_row(fcinfo, Action::complete, options_now(), nullptr));
}

Datum
queue_ext_queue_complete_receipt(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_receipt()");
	PG_RETURN_BOOL(finish_receipt(fcinfo, Action::complete, options_now(), nullptr));
}

Datum
queue_ext_queue_complete_receipts(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_receipts()");
	return finish_receipts(fcinfo, Action::complete, options_now());
}

} // namespace queue_ext::queue
