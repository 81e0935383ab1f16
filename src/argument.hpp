// argument.hpp - from PG_FUNCTION_ARGS to plain values, for entry points.
//
// Expands where fcinfo is in scope. A null where a value is needed raises 22004; nothing
// here locks. An entry point asks check_may_write() first of all.

#pragma once

#include "postgres.hpp"

#include "error.hpp"
#include "interval.hpp"

namespace queue_ext::argument {

// Raises what the executor raises for a statement that writes, and does not see of a
// function: 25006 in a read-only transaction or on a standby, 25000 in a parallel query.
inline void
check_may_write(const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

// Raises 22004 when argument n is null.
inline void
check_not_null(FunctionCallInfo fcinfo, int n, const char *what)
{
	if (PG_ARGISNULL(n))
		error::null_argument(what);
}

inline const text *
required_text(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return PG_GETARG_TEXT_PP(n);
}

inline int32
required_int32(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return PG_GETARG_INT32(n);
}

inline int64
required_int64(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return PG_GETARG_INT64(n);
}

// Null when the argument is null.
inline const Interval *
optional_interval(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? nullptr : PG_GETARG_INTERVAL_P(n);
}

// The same; raises 22023 when it is not positive.
inline const Interval *
optional_positive(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_interval(fcinfo, n);
	if (value != nullptr)
		error::check_positive(what, value);
	return value;
}

// The same; raises 22023 when it is negative.
inline const Interval *
optional_not_negative(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_interval(fcinfo, n);
	if (value != nullptr)
		error::check_not_negative(what, value);
	return value;
}

inline const Interval *
required_positive(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return optional_positive(fcinfo, n, what);
}

// Null when the argument is null. Raises 22023 when it is not positive, 22008 when it is so long
// that, begun now, it would not end.
inline const Interval *
optional_duration(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_interval(fcinfo, n);
	if (value != nullptr)
		check_duration(what, value);
	return value;
}

inline const Interval *
required_duration(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return optional_duration(fcinfo, n, what);
}

// The array, checked to be one-dimensional (or empty) and, if it must be, without
// nulls. Raises 22004, 2202E.
inline ArrayType *
required_array(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(n);
	if (ARR_NDIM(array) > 1)
		error::not_one_dimensional(what);
	return array;
}

} // namespace queue_ext::argument
