// stats.cpp - queue_stats_counters and queue_stats_buckets, behind the views queue_stats,
// queue_wait_histogram and queue_run_histogram; and queue_stats_reset.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/open.hpp"
#include "../result.hpp"
#include "estimate.hpp"

namespace queue_ext::queue {

using ring::RingView;
using stats::Counter;
using stats::Entry;
using stats::Estimate;

QUEUE_EXT_FUNCTION(queue_ext_queue_stats_counters);
QUEUE_EXT_FUNCTION(queue_ext_queue_stats_buckets);
QUEUE_EXT_FUNCTION(queue_ext_queue_stats_reset);

namespace {

// A row of a result, whose columns are set one after the other.
struct StatsRow
{
	static constexpr int most_columns = 25;
	Datum values[most_columns];
	bool nulls[most_columns];
	int count;

	void set(Datum value)
	{
		Assert(count < most_columns);
		nulls[count] = false;
		values[count++] = value;
	}
	void set_null()
	{
		Assert(count < most_columns);
		nulls[count] = true;
		values[count++] = 0;
	}
};

} // namespace

// Calls visit() with a copy of each entry of this database: nothing that can raise may run under its
// spinlock.
template <typename Visit>
static void
visit_entries(Visit &&visit)
{
	for (int i = 0; i < stats::entry_count(); i++) {
		CHECK_FOR_INTERRUPTS();
		Entry entry;
		if (stats::copy_entry(i, &entry))
			visit(entry);
	}
}

// The first columns of all results.
static StatsRow
begin_row(const Entry &entry)
{
	StatsRow row{};
	row.set(ObjectIdGetDatum(entry.key.table));
	if (entry.key.is_managed)
		row.set_null();
	else
		row.set(CStringGetTextDatum(NameStr(entry.key.queue)));
	return row;
}

static void
put(const ReturnSetInfo *result, StatsRow *row)
{
	tuplestore_putvalues(result->setResult, result->setDesc, row->values, row->nulls);
}

namespace {

// The rings of this database.
struct Rings
{
	const RingView *views;
	int count;
};

} // namespace

// The queue's rings, or null.
static const RingView *
find_view(const Rings &rings, const Entry &entry)
{
	RingView wanted{};
	wanted.table = entry.key.table;
	wanted.queue = entry.name;
	return static_cast<const RingView *>(
		bsearch(&wanted, rings.views, rings.count, sizeof(RingView), ring::compare_views));
}

// Null if it is not known.
static void
set_oldest(StatsRow *row, TimestampTz at)
{
	if (at == PG_INT64_MAX)
		row->set_null();
	else
		row->set(TimestampTzGetDatum(at));
}

static void
set_if(StatsRow *row, bool is_known, int64 number)
{
	if (is_known)
		row->set(Int64GetDatum(number));
	else
		row->set_null();
}

// The columns from ready on, of a managed queue.
static void
set_estimate(StatsRow *row, const Estimate &estimate, const RingView *ring, TimestampTz now)
{
	const Ready ready = count_ready(estimate, ring, now);
	const Oldest oldest = oldest_ready(estimate, ring, now);
	const int64 least = oldest.at == PG_INT64_MAX ? 0 : 1;
	set_if(row, ready.is_known, ready.is_exact ? ready.jobs : Max(ready.jobs, least));
	row->set(BoolGetDatum(ready.is_exact));
	set_if(row, knows_scheduled(estimate, now), Max(0, estimate.scheduled));
	set_if(row, estimate.is_counted, Max(0, estimate.leased));
	set_oldest(row, oldest.at);
	row->set(BoolGetDatum(oldest.is_exact));
}

// The columns from ready on, of an attached queue, whose rings do not show which jobs they lack.
static void
set_candidates(StatsRow *row, const RingView *ring)
{
	set_if(row, ring != nullptr, ring == nullptr ? 0 : ring->candidates);
	row->set(BoolGetDatum(false));
	row->set_null();
	row->set_null();
	set_oldest(row, ring == nullptr || ring->heads.count == 0 ? PG_INT64_MAX
															  : ring->heads.marks[0].since.sure_at);
	row->set(BoolGetDatum(false));
}

static void
put_counters(const ReturnSetInfo *result, const Entry &entry, const Rings &rings, TimestampTz now)
{
	StatsRow row = begin_row(entry);
	row.set(TimestampTzGetDatum(entry.since));
	const Counter counters[] = {
		Counter::sent,     Counter::claimed,   Counter::completed, Counter::failed,
		Counter::retried,  Counter::dead,      Counter::moved,     Counter::unstarted,
		Counter::released, Counter::cancelled, Counter::expired,   Counter::duplicates,
		Counter::waits,
	};
	for (const Counter counter : counters) {
		const bool is_known =
			entry.key.is_managed || (counter != Counter::retried && counter != Counter::dead &&
									 counter != Counter::moved && counter != Counter::unstarted &&
									 counter != Counter::cancelled && counter != Counter::expired);
		if (is_known)
			row.set(Int64GetDatum(entry.counts.get(counter)));
		else
			row.set_null();
	}
	const RingView *ring = find_view(rings, entry);
	row.set(Int32GetDatum(ring == nullptr ? 0 : ring->waiting));
	if (entry.key.is_managed)
		set_estimate(&row, entry.estimate, ring != nullptr && ring->is_sorted ? ring : nullptr,
					 now);
	else
		set_candidates(&row, ring);
	put(result, &row);
}

Datum
queue_ext_queue_stats_counters(PG_FUNCTION_ARGS)
{
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	Rings rings{};
	rings.views = ring::view_rings(&rings.count);
	const TimestampTz now = GetCurrentTimestamp();
	visit_entries([&](const Entry &entry) { put_counters(result, entry, rings, now); });
	return static_cast<Datum>(0);
}

static double
seconds(int64 us)
{
	return static_cast<double>(us) / USECS_PER_SEC;
}

// Each bucket counts those of the buckets before it, too. The sum stands in all rows.
static void
put_buckets(const ReturnSetInfo *result, const Entry &entry, const stats::Histogram &histogram)
{
	StatsRow row = begin_row(entry);
	const int first = row.count;
	const double total = seconds(histogram.total_us);
	int64 jobs = 0;
	for (int i = 0; i < stats::bucket_count; i++) {
		const bool is_last = i == stats::bucket_count - 1;
		jobs += histogram.jobs[i];
		row.count = first;
		row.set(
			Float8GetDatum(is_last ? get_float8_infinity() : seconds(stats::bucket_ends_us[i])));
		row.set(Int64GetDatum(jobs));
		row.set(Float8GetDatum(total));
		put(result, &row);
	}
}

Datum
queue_ext_queue_stats_buckets(PG_FUNCTION_ARGS)
{
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	argument::check_not_null(fcinfo, 0, "of_runs");
	const bool is_run = PG_GETARG_BOOL(0);
	visit_entries([&](const Entry &entry) {
		put_buckets(result, entry, is_run ? entry.counts.running : entry.counts.waiting);
	});
	return static_cast<Datum>(0);
}

// Resets the queues of this database only.
Datum
queue_ext_queue_stats_reset(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0)) {
		stats::reset_all();
		PG_RETURN_VOID();
	}
	definition::Definition *definition =
		definition::open_queue(PG_GETARG_TEXT_PP(0), definition::Use::name);
	const stats::Place place = stats::place_of(definition);
	if (place.entry != nullptr)
		stats::reset(place, GetCurrentTimestamp());
	PG_RETURN_VOID();
}

} // namespace queue_ext::queue
