// send_options.hpp - the options of new jobs, for the entry points that add jobs.
//
// The arguments are adjacent: priority, run_at, max_attempts.

#pragma once

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/insert.hpp"
#include "../definition/definition.hpp"
#include "../definition/managed.hpp"
#include "../error.hpp"

namespace queue_ext::queue {

// Reads the options from arguments n to n + 2. Raises 22004 for a null priority, 22023 for a value
// out of range.
inline statement::Arguments
read_send_options(FunctionCallInfo fcinfo, int n, const definition::Definition *definition)
{
	const int32 priority = argument::required_int32(fcinfo, n, "priority");
	error::check_range("priority", priority, PG_INT16_MIN, PG_INT16_MAX);
	const int32 max_attempts =
		PG_ARGISNULL(n + 2) ? definition->max_attempts : PG_GETARG_INT32(n + 2);
	error::check_range("max_attempts", max_attempts, 1, definition::max_attempts_limit);

	statement::Arguments arguments(GetCurrentTimestamp());
	arguments.set(statement::Parameter::priority, Int16GetDatum(static_cast<int16>(priority)));
	arguments.set(statement::Parameter::max_attempts, Int32GetDatum(max_attempts));
	if (!PG_ARGISNULL(n + 1))
		arguments.set(statement::Parameter::run_at, PG_GETARG_DATUM(n + 1));
	return arguments;
}

} // namespace queue_ext::queue
