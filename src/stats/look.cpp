// look.cpp - see look.hpp.

#include "../postgres.hpp"

#include "look.hpp"

namespace queue_ext::stats {

LookBegun
begin_look(definition::Definition *definition)
{
	LookBegun begun{place_of(definition), 0, 0};
	if (begun.place.entry == nullptr)
		return begun;
	with_entry(begun.place, [&](Entry *entry) {
		Outlook *outlook = &entry->outlook;
		clear(&outlook->recent);
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

// The marks after the look.
static Marks
marks_after(const Outlook *outlook, const Look &look)
{
	const bool is_all = look.is_from_head && look.is_to_end;
	Marks marks;
	clear(&marks);
	for (int i = 0; i < outlook->marks.count; i++) {
		const Mark &mark = outlook->marks.marks[i];
		if (!covers(look, mark.priority))
			lower(&marks, mark.priority, mark.ready_at);
	}
	for (int i = 0; i < look.found.count; i++) {
		const Mark &mark = look.found.marks[i];
		if (covers(look, mark.priority))
			lower(&marks, mark.priority, mark.ready_at);
	}
	if (!is_all)
		marks.rest = Min(marks.rest, outlook->marks.rest);
	marks.rest = Min(marks.rest, look.found.rest);
	lower(&marks, outlook->recent);
	return marks;
}

// A look to the end has found the delayed jobs that were due by then. Of the others only the first
// is known.
static void
pass_due(Outlook *outlook, TimestampTz began)
{
	if (outlook->due > began)
		return;
	outlook->is_whole &= outlook->delayed <= 1;
	outlook->due = PG_INT64_MAX;
	outlook->delayed = 0;
}

static void
take_counts(Outlook *outlook, const Look &look)
{
	outlook->is_counted = true;
	outlook->scheduled = look.scheduled;
	outlook->leased = look.leased;
	outlook->unfinished = look.scheduled + look.leased;
	// The end of a lease that is the first is none of a delayed job.
	outlook->due = look.scheduled > 0 ? look.due : PG_INT64_MAX;
	outlook->delayed = look.scheduled;
}

void
finish_look(const LookBegun &begun, const Look &look)
{
	if (begun.place.entry == nullptr)
		return;
	with_entry(begun.place, [&](Entry *entry) {
		Outlook *outlook = &entry->outlook;
		if (outlook->looks != begun.number)
			return;
		if (look.is_of_one && !look.is_from_head) {
			lower(&outlook->marks, look.found);
			return;
		}
		outlook->marks = marks_after(outlook, look);
		if (!look.is_from_head || !look.is_to_end)
			return;
		outlook->is_whole = look.is_told;
		outlook->has_left = outlook->changes != begun.changes;
		pass_due(outlook, look.began);
		if (look.is_counted && outlook->changes == begun.changes)
			take_counts(outlook, look);
	});
}

} // namespace queue_ext::stats
