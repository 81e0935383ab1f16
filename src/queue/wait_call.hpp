// wait_call.hpp - what the procedures have in common that sleep until there is a job.

#pragma once

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../interval.hpp"
#include "../steady_time.hpp"
#include "../wait/sleep.hpp"

namespace queue_ext::queue {

// Reads argument 1. Raises 22004, 22023, 22008.
inline wait::Wait
read_wait(FunctionCallInfo fcinfo, bool is_claiming)
{
	argument::check_not_null(fcinfo, 1, "wait");
	wait::Wait wait{};
	wait.is_claiming = is_claiming;
	const TimestampTz begun = GetCurrentTimestamp();
	const Interval *interval = argument::optional_not_negative(fcinfo, 1, "wait");
	wait.until = steady_now() + (end_of_interval(begun, interval) - begun);
	return wait;
}

// For what a look needs, and is forgotten after it.
inline MemoryContext
create_round()
{
	return AllocSetContextCreate(CurrentMemoryContext, "queue_ext wait", ALLOCSET_DEFAULT_SIZES);
}

} // namespace queue_ext::queue
