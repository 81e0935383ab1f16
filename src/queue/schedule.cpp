// schedule.cpp - queue_schedule, queue_unschedule: jobs that come again and again.
//
// The caller must own the queue's table, since the occurrences are sent as its owner.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/recurring.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../definition/shape.hpp"
#include "../error.hpp"
#include "../schedule/store.hpp"

namespace queue_ext::queue {

using definition::Definition;
using schedule::Schedule;
using schedule::Timing;

QUEUE_EXT_FUNCTION(queue_ext_queue_schedule);
QUEUE_EXT_FUNCTION(queue_ext_queue_unschedule);

namespace {

// The numbers of queue_schedule's arguments.
enum Argument : int {
	argument_queue,
	argument_name,
	argument_every,
	argument_cron,
	argument_payload,
	argument_time_zone,
	argument_missed,
	argument_starts_at,
	argument_priority,
	argument_max_attempts,
	argument_kind,
};

} // namespace

// The hint if the queue is an attached one.
static constexpr const char *for_others = "Only the jobs of managed queues can recur.";

static const char *
required_string(FunctionCallInfo fcinfo, int n, const char *what)
{
	return text_to_cstring(argument::required_text(fcinfo, n, what));
}

// Raises 22004, 22023.
static const char *
read_name(FunctionCallInfo fcinfo)
{
	const char *name = required_string(fcinfo, argument_name, "name");
	error::check_schedule_name(name);
	return name;
}

// Raises 22004, 22023.
static Timing
read_timing(FunctionCallInfo fcinfo)
{
	const Timing timing{argument::optional_interval(fcinfo, argument_every),
						argument::optional_string(fcinfo, argument_cron),
						required_string(fcinfo, argument_time_zone, "time_zone"),
						schedule::missed_of(required_string(fcinfo, argument_missed, "missed"))};
	if ((timing.every == nullptr) == (timing.cron == nullptr))
		error::every_or_cron();
	schedule::check_timing(timing);
	return timing;
}

// Null if it was not given. Raises 22008.
static const TimestampTz *
read_start(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(argument_starts_at))
		return nullptr;
	auto *starts_at = static_cast<TimestampTz *>(palloc(sizeof(TimestampTz)));
	*starts_at = PG_GETARG_TIMESTAMPTZ(argument_starts_at);
	if (TIMESTAMP_NOT_FINITE(*starts_at))
		error::moment_out_of_range();
	return starts_at;
}

// Raises 22004, 22023, 22008.
static Schedule
read_schedule(FunctionCallInfo fcinfo)
{
	Schedule schedule{};
	schedule.name = read_name(fcinfo);
	schedule.timing = read_timing(fcinfo);
	argument::check_not_null(fcinfo, argument_payload, "payload");
	schedule.payload = PointerGetDatum(PG_GETARG_JSONB_P(argument_payload));
	schedule.starts_at = read_start(fcinfo);
	const int32 priority = argument::required_int32(fcinfo, argument_priority, "priority");
	error::check_range("priority", priority, PG_INT16_MIN, PG_INT16_MAX);
	schedule.priority = static_cast<int16>(priority);
	if (!PG_ARGISNULL(argument_max_attempts)) {
		schedule.max_attempts = PG_GETARG_INT32(argument_max_attempts);
		error::check_range("max_attempts", schedule.max_attempts, 1,
						   definition::max_attempts_limit);
	}
	if (!PG_ARGISNULL(argument_kind))
		error::check_kind(PG_GETARG_TEXT_PP(argument_kind));
	schedule.kind = argument::optional_string(fcinfo, argument_kind);
	return schedule;
}

static bool
are_equal(const char *one, const char *other)
{
	return one == nullptr || other == nullptr ? one == other : strcmp(one, other) == 0;
}

