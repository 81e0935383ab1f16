// undo.cpp - see undo.hpp.

#include "../postgres.hpp"

#include "undo.hpp"

namespace queue_ext::claim {

enum class NoteKind { claim, wake, wake_before };

struct Note
{
	NoteKind kind;
	Ring *ring;
	RingKey key;
	SubTransactionId made_in;
	ItemPointerData place; // of a claim
	int32 priority;        // of a wake_before
	TimestampTz run_at;
};

// Of the current transaction; in TopTransactionContext, so the last one's need not
// be freed.
static Note *notes = nullptr;
static int note_count = 0;
static int note_capacity = 0;

// A transaction that claims more has a sweep find what it gives back.
constexpr int most_notes = 4096;

static Note *
add_note(NoteKind kind, Ring *ring, const RingKey &key)
{
	if (note_count == note_capacity) {
		constexpr int first_capacity = 8;
		note_capacity = Max(first_capacity, note_capacity * 2);
		const size_t size = sizeof(Note) * note_capacity;
		notes =
			static_cast<Note *>(notes == nullptr ? MemoryContextAlloc(TopTransactionContext, size)
												 : repalloc(notes, size));
	}
	Note *note = &notes[note_count++];
	*note = {};
	note->kind = kind;
	note->ring = ring;
	note->key = key;
	note->made_in = GetCurrentSubTransactionId();
	return note;
}

void
note_claim(Ring *ring, const RingKey &key, const ItemPointerData &place)
{
	Note *note =
		note_count < most_notes ? add_note(NoteKind::claim, ring, key) : &notes[note_count - 1];
	note->place = place;
}

void
note_wake(Ring *ring, const RingKey &key)
{
	if (note_count < most_notes)
		add_note(NoteKind::wake, ring, key);
	else
		notes[note_count - 1].kind = NoteKind::wake;
}

void
note_wake_before(Ring *ring, const RingKey &key, int32 priority, TimestampTz run_at)
{
	// Those of one transaction have mostly one place in the order.
	for (int i = Max(0, note_count - 2); i < note_count; i++)
		if (notes[i].kind == NoteKind::wake_before && notes[i].ring == ring &&
			notes[i].made_in == GetCurrentSubTransactionId() && notes[i].priority <= priority &&
			notes[i].run_at <= run_at)
			return;
	if (note_count >= most_notes) {
		note_wake(ring, key);
		return;
	}
	Note *note = add_note(NoteKind::wake_before, ring, key);
	note->priority = priority;
	note->run_at = run_at;
}

bool
has_wakes(const Ring *ring)
{
	for (int i = 0; i < note_count; i++)
		if (notes[i].kind != NoteKind::claim && notes[i].ring == ring)
			return true;
	return false;
}

static void
after_commit(const Note &note)
{
	if (note.kind == NoteKind::wake)
		ask_for_sweep(note.ring, note.key);
	else if (note.kind == NoteKind::wake_before)
		ask_for_sweep_before(note.ring, note.key, note.priority, note.run_at);
}

static void
after_abort(const Note &note)
{
	if (note.kind != NoteKind::claim)
		return;
	put_back(note.ring, note.key, &note.place, 1);
	if (note_count >= most_notes)
		ask_for_sweep(note.ring, note.key);
}

static void
forget()
{
	notes = nullptr;
	note_count = 0;
	note_capacity = 0;
}

static void
on_transaction_end(XactEvent event, void *)
{
	switch (event) {
		case XACT_EVENT_COMMIT:
			for (int i = 0; i < note_count; i++)
				after_commit(notes[i]);
			forget();
			break;
		case XACT_EVENT_PREPARE:
			// Nobody will tell how it ends; sweeps find out.
			forget();
			break;
		case XACT_EVENT_ABORT:
			for (int i = note_count - 1; i >= 0; i--)
				after_abort(notes[i]);
			forget();
			break;
		default:
			break;
	}
}

static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		for (int i = 0; i < note_count; i++)
			if (notes[i].made_in == ended)
				notes[i].made_in = parent;
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	for (int i = note_count - 1; i >= 0; i--)
		if (notes[i].made_in == ended)
			after_abort(notes[i]);
	int kept = 0;
	for (int i = 0; i < note_count; i++)
		if (notes[i].made_in != ended)
			notes[kept++] = notes[i];
	note_count = kept;
}

void
register_undo()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::claim
