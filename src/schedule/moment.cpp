// moment.cpp - see moment.hpp.

#include "../postgres.hpp"

#include "moment.hpp"

#include "../error.hpp"
#include "cron.hpp"
#include "zone.hpp"

namespace queue_ext::schedule {

// Raises 22023 if it is none.
static cron::Expression
expression_of(const char *text)
{
	cron::Expression expression{};
	const cron::Fault fault = cron::parse_expression(text, strlen(text), &expression);
	if (fault.reason != nullptr)
		error::bad_cron(text, fault.reason, fault.field,
						pnstrdup(text + fault.start, fault.length));
	return expression;
}

// Parts of different signs could lead backwards, depending on the month.
static void
check_every(const Interval *every)
{
	error::check_positive("every", every);
	error::check_parts("every", every);
	if (every->month == 0 && every->day == 0 && every->time < USECS_PER_SEC)
		error::every_too_short(every);
}

void
check_timing(const Timing &timing)
{
	(void) zone_of(timing.time_zone);
	if (timing.cron != nullptr) {
		error::check_cron_length(timing.cron);
		(void) expression_of(timing.cron);
	} else
		check_every(timing.every);
}

// timestamptz_pl_interval() adds months and days in the session's zone.
static TimestampTz
add(TimestampTz moment, const Interval *interval, pg_tz *zone)
{
	pg_tz *volatile own = session_timezone;
	volatile TimestampTz sum = 0;
	session_timezone = zone;
	PG_TRY();
	{
		sum = DatumGetTimestampTz(DirectFunctionCall2(
			timestamptz_pl_interval, TimestampTzGetDatum(moment), IntervalPGetDatum(interval)));
	}
	PG_FINALLY();
	{
		session_timezone = own;
	}
	PG_END_TRY();
	return sum;
}

// The next moment of an interval's grid. It is a later one, whatever the zone's clock does.
static TimestampTz
step(const Timing &timing, TimestampTz planned, pg_tz *zone)
{
	return Max(add(planned, timing.every, zone), planned + USECS_PER_SEC);
}

// The first moment after now of the grid that has that one.
static TimestampTz
step_past(const Timing &timing, TimestampTz planned, TimestampTz now)
{
	pg_tz *zone = zone_of(timing.time_zone);
	const Interval *every = timing.every;
	if (every->month == 0 && every->day == 0 && planned <= now)
		planned += (now - planned) / every->time * every->time;
	while (planned <= now) {
		CHECK_FOR_INTERRUPTS();
		planned = step(timing, planned, zone);
	}
	return planned;
}

namespace {

// A time in which a zone's clock runs without a change, in seconds since 1970.
struct Span
{
	pg_time_t end;       // the change at its end; the highest time if there is none
	int64 offset;        // of the clock from UTC
	pg_time_t begin;     // the last change before it, if that was not long ago; else 0
	int64 former_offset; // of the clock before that change
	bool has_begin;
};

} // namespace

// No clock is put forward or back by more than that.
constexpr pg_time_t longest_change = SECS_PER_DAY + SECS_PER_HOUR;

// The span that has that time.
static Span
span_at(pg_time_t moment, pg_tz *zone)
{
	Span span{};
	long before = 0;
	long after = 0;
	int is_dst = 0;
	pg_time_t boundary = 0;
	const pg_time_t earlier = moment - longest_change;
	if (pg_next_dst_boundary(&earlier, &before, &is_dst, &boundary, &after, &is_dst, zone) > 0 &&
		boundary <= moment) {
		span.has_begin = true;
		span.begin = boundary;
		span.former_offset = before;
	}
	const int found =
		pg_next_dst_boundary(&moment, &before, &is_dst, &boundary, &after, &is_dst, zone);
	span.offset = before;
	span.end = found > 0 ? boundary : PG_INT64_MAX;
	return span;
}

// The first moment of the expression in the span, not before "from". False if there is none.
static bool
find_in_span(const cron::Expression &expression, const Span &span, pg_time_t from,
			 pg_time_t *moment)
{
	const bool is_hourly = expression.hours == cron::all_hours;
	int64 first = from + span.offset;
	int64 local = 0;
	*moment = PG_INT64_MAX;
	if (span.has_begin && !is_hourly) {
		// What the clock has shown before the change is not meant again.
		first = Max(first, span.begin + span.former_offset);
		// What it has skipped is meant now.
		if (cron::next(expression, from + span.former_offset, &local) &&
			local < span.begin + span.offset)
			*moment = local - span.former_offset;
	}
	if (cron::next(expression, first, &local))
		*moment = Min(*moment, local - span.offset);
	return *moment < span.end;
}

// Seconds since 1970, rounded up.
static pg_time_t
seconds_of(TimestampTz moment)
{
	constexpr int64 epoch =
		static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	return -cron::floor_divide(-moment, USECS_PER_SEC) + epoch;
}

// The first moment of the expression that is not before "from". Leap years may be eight years apart,
// and a year has few changes of the clock.
static TimestampTz
find_from(const Timing &timing, TimestampTz from)
{
	constexpr int most_spans = 1000;
	const cron::Expression expression = expression_of(timing.cron);
	pg_tz *zone = zone_of(timing.time_zone);
	pg_time_t begin = seconds_of(from);
	for (int i = 0; i < most_spans; i++) {
		CHECK_FOR_INTERRUPTS();
		const Span span = span_at(begin, zone);
		pg_time_t moment;
		if (find_in_span(expression, span, begin, &moment)) {
			const TimestampTz found = time_t_to_timestamptz(moment);
			if (!IS_VALID_TIMESTAMP(found))
				break;
			return found;
		}
		if (span.end == PG_INT64_MAX)
			break;
		begin = span.end;
	}
	error::moment_out_of_range();
}

TimestampTz
moment_after(const Timing &timing, TimestampTz planned)
{
	return timing.cron != nullptr ? find_from(timing, planned + 1)
								  : step(timing, planned, zone_of(timing.time_zone));
}

// The first moment after now of the grid that has that one.
static TimestampTz
moment_past(const Timing &timing, TimestampTz planned, TimestampTz now)
{
	return timing.cron != nullptr ? find_from(timing, Max(planned, now) + 1)
								  : step_past(timing, planned, now);
}

TimestampTz
first_moment(const Timing &timing, const TimestampTz *starts_at, TimestampTz now)
{
	if (starts_at == nullptr)
		return moment_after(timing, now);
	if (*starts_at <= now)
		return moment_past(timing, *starts_at, now);
	return timing.cron != nullptr ? find_from(timing, *starts_at) : *starts_at;
}

TimestampTz
next_moment(const Timing &timing, TimestampTz planned, TimestampTz now)
{
	const TimestampTz next = moment_after(timing, planned);
	return next > now || timing.missed == Missed::all ? next : moment_past(timing, planned, now);
}

bool
is_left_out(const Timing &timing, TimestampTz planned, TimestampTz now)
{
	return timing.missed == Missed::skip && moment_after(timing, planned) <= now;
}

} // namespace queue_ext::schedule
