// undo.cpp - see undo.hpp.

#include "../postgres.hpp"

#include "undo.hpp"

namespace queue_ext::claim {

// As many candidates as are remembered for one ring and subtransaction.
constexpr int most_places = 1024;

// What one (sub)transaction has done with one ring.
struct Note
{
	Note *next;
	Ring *ring;
	RingKey key;
	SubTransactionId made_in;

	int place_count;
	int place_capacity;
	ItemPointerData *places; // taken
	bool has_more_places;    // than can be put back as they were
	uint32 number;           // of the last change of the ring by this transaction

	bool wakes;        // rows have become claimable somewhere
	bool wakes_before; // or behind this place in the order
	int32 priority;
	TimestampTz run_at;
	TimestampTz due; // when a row becomes claimable
};

// Of the current transaction, in TopTransactionContext.
static Note *notes = nullptr;

static Note *
note_for(Ring *ring, const RingKey &key)
{
	const SubTransactionId current = GetCurrentSubTransactionId();
	for (Note *note = notes; note != nullptr; note = note->next)
		if (note->ring == ring && note->key == key && note->made_in == current)
			return note;
	auto *note = static_cast<Note *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Note)));
	note->ring = ring;
	note->key = key;
	note->made_in = current;
	note->due = PG_INT64_MAX;
	note->next = notes;
	notes = note;
	return note;
}

// Makes room for one more place.
static void
grow(Note *note)
{
	constexpr int first_capacity = 8;
	const int capacity = Max(first_capacity, note->place_capacity * 2);
	const size_t size = sizeof(ItemPointerData) * capacity;
	note->places = static_cast<ItemPointerData *>(
		note->places == nullptr ? MemoryContextAlloc(TopTransactionContext, size)
								: repalloc(note->places, size));
	note->place_capacity = capacity;
}

void
note_claims(Ring *ring, const RingKey &key, const ItemPointerData *places, int count, uint32 number)
{
	Note *note = note_for(ring, key);
	if (note->place_count > 0 && number != note->number + 1) // others were in between
		note->has_more_places = true;
	note->number = number;
	for (int i = 0; i < count; i++) {
		if (note->place_count == most_places) {
			note->has_more_places = true;
			return;
		}
		if (note->place_count == note->place_capacity)
			grow(note);
		note->places[note->place_count++] = places[i];
	}
}

void
note_due(Ring *ring, const RingKey &key, TimestampTz due)
{
	Note *note = note_for(ring, key);
	note->due = Min(note->due, due);
}

void
note_wake(Ring *ring, const RingKey &key)
{
	note_for(ring, key)->wakes = true;
}

void
note_wake_before(Ring *ring, const RingKey &key, int32 priority, TimestampTz run_at)
{
	Note *note = note_for(ring, key);
	const bool is_first = !note->wakes_before || priority < note->priority ||
						  (priority == note->priority && run_at < note->run_at);
	note->wakes_before = true;
	if (!is_first)
		return;
	note->priority = priority;
	note->run_at = run_at;
}

void
note_other_claims(Ring *ring, const RingKey &key)
{
	note_for(ring, key)->has_more_places = true;
}

bool
has_wakes(const Ring *ring)
{
	for (const Note *note = notes; note != nullptr; note = note->next)
		if (note->ring == ring && (note->wakes || note->wakes_before || note->due != PG_INT64_MAX))
			return true;
	return false;
}

static void
after_commit(const Note *note)
{
	if (note->wakes)
		ask_for_sweep(note->ring, note->key);
	else if (note->wakes_before)
		ask_for_sweep_before(note->ring, note->key, note->priority, note->run_at);
	if (note->due != PG_INT64_MAX)
		expect(note->ring, note->key, note->due);
}

static void
after_abort(const Note *note)
{
	put_back(note->ring, note->key, note->places, note->place_count, note->number);
	// What was written stood locked meanwhile, and others may have passed it by.
	if (note->has_more_places || note->wakes || note->due != PG_INT64_MAX)
		ask_for_sweep(note->ring, note->key);
}

static void
on_transaction_end(XactEvent event, void *)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	// Nobody will tell how a prepared transaction ends; sweeps find out.
	for (const Note *note = notes; note != nullptr; note = note->next)
		if (event == XACT_EVENT_COMMIT)
			after_commit(note);
		else if (event == XACT_EVENT_ABORT)
			after_abort(note);
	notes = nullptr;
}

static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		for (Note *note = notes; note != nullptr; note = note->next)
			if (note->made_in == ended)
				note->made_in = parent;
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	for (Note **link = &notes; *link != nullptr;) {
		const Note *note = *link;
		if (note->made_in != ended) {
			link = &(*link)->next;
			continue;
		}
		after_abort(note);
		*link = note->next;
	}
}

void
register_undo()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::claim
