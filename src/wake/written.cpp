// written.cpp - see written.hpp.

#include "../postgres.hpp"

#include "written.hpp"

#include "note.hpp"

namespace queue_ext::wake {

using ring::Candidate;
using ring::DueRow;
using ring::Kinds;
using ring::SortKey;
using ring::Version;
using ring::unknown_kind;

void
note_writes(Oid table, TimestampTz due)
{
	Note *note = note_of_table(table);
	note->undone_due = Min(note->undone_due, due);
}

void
note_moved(Oid table)
{
	note_of_table(table)->has_moved = true;
}

void
note_queue_end(Oid table)
{
	note_of_table(table)->ends = true;
}

void
note_wake(Oid table)
{
	note_of_table(table)->wakes = true;
}

void
note_version(Oid table, const Version &version)
{
	add_version(note_of_table(table), version);
}

void
note_replaced(Oid table, const Version &version)
{
	add_replaced(note_of_table(table), version);
}

void
note_deadline(Oid table, TimestampTz death)
{
	Note *note = note_of_table(table);
	note->death = Min(note->death, death);
}

void
note_offer(Oid table, const Candidate &candidate, uint64 kind)
{
	add_offer(note_of_rows(table, kind), candidate);
}

void
note_due(Oid table, TimestampTz due, uint64 kind)
{
	add_due(note_of_rows(table, kind), due);
}

void
note_due_row(Oid table, const DueRow &row, uint64 kind)
{
	Note *note = note_of_rows(table, kind);
	note->due = Min(note->due, row.due);
	add_to_come(note, {row, note->key.variant});
}

bool
has_unlisted(Oid table)
{
	bool is_any = false;
	visit_table(table, [&](const Note *note) {
		is_any |=
			note->wakes || note->versions.count > 0 || note->has_more_offered || is_over(note->due);
	});
	return is_any;
}

bool
has_offers(Oid table)
{
	bool is_any = false;
	visit_table(table, [&](const Note *note) { is_any |= note->offered.count > 0; });
	return is_any;
}

static int
compare_own(const void *left, const void *right)
{
	const SortKey one = static_cast<const OwnOffer *>(left)->candidate.sort_key();
	const SortKey other = static_cast<const OwnOffer *>(right)->candidate.sort_key();
	if (one == other)
		return 0;
	return one < other ? -1 : 1;
}

static bool
may_be_of(const Note *note, const Kinds *kinds)
{
	if (kinds == nullptr || note->key.variant == unknown_kind)
		return true;
	for (int i = 0; i < kinds->count; i++)
		if (kinds->hashes[i] == note->key.variant)
			return true;
	return false;
}

OwnOffer *
list_offers(Oid table, const Kinds *kinds, int *count)
{
	int most = 0;
	*count = 0;
	visit_table(table, [&](const Note *note) { most += note->offered.count; });
	auto *offers = static_cast<OwnOffer *>(palloc(sizeof(OwnOffer) * Max(most, 1)));
	visit_table(table, [&](const Note *note) {
		for (int i = 0; may_be_of(note, kinds) && i < note->offered.count; i++)
			offers[(*count)++] = {note->offered.elements[i], note->made_in};
	});
	qsort(offers, *count, sizeof(OwnOffer), compare_own);
	return offers;
}

bool
is_offered(Oid table, const ItemPointerData &tid)
{
	bool is_it = false;
	visit_table(table, [&](const Note *note) {
		for (int i = 0; i < note->offered.count && !is_it; i++)
			is_it =
				ItemPointerEquals(&note->offered.elements[i].tid, const_cast<ItemPointer>(&tid));
	});
	return is_it;
}

static void
remove_offer(CandidateList *offered, int place)
{
	offered->count--;
	memmove(&offered->elements[place], &offered->elements[place + 1],
			sizeof(Candidate) * (offered->count - place));
}

void
withdraw_offer(Oid table, const OwnOffer &offer)
{
	if (offer.made_in != GetCurrentSubTransactionId())
		return;
	visit_table(table, [&](Note *note) {
		CandidateList *offered = &note->offered;
		for (int i = 0; note->made_in == offer.made_in && i < offered->count; i++)
			if (offered->elements[i].is_at_place_of(offer.candidate)) {
				remove_offer(offered, i);
				return;
			}
	});
}

// Notes of earlier versions, too: of those that were written before the former one. A rollback to a savepoint may bring back
// what was noted before it: then all is to be read again.
void
note_kind_change(Oid table, int64 id)
{
	const SubTransactionId current = GetCurrentSubTransactionId();
	bool is_left = false;
	visit_table(table, [&](Note *note) {
		for (int i = note->offered.count - 1; i >= 0; i--) {
			if (note->offered.elements[i].id != id)
				continue;
			if (note->made_in == current)
				remove_offer(&note->offered, i);
			else
				is_left = true;
		}
		for (int i = note->to_come.count - 1; i >= 0; i--) {
			if (note->to_come.elements[i].row.candidate.id != id)
				continue;
			if (note->made_in == current)
				note->to_come.elements[i] = note->to_come.elements[--note->to_come.count];
			else
				is_left = true;
		}
	});
	if (is_left)
		note_wake(table);
}

} // namespace queue_ext::wake
