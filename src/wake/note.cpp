// note.cpp - see note.hpp.

#include "../postgres.hpp"

#include "note.hpp"

#include "at_once.hpp"

namespace queue_ext::wake {

using ring::Candidate;
using ring::DueJob;
using ring::Ring;
using ring::RingKey;
using ring::SortKey;
using ring::Version;
using ring::log_size;
using ring::unknown_kind;

// Of so many kinds the rows of one (sub)transaction are noted apart.
constexpr int most_kinds_apart = 64;

Note *notes = nullptr;

// The note of the current subtransaction for which is_it() returns true, or null.
template <typename IsIt>
static Note *
find_note(IsIt &&is_it)
{
	const SubTransactionId current = GetCurrentSubTransactionId();
	// Those of the innermost subtransaction come first.
	for (Note *note = notes; note != nullptr && note->made_in == current; note = note->next)
		if (is_it(note))
			return note;
	return nullptr;
}

// Enters the note when it is complete, so that an ERROR for want of memory leaves none half made.
static Note *
add_note(Ring *ring, const RingKey &key)
{
	auto *note = static_cast<Note *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Note)));
	note->ring = ring;
	note->key = key;
	note->made_in = GetCurrentSubTransactionId();
	note->due = PG_INT64_MAX;
	note->unlisted = PG_INT64_MAX;
	note->death = PG_INT64_MAX;
	note->undone_due = PG_INT64_MAX;
	note->shared = ring::get_wakes(key.table);
	note->next = notes;
	notes = note;
	return note;
}

static void
free_note(Note *note)
{
	if (note->taken.elements != nullptr)
		pfree(note->taken.elements);
	if (note->offered.elements != nullptr)
		pfree(note->offered.elements);
	if (note->to_come.elements != nullptr)
		pfree(note->to_come.elements);
	if (note->versions.elements != nullptr)
		pfree(note->versions.elements);
	if (note->replaced.elements != nullptr)
		pfree(note->replaced.elements);
	pfree(note);
}

Note *
note_of_ring(Ring *ring, const RingKey &key)
{
	Note *note =
		find_note([&](const Note *other) { return other->ring == ring && other->key == key; });
	return note != nullptr ? note : add_note(ring, key);
}

Note *
note_of_table(Oid table, uint64 kind)
{
	int count = 0;
	Note *note = find_note([&](const Note *other) {
		const bool is_of_table = other->ring == nullptr && other->key.table == table;
		count += is_of_table;
		return is_of_table && other->key.variant == kind;
	});
	if (note != nullptr)
		return note;
	if (kind != unknown_kind && count > most_kinds_apart)
		return note_of_table(table);
	RingKey key{};
	key.table = table;
	key.variant = kind;
	return add_note(nullptr, key);
}

Note *
note_of_rows(Oid table, uint64 kind)
{
	const bool has_kinds = pg_atomic_read_u32(&ring::get_wakes(table)->has_kinds) != 0;
	return note_of_table(table, has_kinds ? kind : unknown_kind);
}

void
add_to_come(Note *note, const DueJob &job)
{
	if (!push(&note->to_come, job))
		note->unlisted = Min(note->unlisted, job.row.due);
}

void
add_version(Note *note, const Version &version)
{
	if (note->wakes)
		return;
	if (note->versions.count == log_size)
		note->wakes = true;
	else
		push(&note->versions, version);
}

void
add_replaced(Note *note, const Version &version)
{
	if (note->undone_due == at_once)
		return;
	if (note->replaced.count == log_size)
		note->undone_due = at_once;
	else
		push(&note->replaced, version);
}

void
add_due(Note *note, TimestampTz due)
{
	note->due = Min(note->due, due);
	note->unlisted = Min(note->unlisted, due);
}

// Of the offers beyond the limit only the lowest sort key is kept (offer_from()).
static void
add_more_offered(Note *note, const SortKey &sort_key)
{
	if (!note->has_more_offered || sort_key < note->more_offered)
		note->more_offered = sort_key;
	note->has_more_offered = true;
}

void
add_offer(Note *note, const Candidate &candidate)
{
	note->is_in_order = false;
	if (push(&note->offered, candidate))
		return;
	add_more_offered(note, candidate.sort_key());
	if (candidate.run_at > GetCurrentTransactionStartTimestamp())
		add_due(note, candidate.run_at);
}

static void
push_all(CandidateList *to, const CandidateList &from, bool *has_more)
{
	for (int i = 0; i < from.count; i++)
		*has_more |= !push(to, from.elements[i]);
}

// Adds the subtransaction's note to its parent's for the same ring or table.
static void
merge_into(Note *parent, const Note *child)
{
	if (child->ring != nullptr) {
		const bool is_next = child->taken.count == 0 || parent->taken.count == 0;
		parent->has_more_taken |= child->has_more_taken;
		parent->is_scattered |= child->is_scattered || (!is_next && !child->key.is_sorted);
		push_all(&parent->taken, child->taken, &parent->has_more_taken);
		if (child->taken.count > 0)
			parent->generation = child->generation;
		parent->has_own_fill |= child->has_own_fill;
		parent->is_until_end |= child->is_until_end;
	}
	for (int i = 0; i < child->offered.count; i++)
		add_offer(parent, child->offered.elements[i]);
	if (child->has_more_offered)
		add_more_offered(parent, child->more_offered);
	parent->wakes |= child->wakes;
	for (int i = 0; i < child->versions.count; i++)
		add_version(parent, child->versions.elements[i]);
	for (int i = 0; i < child->replaced.count; i++)
		add_replaced(parent, child->replaced.elements[i]);
	parent->has_moved |= child->has_moved;
	parent->ends |= child->ends;
	if (!parent->claims)
		parent->ended = child->ended;
	parent->claims |= child->claims;
	parent->is_beside |= child->is_beside;
	if (parent->seen_by != child->seen_by)
		parent->seen_by = nullptr;
	parent->seen_until = Min(parent->seen_until, child->seen_until);
	parent->leaves_own |= child->leaves_own;
	parent->sweep_from = Max(parent->sweep_from, child->sweep_from);
	parent->due = Min(parent->due, child->due);
	parent->unlisted = Min(parent->unlisted, child->unlisted);
	for (int i = 0; i < child->to_come.count; i++)
		add_to_come(parent, child->to_come.elements[i]);
	parent->death = Min(parent->death, child->death);
	parent->undone_due = Min(parent->undone_due, child->undone_due);
}

// The parent's note for the same ring or table; it comes after the child's.
static Note *
find_same(const Note *child, SubTransactionId parent)
{
	for (Note *note = child->next; note != nullptr; note = note->next)
		if (note->made_in == parent && note->ring == child->ring && note->key == child->key)
			return note;
	return nullptr;
}

void
hand_to_parent(SubTransactionId ended, SubTransactionId parent)
{
	for (Note **link = &notes; *link != nullptr && (*link)->made_in == ended;) {
		Note *child = *link;
		Note *same = find_same(child, parent);
		if (same == nullptr) {
			child->made_in = parent;
			link = &child->next;
			continue;
		}
		merge_into(same, child);
		*link = child->next;
		free_note(child);
	}
}

void
drop_first()
{
	Note *note = notes;
	notes = note->next;
	free_note(note);
}

} // namespace queue_ext::wake
