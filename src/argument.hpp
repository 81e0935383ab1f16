// argument.hpp - from PG_FUNCTION_ARGS to plain values, for entry points.
//
// The parameter is called fcinfo because PostgreSQL's PG_GETARG macros expand to that name. A
// required_ function raises 22004 for a null argument. Nothing here takes a lock. An entry point
// that writes calls check_may_write() first.

#pragma once

#include "postgres.hpp"

#include "error.hpp"
#include "interval.hpp"

namespace queue_ext::argument {

// Raises 25006 in a read-only transaction or on a standby, 25000 in a parallel query: the executor
// checks a statement that writes, but not a function that writes without one.
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

// The argument, detoasted if it was toasted. Raises 22004 when it is null.
inline const text *
required_text(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return PG_GETARG_TEXT_PP(n);
}

// Raises 22004 when the argument is null.
inline int32
required_int32(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return PG_GETARG_INT32(n);
}

// Raises 22004 when the argument is null.
inline int64
required_int64(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return PG_GETARG_INT64(n);
}

// Null when the argument is null.
inline const char *
optional_string(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

// Null when the argument is null.
inline const Interval *
optional_interval(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? nullptr : PG_GETARG_INTERVAL_P(n);
}

// Null when the argument is null. Raises 22023 when the interval is not positive or is infinite.
inline const Interval *
optional_positive(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_interval(fcinfo, n);
	if (value != nullptr)
		error::check_positive(what, value);
	return value;
}

// Null when the argument is null. Raises 22023 when the interval is negative or infinite.
inline const Interval *
optional_not_negative(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_interval(fcinfo, n);
	if (value != nullptr)
		error::check_not_negative(what, value);
	return value;
}

// How long to keep something: null when the argument is null. Raises 22023 when a part of the interval is
// negative or it is infinite: it might come to nothing, which is for ever.
inline const Interval *
optional_keep(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_not_negative(fcinfo, n, what);
	if (value != nullptr)
		error::check_parts(what, value);
	return value;
}

// Raises 22004 when the argument is null, 22023 when it is not positive or is infinite.
inline const Interval *
required_positive(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return optional_positive(fcinfo, n, what);
}

// Null when the argument is null. Raises 22023 when the interval is not positive or is infinite,
// 22008 when an interval that begins now would end after the last timestamp.
inline const Interval *
optional_duration(FunctionCallInfo fcinfo, int n, const char *what)
{
	const Interval *value = optional_interval(fcinfo, n);
	if (value != nullptr)
		check_duration(what, value);
	return value;
}

// As optional_duration(), but raises 22004 when the argument is null.
inline const Interval *
required_duration(FunctionCallInfo fcinfo, int n, const char *what)
{
	check_not_null(fcinfo, n, what);
	return optional_duration(fcinfo, n, what);
}

// The array; its elements may be null. Raises 22004 when the argument is null, 2202E when the array
// has more than one dimension.
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
