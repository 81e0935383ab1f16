// release.cpp - queue_release, queue_release_many, queue_release_row:
// the job is given back, and no attempt charged.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "finish_call.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_release);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_many);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_row);

// Argument 3 of the release functions.
template <typename Body>
static Datum
with_run_at(FunctionCallInfo fcinfo, Body &&body)
{
	FinishOptions options = options_now();
	const TimestampTz run_at = PG_ARGISNULL(3) ? 0 : PG_GETARG_TIMESTAMPTZ(3);
	options.run_at = PG_ARGISNULL(3) ? nullptr : &run_at;
	return body(options);
}

Datum
queue_ext_queue_release(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release()");
	return with_run_at(fcinfo, [&](const FinishOptions &options) {
		return finish_job(fcinfo, Action::release, Attempt::required, options);
	});
}

Datum
queue_ext_queue_release_many(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_many()");
	return with_run_at(fcinfo, [&](const FinishOptions &options) {
		return finish_jobs(fcinfo, Action::release, Attempt::required, options);
	});
}

Datum
queue_ext_queue_release_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_row()");
	FinishOptions options = options_now();
	const TimestampTz run_at = PG_ARGISNULL(2) ? 0 : PG_GETARG_TIMESTAMPTZ(2);
	options.run_at = PG_ARGISNULL(2) ? nullptr : &run_at;
	PG_RETURN_BOOL(finish_row(fcinfo, Action::release, options, nullptr));
}

} // namespace queue_ext::queue
