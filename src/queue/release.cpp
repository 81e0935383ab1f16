// release.cpp - queue_release, queue_release_many, queue_release_row, queue_release_receipt,
// queue_release_receipts: give jobs back and charge no attempt.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"
#include "finish_receipt.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_release);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_receipt);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_receipts);

// Calls body with options that have the run_at of that argument. They point to a local variable, so
// they cannot be returned.
template <typename Body>
static Datum
with_run_at(FunctionCallInfo fcinfo, int number, Body &&body)
{
	FinishOptions options = options_now();
	const TimestampTz run_at = PG_ARGISNULL(number) ? 0 : PG_GETARG_TIMESTAMPTZ(number);
	options.run_at = PG_ARGISNULL(number) ? nullptr : &run_at;
	return body(options);
}

Datum
queue_ext_queue_release(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release()");
	return with_run_at(fcinfo, 3, [&](const FinishOptions &options) {
		return finish_job(fcinfo, Action::release, Attempt::required, options);
	});
}

Datum
queue_ext_queue_release_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_many()");
	return with_run_at(fcinfo, 3, [&](const FinishOptions &options) {
		return finish_jobs(fcinfo, Action::release, Attempt::required, options);
	});
}

Datum
queue_ext_queue_release_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_row()");
	return with_run_at(fcinfo, 2, [&](const FinishOptions &options) {
		return BoolGetDatum(finish_row(fcinfo, Action::release, options, nullptr));
	});
}

Datum
queue_ext_queue_release_receipt(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_receipt()");
	return with_run_at(fcinfo, 2, [&](const FinishOptions &options) {
		return BoolGetDatum(finish_receipt(fcinfo, Action::release, options, nullptr));
	});
}

Datum
queue_ext_queue_release_receipts(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_receipts()");
	return with_run_at(fcinfo, 2, [&](const FinishOptions &options) {
		return finish_receipts(fcinfo, Action::release, options);
	});
}

} // namespace queue_ext::queue
