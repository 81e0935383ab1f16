// throttle.cpp - throttle_create, throttle_alter, throttle_drop, lock_throttled_resource, throttle_acquire. A
// resource is named by a text, or by a value of any enum, which stands for its label.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../error.hpp"
#include "../interval.hpp"
#include "../result.hpp"
#include "resource.hpp"

namespace queue_ext::throttle {

QUEUE_EXT_FUNCTION(queue_ext_throttle_create);
QUEUE_EXT_FUNCTION(queue_ext_throttle_create_enum);
QUEUE_EXT_FUNCTION(queue_ext_throttle_alter);
QUEUE_EXT_FUNCTION(queue_ext_throttle_alter_enum);
QUEUE_EXT_FUNCTION(queue_ext_throttle_drop);
QUEUE_EXT_FUNCTION(queue_ext_throttle_drop_enum);
QUEUE_EXT_FUNCTION(queue_ext_lock_throttled_resource);
QUEUE_EXT_FUNCTION(queue_ext_lock_throttled_resource_enum);
QUEUE_EXT_FUNCTION(queue_ext_throttle_acquire);
QUEUE_EXT_FUNCTION(queue_ext_throttle_acquire_enum);

// Bounds earlier_grants, which is rewritten at each grant; throttled_resource_grants_check repeats
// it.
constexpr int32 max_grants = 1000;

// Raises 22023.
static void
check_grants(int32 grants)
{
	error::check_range("grants", grants, 1, max_grants);
}

// Returns the resource that argument 0 names. Raises 22004 for a null.
static const text *
named_resource(FunctionCallInfo fcinfo)
{
	return argument::required_text(fcinfo, 0, "resource");
}

// Returns the resource that the enum of argument 0 names by its label. Raises 22004 for a null.
static const text *
enum_resource(FunctionCallInfo fcinfo)
{
	argument::check_not_null(fcinfo, 0, "resource");
	return cstring_to_text(DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(0))));
}

// Raises 22004, 22023 and 22008 for the arguments, 42710 if the resource already exists.
template <auto resource_of>
static Datum
create(FunctionCallInfo fcinfo)
{
	argument::check_may_write("throttle_create()");
	const text *resource = resource_of(fcinfo);
	argument::check_not_null(fcinfo, 1, "throttle_interval");
	const int32 grants = argument::required_int32(fcinfo, 2, "grants");
	error::check_not_blank("resource", resource);
	check_duration("throttle_interval", PG_GETARG_INTERVAL_P(1));
	check_grants(grants);
	if (!create_resource(resource, PG_GETARG_INTERVAL_P(1), grants))
		error::resource_exists(text_to_cstring(resource));
	PG_RETURN_VOID();
}

// A null argument leaves the value as it is. Raises 42704 if there is no such resource.
template <auto resource_of>
static Datum
alter(FunctionCallInfo fcinfo)
{
	argument::check_may_write("throttle_alter()");
	const text *resource = resource_of(fcinfo);
	const Interval *interval = argument::optional_duration(fcinfo, 1, "throttle_interval");
	const int32 grants = PG_ARGISNULL(2) ? 1 : PG_GETARG_INT32(2);
	check_grants(grants);
	if (!alter_resource(resource, interval, PG_ARGISNULL(2) ? nullptr : &grants))
		error::no_such_resource(text_to_cstring(resource));
	PG_RETURN_VOID();
}

// Raises 42704 if there is no such resource, unless if_exists is true.
template <auto resource_of>
static Datum
drop(FunctionCallInfo fcinfo)
{
	argument::check_may_write("throttle_drop()");
	const text *resource = resource_of(fcinfo);
	argument::check_not_null(fcinfo, 1, "if_exists");
	const bool is_dropped = drop_resource(resource);
	if (!is_dropped && !PG_GETARG_BOOL(1))
		error::no_such_resource(text_to_cstring(resource));
	PG_RETURN_BOOL(is_dropped);
}

// The functions are strict, so no argument is null. Raises 23514 for blank details.
template <auto resource_of>
static Datum
lock(FunctionCallInfo fcinfo)
{
	argument::check_may_write("lock_throttled_resource()");
	const text *details = PG_GETARG_TEXT_PP(1);
	if (error::is_blank(details))
		error::blank_details();
	PG_RETURN_BOOL(lock_resource(resource_of(fcinfo), details, nullptr));
}

// Raises 22004 for a null, 23514 for blank details.
template <auto resource_of>
static Datum
acquire(FunctionCallInfo fcinfo)
{
	argument::check_may_write("throttle_acquire()");
	const text *resource = resource_of(fcinfo);
	const text *details = argument::required_text(fcinfo, 1, "details");
	if (error::is_blank(details))
		error::blank_details();
	TupleDesc descriptor = result::row_type(fcinfo);
	TimestampTz retry_at = 0;
	const bool is_granted = lock_resource(resource, details, &retry_at);
	Datum values[] = {BoolGetDatum(is_granted), TimestampTzGetDatum(retry_at)};
	bool nulls[] = {false, is_granted};
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

Datum
queue_ext_throttle_create(PG_FUNCTION_ARGS)
{
	return create<named_resource>(fcinfo);
}

Datum
queue_ext_throttle_create_enum(PG_FUNCTION_ARGS)
{
	return create<enum_resource>(fcinfo);
}

Datum
queue_ext_throttle_alter(PG_FUNCTION_ARGS)
{
	return alter<named_resource>(fcinfo);
}

Datum
queue_ext_throttle_alter_enum(PG_FUNCTION_ARGS)
{
	return alter<enum_resource>(fcinfo);
}

Datum
queue_ext_throttle_drop(PG_FUNCTION_ARGS)
{
	return drop<named_resource>(fcinfo);
}

Datum
queue_ext_throttle_drop_enum(PG_FUNCTION_ARGS)
{
	return drop<enum_resource>(fcinfo);
}

Datum
queue_ext_lock_throttled_resource(PG_FUNCTION_ARGS)
{
	return lock<named_resource>(fcinfo);
}

Datum
queue_ext_lock_throttled_resource_enum(PG_FUNCTION_ARGS)
{
	return lock<enum_resource>(fcinfo);
}

Datum
queue_ext_throttle_acquire(PG_FUNCTION_ARGS)
{
	return acquire<named_resource>(fcinfo);
}

Datum
queue_ext_throttle_acquire_enum(PG_FUNCTION_ARGS)
{
	return acquire<enum_resource>(fcinfo);
}

} // namespace queue_ext::throttle
