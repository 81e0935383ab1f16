// send.hpp - the options of a new job, for the entry points that add jobs.
//
// They stand behind each other in the arguments: priority, run_at, max_attempts.

#pragma once

#include "../postgres.hpp"

#include "../claim/direct.hpp"
#include "../error.hpp"
#include "argument.hpp"
#include "definition.hpp"
#include "managed.hpp"

namespace queue_ext::queue {

// The options, the first of which is argument n. Raises 22004, 22023.
inline Arguments
read_send_options(FunctionCallInfo fcinfo, int n, const Definition *definition)
{
	const int32 priority = required_int32(fcinfo, n, "priority");
	error::check_range("priority", priority, PG_INT16_MIN, PG_INT16_MAX);
	const int32 max_attempts =
		PG_ARGISNULL(n + 2) ? definition->max_attempts : PG_GETARG_INT32(n + 2);
	error::check_range("max_attempts", max_attempts, 1, max_attempts_limit);

	Arguments arguments(GetCurrentTimestamp());
	arguments.set(Parameter::priority, Int16GetDatum(static_cast<int16>(priority)));
	arguments.set(Parameter::max_attempts, Int32GetDatum(max_attempts));
	if (!PG_ARGISNULL(n + 1))
		arguments.set(Parameter::run_at, PG_GETARG_DATUM(n + 1));
	return arguments;
}

// Lets claims know of the new jobs when they have been committed.
inline void
wake_for_new(FunctionCallInfo fcinfo, int n, Definition *definition)
{
	const TimestampTz run_at =
		PG_ARGISNULL(n + 1) ? GetCurrentTransactionStartTimestamp() : PG_GETARG_TIMESTAMPTZ(n + 1);
	claim::wake_at_commit(definition, PG_GETARG_INT32(n), run_at);
}

} // namespace queue_ext::queue