// Whether both have the same grid of moments. Intervals are compared by their parts: a day is not
// always 24 hours.
static bool
have_same_grid(const Schedule &one, const Schedule &other)
{
	const Interval *every = one.timing.every;
	const Interval *other_every = other.timing.every;
	const bool is_same_interval = every == nullptr || other_every == nullptr
									  ? every == other_every
									  : every->time == other_every->time &&
											every->day == other_every->day &&
											every->month == other_every->month;
	const bool is_same_start = one.starts_at == nullptr || other.starts_at == nullptr
								   ? one.starts_at == other.starts_at
								   : *one.starts_at == *other.starts_at;
	return is_same_interval && is_same_start && are_equal(one.timing.cron, other.timing.cron) &&
		   strcmp(one.timing.time_zone, other.timing.time_zone) == 0;
}

// Whether both are the same but for the next occurrence.
static bool
are_equal(const Schedule &one, const Schedule &other)
{
	return have_same_grid(one, other) && one.timing.missed == other.timing.missed &&
		   one.priority == other.priority && one.max_attempts == other.max_attempts &&
		   are_equal(one.kind, other.kind) && datumIsEqual(one.payload, other.payload, false, -1);
}

// Removes the occurrence that no worker has taken, and returns the schedule as it is then: null if
// there is none. The schedules are locked, so only a worker can change it; it has the occurrence's row
// then, which the removal waits for, and the next look shows what has become of it. Once the
// occurrence is removed or lost, no worker can change it.
static Schedule *
take_out(Definition *definition, const char *name)
{
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		Schedule *found = schedule::find_schedule(definition->source, name);
		if (found == nullptr || claim::remove_occurrence(definition, *found))
			return found;
		const Schedule *again = schedule::find_schedule(definition->source, name);
		if (again == nullptr || again->job == found->job)
			return found;
	}
}

// Returns the time of the next occurrence. A call that changes nothing leaves the occurrence alone; one
// that changes the job only keeps its time.
static TimestampTz
schedule(Definition *definition, Schedule wanted)
{
	const Oid source = definition->source;
	wanted.source = source;
	LockRelationOid(source, RowExclusiveLock);
	(void) schedule::lock_schedules_of(source, true);
	const Schedule *present = schedule::find_schedule(source, wanted.name);
	if (present != nullptr && are_equal(*present, wanted) &&
		claim::has_occurrence(definition, *present))
		return present->next_run_at;
	const bool is_first = present == nullptr && !schedule::has_schedules(source);
	present = take_out(definition, wanted.name);
	wanted.next_run_at =
		present != nullptr && have_same_grid(*present, wanted)
			? present->next_run_at
			: schedule::first_moment(wanted.timing, wanted.starts_at, GetCurrentTimestamp());
	// There has to be a next one: the claim of the first would fail without it, and each claim after that.
	(void) schedule::moment_after(wanted.timing, wanted.next_run_at);
	wanted.job = claim::send_occurrence(definition, wanted);
	schedule::write_schedule(wanted);
	// Other backends look for occurrences from now on.
	if (is_first)
		CacheInvalidateRelcacheByRelid(source);
	return wanted.next_run_at;
}

Datum
queue_ext_queue_schedule(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_schedule()");
	const text *name = argument::required_text(fcinfo, argument_queue, "queue");
	const Schedule wanted = read_schedule(fcinfo);
	Definition *definition = open_managed_queue(name, definition::Use::own, for_others);
	if (wanted.kind != nullptr && !definition::has_kind(definition->source))
		error::no_kinds(definition->name, definition->source_name);
	PG_RETURN_TIMESTAMPTZ(schedule(definition, wanted));
}

Datum
queue_ext_queue_unschedule(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_unschedule()");
	const text *queue = argument::required_text(fcinfo, argument_queue, "queue");
	const char *name = read_name(fcinfo);
	Definition *definition = open_managed_queue(queue, definition::Use::own, for_others);
	LockRelationOid(definition->source, RowExclusiveLock);
	(void) schedule::lock_schedules_of(definition->source, true);
	const Schedule *found = take_out(definition, name);
	if (found == nullptr || schedule::lock_schedule(definition->source, name, true) == nullptr)
		PG_RETURN_BOOL(false);
	schedule::delete_schedule(*found);
	PG_RETURN_BOOL(true);
}

} // namespace queue_ext::queue
