// mutex.cpp - mutex_acquire, mutex_acquire_fenced, mutex_release, timeout_acquire,
// timeout_acquire_fenced, lock_set_retries: locks by name, held by one at a time, until released or
// for some time.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../error.hpp"
#include "../result.hpp"
#include "named_lock.hpp"

namespace queue_ext::lock {

QUEUE_EXT_FUNCTION(queue_ext_mutex_acquire);
QUEUE_EXT_FUNCTION(queue_ext_mutex_acquire_fenced);
QUEUE_EXT_FUNCTION(queue_ext_timeout_acquire);
QUEUE_EXT_FUNCTION(queue_ext_timeout_acquire_fenced);
QUEUE_EXT_FUNCTION(queue_ext_mutex_release);
QUEUE_EXT_FUNCTION(queue_ext_lock_set_retries);

// Reads argument 0 of all these functions. Raises 22004, and 22023 if it is blank.
static const text *
task_id_of(FunctionCallInfo fcinfo)
{
	const text *task_id = argument::required_text(fcinfo, 0, "task_id");
	error::check_not_blank("task_id", task_id);
	return task_id;
}

// Raises 22023 unless it is positive.
static const Interval *
timeout_of(FunctionCallInfo fcinfo)
{
	return argument::required_positive(fcinfo, 1, "timeout");
}

// Returns the record (acquired, token); the token is null unless acquired.
static Datum
fenced_result(FunctionCallInfo fcinfo, int64 token)
{
	TupleDesc descriptor = result::row_type(fcinfo);
	const bool is_acquired = token > 0;
	Datum values[] = {BoolGetDatum(is_acquired), Int64GetDatum(token)};
	bool nulls[] = {false, !is_acquired};
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

Datum
queue_ext_mutex_acquire(PG_FUNCTION_ARGS)
{
	argument::check_may_write("mutex_acquire()");
	PG_RETURN_BOOL(acquire(task_id_of(fcinfo), nullptr) > 0);
}

Datum
queue_ext_mutex_acquire_fenced(PG_FUNCTION_ARGS)
{
	argument::check_may_write("mutex_acquire_fenced()");
	return fenced_result(fcinfo, acquire(task_id_of(fcinfo), nullptr));
}

Datum
queue_ext_timeout_acquire(PG_FUNCTION_ARGS)
{
	argument::check_may_write("timeout_acquire()");
	PG_RETURN_BOOL(acquire(task_id_of(fcinfo), timeout_of(fcinfo)) > 0);
}

Datum
queue_ext_timeout_acquire_fenced(PG_FUNCTION_ARGS)
{
	argument::check_may_write("timeout_acquire_fenced()");
	return fenced_result(fcinfo, acquire(task_id_of(fcinfo), timeout_of(fcinfo)));
}

// Serves both signatures: without and with a token.
Datum
queue_ext_mutex_release(PG_FUNCTION_ARGS)
{
	argument::check_may_write("mutex_release()");
	const text *task_id = task_id_of(fcinfo);
	const int64 token = PG_NARGS() > 1 ? PG_GETARG_INT64(1) : 0;
	PG_RETURN_BOOL(release(task_id, PG_NARGS() > 1 ? &token : nullptr));
}

// A null removes the limit. Raises 22023 for a negative number.
Datum
queue_ext_lock_set_retries(PG_FUNCTION_ARGS)
{
	argument::check_may_write("lock_set_retries()");
	const text *task_id = task_id_of(fcinfo);
	const int32 retries = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);
	error::check_range("retries", retries, 0, PG_INT32_MAX);
	set_retries(task_id, PG_ARGISNULL(1) ? nullptr : &retries);
	PG_RETURN_VOID();
}

} // namespace queue_ext::lock
