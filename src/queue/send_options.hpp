// send_options.hpp - the options of new jobs, for the entry points that add jobs.
//
// The arguments are adjacent: priority, run_at, max_attempts, kind; and at the end expires_at, expires_in. SQL objects of
// 0.1 have no kind, and none of the latter.

#pragma once

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/definition.hpp"
#include "../definition/managed.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../interval.hpp"
#include "../job/insert.hpp"

namespace queue_ext::queue {

// The kind, a name of 1 to 255 bytes. Raises 22023 for another length, 55000 where the table, of 0.1,
// has no column for it.
inline void
read_kind(FunctionCallInfo fcinfo, int n, const definition::Definition *definition,
		  statement::Arguments *arguments)
{
	if (PG_NARGS() <= n || PG_ARGISNULL(n))
		return;
	const text *kind = PG_GETARG_TEXT_PP(n);
	error::check_kind(kind);
	if (!definition::has_kind(definition->source))
		error::no_kinds(definition->name, definition->source_name);
	arguments->set(statement::Parameter::kind, PointerGetDatum(kind));
}

// Reads the options from arguments n to n + 3. Raises 22004 for a null priority, 22023 for a value
// out of range, and what read_kind() raises.
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
	read_kind(fcinfo, n + 3, definition, &arguments);
	return arguments;
}

// When the job expires: from arguments n, a time, and n + 1, an interval from when it can be claimed first. Raises 22023
// for both, and for an interval that is not positive, 22008 for one that ends after the last timestamp; 55000 where the
// queue does not say what becomes of it, or its table has no column for it.
inline void
read_expiry(FunctionCallInfo fcinfo, int n, const definition::Definition *definition,
			statement::Arguments *arguments)
{
	if (PG_NARGS() <= n || (PG_ARGISNULL(n) && PG_ARGISNULL(n + 1)))
		return;
	if (!PG_ARGISNULL(n) && !PG_ARGISNULL(n + 1))
		error::two_expiries();
	const Interval *after = argument::optional_positive(fcinfo, n + 1, "expires_in");
	if (definition->on_expire == definition::OnExpire::none)
		error::no_on_expire(definition->name, definition->source_name);
	if (!definition::has_expires_at(definition->source))
		error::column_missing(definition->name, "expires_at", definition->source_name);
	if (after == nullptr) {
		arguments->set(statement::Parameter::expires_at, PG_GETARG_DATUM(n));
		return;
	}
	const auto time = [&](statement::Parameter parameter) {
		return arguments->has(parameter)
				   ? DatumGetTimestampTz(arguments->values[static_cast<int>(parameter)])
				   : DT_NOBEGIN;
	};
	const TimestampTz begin =
		Max(time(statement::Parameter::call_time), time(statement::Parameter::run_at));
	arguments->set(statement::Parameter::expires_at,
				   TimestampTzGetDatum(end_of_interval(begin, after)));
}

} // namespace queue_ext::queue
