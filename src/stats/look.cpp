// look.cpp - see look.hpp.

#include "../postgres.hpp"

#include "look.hpp"

namespace queue_ext::stats {

bool
is_unsure(const definition::Definition *definition, TimestampTz now)
{
	const Entry *entry = definition->stats;
	if (entry == nullptr || entry->number != definition->stats_number || !is_on())
		return false;
	const Outlook &outlook = entry->outlook;
	return !outlook.is_whole || outlook.is_doubted || !outlook.is_counted ||
		   outlook.clock.at <= now || outlook.due <= now;
}

LookBegun
begin_look(definition::Definition *definition)
{
	LookBegun begun{place_of(definition), 0, 0};
	if (begun.place.entry == nullptr)
		return begun;
	with_entry(begun.place, [&](Entry *entry) {
		Outlook *outlook = &entry->outlook;
		forget(&outlook->told);
		begun.number = ++outlook->looks;
		begun.changes = outlook->changes;
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
marks_after(const Outlook *outlook, const Look &look)
{
	const bool is_all = look.is_from_head && look.is_to_end;
	Marks found = look.found;
	doubt(&found, outlook->told.claimed);
	doubt(&found, outlook->told.left);
	Marks marks;
	clear(&marks);
	for (int i = 0; i < found.count; i++) {
		const Mark &mark = found.marks[i];
		lower(&marks, mark.priority,
			  covers(look, mark.priority) ? mark.since : as_found(mark.since));
	}
	for (int i = 0; i < outlook->marks.count; i++) {
		const Mark &mark = outlook->marks.marks[i];
		if (!covers(look, mark.priority))
			lower(&marks, mark.priority, mark.since);
	}
	marks.rest = earlier(marks.rest, found.rest);
	if (!is_all)
		marks.rest = earlier(marks.rest, outlook->marks.rest);
	lower(&marks, outlook->told.marks);
	return marks;
}

// A look from the head has found what the clock had made ready by then, up to its last row; behind that
// nothing has been ready for as long as that row.
static void
pass_clock(Outlook *outlook, const Look &look)
{
	if (look.is_to_end)
		outlook->clock.at = Max(outlook->clock.at, look.as_of);
	else if (outlook->clock.to <= look.to)
		outlook->clock.at = Max(outlook->clock.at, Min(look.as_of, look.to_since));
	lower(&outlook->clock, outlook->told.clock);
}

// A look to the end has found the scheduled jobs that were due by then. Of the others only the first
// is known.
static void
pass_due(Outlook *outlook, TimestampTz as_of)
{
	if (outlook->due > as_of)
		return;
	outlook->is_counted &= outlook->scheduled <= 1 && outlook->is_due_sure;
	outlook->due = PG_INT64_MAX;
	outlook->scheduled = 0;
}

static void
take_counts(Outlook *outlook, const Look &look)
{
	outlook->is_counted = true;
	outlook->scheduled = look.scheduled;
	outlook->leased = look.leased;
	outlook->unfinished = look.scheduled + look.leased;
	outlook->due = look.run_at;
	outlook->is_due_sure = true;
}

// What was told since the look began is of jobs that its snapshot may not show.
static void
take_all(Outlook *outlook, const Look &look, bool is_unchanged)
{
	outlook->is_whole = look.is_told;
	outlook->is_counted &= look.is_told;
	if (look.is_clean) {
		outlook->left = outlook->told.left;
		outlook->is_doubted &= !is_unchanged;
	}
	pass_due(outlook, look.as_of);
	if (!look.is_counted)
		return;
	outlook->clock = look.due;
	lower(&outlook->clock, outlook->told.clock);
	if (is_unchanged && look.knows_leased)
		take_counts(outlook, look);
}

void
finish_look(const LookBegun &begun, const Look &look, Tally *tally)
{
	if (begun.place.entry == nullptr)
		return;
	with_entry(begun.place, [&](Entry *entry) {
		Outlook *outlook = &entry->outlook;
		if (outlook->looks != begun.number)
			return;
		if (tally != nullptr)
			note_look(tally, *outlook);
		outlook->marks = marks_after(outlook, look);
		if (look.is_from_head)
			pass_clock(outlook, look);
		if (look.is_from_head && look.is_to_end)
			take_all(outlook, look, outlook->changes == begun.changes);
	});
}

} // namespace queue_ext::stats
