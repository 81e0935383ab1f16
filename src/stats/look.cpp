// look.cpp - see look.hpp.

#include "../postgres.hpp"

#include "look.hpp"

namespace queue_ext::stats {

// Read without the spinlock, as a hint. Null: the queue has none.
static const Estimate *
estimate_of(const definition::Definition *definition)
{
	const Place place = seen_place_of(definition);
	return place.entry == nullptr || place.entry->number != place.number || !is_on()
			   ? nullptr
			   : &place.entry->estimate;
}

static bool
is_unsure(const Estimate &estimate, TimestampTz now)
{
	return !estimate.is_whole || estimate.is_doubted || !estimate.is_counted ||
		   estimate.clock.at <= now || estimate.due <= now;
}

// Also where the ring may have jobs that have left.
bool
is_unsure(const definition::Definition *definition, TimestampTz now)
{
	const Estimate *estimate = estimate_of(definition);
	return estimate != nullptr && (is_unsure(*estimate, now) || !estimate->left.times.is_empty());
}

bool
is_to_count(const definition::Definition *definition, TimestampTz now)
{
	constexpr TimestampTz longest = USECS_PER_MINUTE;
	const Estimate *estimate = estimate_of(definition);
	return estimate != nullptr &&
		   (estimate->leased > 0 || is_unsure(*estimate, now) ||
			now - estimate->counted_at > longest || now < estimate->counted_at);
}

LookBegun
begin_look(definition::Definition *definition)
{
	LookBegun begun{place_of(definition), 0, 0};
	if (begun.place.entry == nullptr)
		return begun;
	with_entry(begun.place, [&](Entry *entry) {
		Estimate *estimate = &entry->estimate;
		forget(&estimate->told);
		begun.number = ++estimate->looks;
		begun.changes = estimate->changes;
	});
	return begun;
}

static bool
covers(const Look &look, int16 priority)
{
	return (look.is_from_head || priority > look.from) && (look.is_to_end || priority <= look.to);
}

// Only that they are there.
static Since
as_found(const Since &since)
{
	return {PG_INT64_MAX, since.sure_at, since.spare_at};
}

// The marks after the look. A row whose priority it does not cover is there all the same.
static Marks
marks_after(const Estimate *estimate, const Look &look)
{
	const bool is_all = look.is_from_head && look.is_to_end;
	Marks found = look.found;
	doubt(&found, estimate->told.claimed);
	doubt(&found, estimate->told.left);
	// Whole, as it goes into shared memory: memcheck sees what this process has written there, and not what another has since.
	Marks marks{};
	clear(&marks);
	for (int i = 0; i < found.count; i++) {
		const Mark &mark = found.marks[i];
		lower(&marks, mark.priority,
			  covers(look, mark.priority) ? mark.since : as_found(mark.since));
	}
	for (int i = 0; i < estimate->marks.count; i++) {
		const Mark &mark = estimate->marks.marks[i];
		if (!covers(look, mark.priority))
			lower(&marks, mark.priority, mark.since);
	}
	marks.rest = earlier(marks.rest, found.rest);
	if (!is_all)
		marks.rest = earlier(marks.rest, estimate->marks.rest);
	lower(&marks, estimate->told.marks);
	return marks;
}

// A look from the head has found what the clock had made ready by then, up to its last row; behind that
// nothing has been ready for as long as that row.
static void
pass_clock(Estimate *estimate, const Look &look)
{
	if (look.is_to_end)
		estimate->clock.at = Max(estimate->clock.at, look.as_of);
	else if (estimate->clock.to <= look.to)
		estimate->clock.at = Max(estimate->clock.at, Min(look.as_of, look.to_since));
	lower(&estimate->clock, estimate->told.clock);
}

// A look to the end has found the scheduled jobs that were due by then. Of the others only the first
// is known.
static void
pass_due(Estimate *estimate, TimestampTz as_of)
{
	if (estimate->due > as_of)
		return;
	estimate->is_counted &= estimate->scheduled <= 1 && estimate->is_due_sure;
	estimate->due = PG_INT64_MAX;
	estimate->scheduled = 0;
}

static void
take_counts(Estimate *estimate, const Look &look)
{
	estimate->is_counted = true;
	estimate->counted_at = look.as_of;
	estimate->scheduled = look.scheduled;
	estimate->leased = look.leased;
	estimate->unfinished = look.scheduled + look.leased + look.expired;
	estimate->due = look.run_at;
	estimate->is_due_sure = true;
}

// What was told since the look began is of jobs that its snapshot may not show.
static void
take_all(Estimate *estimate, const Look &look, bool is_unchanged)
{
	estimate->is_whole = look.is_told;
	estimate->is_counted &= look.is_told;
	if (look.is_clean) {
		estimate->left = estimate->told.left;
		estimate->is_doubted &= !is_unchanged;
	}
	pass_due(estimate, look.as_of);
	if (!look.is_counted)
		return;
	estimate->clock = look.due;
	lower(&estimate->clock, estimate->told.clock);
	if (is_unchanged && look.knows_leased)
		take_counts(estimate, look);
}

void
finish_look(const LookBegun &begun, const Look &look, TransactionCounters *counters)
{
	if (begun.place.entry == nullptr)
		return;
	with_entry(begun.place, [&](Entry *entry) {
		Estimate *estimate = &entry->estimate;
		if (estimate->looks != begun.number)
			return;
		if (counters != nullptr)
			note_look(counters, *estimate);
		estimate->marks = marks_after(estimate, look);
		if (look.is_from_head)
			pass_clock(estimate, look);
		if (look.is_from_head && look.is_to_end)
			take_all(estimate, look, estimate->changes == begun.changes);
	});
}

} // namespace queue_ext::stats
