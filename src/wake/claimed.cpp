// claimed.cpp - see claimed.hpp.

#include "../postgres.hpp"

#include "claimed.hpp"

#include "note.hpp"

namespace queue_ext::wake {

using ring::Candidate;
using ring::DueJob;
using ring::Ring;
using ring::RingCounters;
using ring::RingKey;
using ring::Taken;
using ring::sweep_interval_factor;

void
prepare_note(Ring *ring, const RingKey &key, uint32 ended, bool is_beside)
{
	Note *note = note_of_ring(ring, key);
	if (!note->claims)
		note->ended = ended;
	note->claims = true;
	note->is_beside |= is_beside;
}

// Counts the candidates as in flight before it remembers them, as that may raise.
int
note_taken(Ring *ring, const RingKey &key, const Candidate *candidates, const Taken &taken,
		   bool is_until_end)
{
	Note *note = note_of_ring(ring, key);
	note->is_until_end = is_until_end;
	if (note->flight_sweep != taken.sweep_generation)
		note->in_flight = 0;
	note->flight_sweep = taken.sweep_generation;
	note->in_flight += taken.count;
	if (note->taken.count > 0 && taken.generation != note->generation + 1)
		note->is_scattered |= !key.is_sorted;
	note->generation = taken.generation;
	const int place = note->taken.count;
	for (int i = 0; i < taken.count; i++)
		if (!push(&note->taken, candidates[i]))
			note->has_more_taken = true;
	return place;
}

// Forgets some of the candidates that were noted at that place. Those that did not fit are not
// there; what has been noted since, by a call within the try, comes after them.
static void
forget(Note *note, int place, int count, uint64 which)
{
	CandidateList *taken = &note->taken;
	int kept = place;
	for (int i = place; i < taken->count; i++)
		if (i >= place + count || (which & (UINT64CONST(1) << (i - place))) == 0)
			taken->elements[kept++] = taken->elements[i];
	taken->count = kept;
	if (kept == 0)
		note->is_scattered = false;
}

// Whether the transaction has taken that candidate for the note's ring before those at that place of the note.
static bool
has_taken(const Note *note, int place, const Candidate &candidate)
{
	for (const Note *other = note; other != nullptr; other = other->next) {
		if (other->ring != note->ring || !(other->key == note->key))
			continue;
		const int count = other == note ? place : other->taken.count;
		for (int i = 0; i < count; i++)
			if (other->taken.elements[i].is_same_as(candidate))
				return true;
	}
	return false;
}

// Those among candidates of the note that the transaction has taken before: as it had locked their rows, a sweep has read
// these again. They are given back with what was taken first; twice would be too many for others to be told of.
static uint64
taken_before(const Note *note, int place, int count, uint64 which)
{
	uint64 found = 0;
	for (int i = 0; i < count && place + i < note->taken.count; i++) {
		const uint64 bit = UINT64CONST(1) << i;
		if ((which & bit) != 0 && has_taken(note, place, note->taken.elements[place + i]))
			found |= bit;
	}
	return found;
}

void
note_tried(Ring *ring, const RingKey &key, const Taken &taken, int place, uint64 locked,
		   uint64 passed, const RingCounters &counters)
{
	Note *note = note_of_ring(ring, key);
	settle(ring, key, counters, taken.count, taken.sweep_generation);
	if (note->flight_sweep == taken.sweep_generation)
		note->in_flight -= taken.count;
	locked |= taken_before(note, place, taken.count, passed);
	if (locked != 0)
		forget(note, place, taken.count, locked);
}

void
note_own_fill(Ring *ring, const RingKey &key)
{
	note_of_ring(ring, key)->has_own_fill = true;
}

static Note *
note_of_lease(Ring *ring, const RingKey &key, TimestampTz end)
{
	Note *note = note_of_ring(ring, key);
	if (end <= note->seen_until)
		note->seen_by = nullptr;
	note->due = Min(note->due, end);
	return note;
}

void
note_lease(Ring *ring, const RingKey &key, TimestampTz end)
{
	Note *note = note_of_lease(ring, key, end);
	note->unlisted = Min(note->unlisted, end);
}

void
note_leased(Ring *ring, const RingKey &key, const DueJob &job)
{
	add_to_come(note_of_lease(ring, key, job.row.due), job);
}

// When the next of the note's leases ends that no sweep of this transaction has seen end. Of those that are not listed
// only the first end is known: after that it sweeps each tenth of a second.
static TimestampTz
next_end(const Note *note, const Ring *ring)
{
	constexpr int64 interval_us = USECS_PER_SEC / 10;
	if (note->seen_by != ring)
		return note->due;
	TimestampTz next = note->unlisted;
	if (next <= note->seen_until)
		next = note->seen_until + interval_us;
	for (int i = 0; i < note->to_come.count; i++) {
		const TimestampTz end = note->to_come.elements[i].row.due;
		if (end > note->seen_until)
			next = Min(next, end);
	}
	return next;
}

static bool
owes(Ring *ring, const RingKey &key, TimestampTz now, bool is_empty)
{
	bool owes = false;
	for (Note *note = notes; note != nullptr; note = note->next) {
		if (note->ring == nullptr || note->key.table != key.table || note->due > now)
			continue;
		// The clock has been set back.
		if (note->seen_until > now)
			note->seen_by = nullptr;
		const TimestampTz end = next_end(note, ring);
		const bool is_lost = is_empty && note->seen_by == ring && note->leaves_own;
		if (!is_lost && (end > now || (note->seen_by == ring && now < note->sweep_from)))
			continue;
		expect(ring, key, Min(end, now));
		owes = true;
	}
	return owes;
}

bool
owes_sweep(Ring *ring, const RingKey &key, TimestampTz now)
{
	return owes(ring, key, now, false);
}

bool
owes_sweep_of_empty(Ring *ring, const RingKey &key, TimestampTz now)
{
	return owes(ring, key, now, true);
}

void
note_own_sweep(const Ring *ring, const RingKey &key, TimestampTz call_time, TimestampTz ended)
{
	for (Note *note = notes; note != nullptr; note = note->next) {
		if (note->ring == nullptr || note->key.table != key.table || note->due > call_time)
			continue;
		note->seen_by = ring;
		note->seen_until = call_time;
		note->leaves_own = false;
		note->sweep_from = ended + sweep_interval_factor * Max(ended - call_time, 0);
	}
}

void
note_own_left(const Ring *ring, const RingKey &key)
{
	for (Note *note = notes; note != nullptr; note = note->next)
		if (note->ring != nullptr && note->key.table == key.table && note->seen_by == ring)
			note->leaves_own = true;
}

} // namespace queue_ext::wake
