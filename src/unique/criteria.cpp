// criteria.cpp - see criteria.hpp.

#include "../postgres.hpp"

#include "criteria.hpp"

#include "../error.hpp"
#include "../schedule/zone.hpp"

namespace queue_ext::unique {

// Buckets are aligned to this moment: a Monday, midnight in UTC, or by the clock of the zone.
constexpr TimestampTz origin = 366 * USECS_PER_DAY; // 2001-01-01

// The limit of "by" in bytes, since it is part of every unique_key.
constexpr int max_by_length = 1000;

// Indexed by State.
static const char *const state_names[] = {"ready", "scheduled", "leased", "dead", "done"};
static_assert(lengthof(state_names) == state_count);

// Raises 22023 for a name that is no state.
static int
state_of(const KeyName &name)
{
	for (int i = 0; i < state_count; i++)
		if (strlen(state_names[i]) == static_cast<size_t>(name.length) &&
			memcmp(state_names[i], name.bytes, name.length) == 0)
			return i;
	error::unknown_counted_state(pnstrdup(name.bytes, name.length));
}

// By default all states count if there is a period, else all but dead and done. Raises 22023 for an
// empty array.
static void
read_states(Criteria *criteria, ArrayType *states)
{
	if (states == nullptr) {
		for (bool &counts : criteria->counts)
			counts = true;
		if (!criteria->has_period()) {
			criteria->counts[static_cast<int>(State::dead)] = false;
			criteria->counts[static_cast<int>(State::done)] = false;
		}
		return;
	}
	const Names names = read_names("states", states);
	if (names.count == 0)
		error::no_states();
	for (int i = 0; i < names.count; i++)
		criteria->counts[state_of(names.list[i])] = true;
}

// Raises 0A000 for months, whose length varies, and 22023 on overflow. A day is 24 hours.
static int64
microseconds_of(const Interval *period)
{
	if (period->month != 0)
		error::period_of_months(period);
	int64 days = 0;
	int64 sum = 0;
	if (pg_mul_s64_overflow(period->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, period->time, &sum))
		error::period_too_long(period);
	return sum;
}

// Rounds the time down to a multiple of the period since the origin.
static int64
round_down(int64 time, int64 period)
{
	const int64 since = time - origin;
	// NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a period is positive
	int64 into = since % period;
	if (into < 0)
		into += period;
	return time - into;
}

// The last bucket ends at infinity.
static TimestampTz
end_of(TimestampTz bucket, int64 period)
{
	TimestampTz end;
	return pg_add_s64_overflow(bucket, period, &end) || end >= END_TIMESTAMP ? DT_NOEND : end;
}

// Fits the bucket, which begins at that moment of the zone's clock, to changes of the clock between its beginning and the
// moment. An hour that it shows twice is two hours.
static void
fit_bucket(Criteria *criteria, TimestampTz moment, Timestamp begin, int64 offset, pg_tz *zone)
{
	TimestampTz shown;
	if (IS_VALID_TIMESTAMP(criteria->bucket) &&
		schedule::offset_at(criteria->bucket, zone) != offset &&
		schedule::moment_of(begin, zone, &shown))
		criteria->bucket = Min(shown, moment);
	if (criteria->bucket_end != DT_NOEND && schedule::moment_of(criteria->bucket_end, zone, &shown))
		criteria->bucket_end = Max(shown, moment);
}

// By the clock of a zone; null: UTC. An infinite moment is a bucket of its own.
static void
set_bucket(Criteria *criteria, TimestampTz moment, pg_tz *zone)
{
	criteria->bucket = criteria->bucket_end = moment;
	if (TIMESTAMP_NOT_FINITE(moment))
		return;
	const int64 offset = zone == nullptr ? 0 : schedule::offset_at(moment, zone);
	const Timestamp begin = round_down(moment - offset, criteria->period);
	criteria->bucket = begin + offset;
	criteria->bucket_end = end_of(begin, criteria->period);
	if (zone != nullptr)
		fit_bucket(criteria, moment, begin, offset, zone);
}

Criteria
read_criteria(const JobChoice &choice)
{
	Criteria criteria{};
	criteria.is_whole = choice.unique_by == nullptr;
	if (!criteria.is_whole) {
		criteria.names = read_names("unique_by", choice.unique_by);
		StringInfoData by;
		initStringInfo(&by);
		append_names(&by, criteria.names);
		if (by.len > max_by_length)
			error::names_too_long("unique_by", max_by_length);
		criteria.by = by.data;
	}
	pg_tz *zone = choice.time_zone == nullptr ? nullptr : schedule::zone_of(choice.time_zone);
	if (choice.period != nullptr) {
		error::check_positive("period", choice.period);
		criteria.period = microseconds_of(choice.period);
		set_bucket(&criteria, choice.moment, zone);
	}
	read_states(&criteria, choice.states);
	return criteria;
}

} // namespace queue_ext::unique
