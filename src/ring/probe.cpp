// probe.cpp - see probe.hpp.

#include "../postgres.hpp"

#include "probe.hpp"

#ifdef QUEUE_EXT_SECTIONS

namespace queue_ext::ring {

namespace {

// All stays of this backend in one section.
struct Sum
{
	const char *section;
	uint64 count;
	uint64 ticks;
	uint64 longest;
};

} // namespace

constexpr int most_sections = 64;
static Sum sums[most_sections];
static int sum_count = 0;

// The first stay, by both clocks.
static uint64 first_tick = 0;
static instr_time first_time;

// Stays of no length: what reading the clock twice adds to each.
static void
add_empty_stays()
{
	constexpr int count = 1000;
	for (int i = 0; i < count; i++) {
		const uint64 begun = now();
		add_stay("(empty)", now() - begun);
	}
}

static void
log_sums(int, Datum)
{
	add_empty_stays();
	instr_time passed;
	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, first_time);
	const double ns_per_tick = INSTR_TIME_GET_DOUBLE(passed) * 1e9 / (now() - first_tick);
	for (int i = 0; i < sum_count; i++) {
		const Sum &sum = sums[i];
		ereport(LOG, (errmsg_internal("section %s: %llu stays, %.0f ns, longest %.0f ns",
									  sum.section, static_cast<unsigned long long>(sum.count),
									  sum.ticks * ns_per_tick, sum.longest * ns_per_tick)));
	}
}

void
add_stay(const char *section, uint64 ticks)
{
	if (sum_count == 0) {
		INSTR_TIME_SET_CURRENT(first_time);
		first_tick = now();
		on_proc_exit(log_sums, 0);
	}
	int i = 0;
	while (i < sum_count && strcmp(sums[i].section, section) != 0)
		i++;
	if (i == most_sections)
		return;
	if (i == sum_count)
		sums[sum_count++].section = section;
	sums[i].count++;
	sums[i].ticks += ticks;
	sums[i].longest = Max(sums[i].longest, ticks);
}

} // namespace queue_ext::ring

#endif
