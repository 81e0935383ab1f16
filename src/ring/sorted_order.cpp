// sorted_order.cpp - see sorted_order.hpp.

#include "../postgres.hpp"

#include "sorted_order.hpp"

#include "gap.hpp"

namespace queue_ext::ring {

static void
move_cursor(Ring *ring, const SortKey &sort_key)
{
	ring->reading.cursor.size = sizeof(SortKey);
	ring->reading.cursor.sort_key = sort_key;
}

// Advances the cursor to the sort key; never moves it back.
static void
reach(Ring *ring, const SortKey &sort_key)
{
	if (ring->reading.cursor.size == 0 || ring->reading.cursor.sort_key < sort_key)
		move_cursor(ring, sort_key);
}

// The index of the first candidate that does not sort before the key.
static uint32
find_index(Ring *ring, const SortKey &sort_key)
{
	return find_first(0U, ring->candidates.count,
					  [&](uint32 i) { return at(ring, i)->sort_key() < sort_key; });
}

// Remembers the lowest sort key for which there was no room during a fill, as the snapshot of that
// fill may not show its row (step_back()).
static void
note_dropped(Ring *ring, const SortKey &sort_key)
{
	if (ring->fill.filler != 0 && (!ring->fill.has_dropped || sort_key < ring->fill.dropped)) {
		ring->fill.has_dropped = true;
		ring->fill.dropped = sort_key;
	}
}

// Moves the cursor to the last candidate, since others behind it did not fit: a fill reads them
// again.
static void
end_at_last(Ring *ring)
{
	const SortKey last = at(ring, ring->candidates.count - 1)->sort_key();
	if (covers(ring, last))
		move_cursor(ring, last);
	ring->reading.is_at_end = false;
}

static void
drop_last(Ring *ring)
{
	ring->candidates.count--;
	note_dropped(ring, at(ring, ring->candidates.count)->sort_key());
	end_at_last(ring);
}

// Inserts the candidate, which the ring accepts, at its position.
static void
insert(Ring *ring, const Candidate &candidate, Added kind)
{
	const SortKey sort_key = candidate.sort_key();
	const uint32 index = find_index(ring, sort_key);
	for (uint32 i = index; i < ring->candidates.count && at(ring, i)->sort_key() == sort_key; i++) {
		if (kind == Added::newest)
			at(ring, i)->tid = candidate.tid;
		if (at(ring, i)->is_at_place_of(candidate))
			return;
	}
	if (ring->candidates.count == ring_size) {
		drop_last(ring);
		if (index > ring->candidates.count) { // it would be the last itself
			note_dropped(ring, sort_key);
			return;
		}
	}
	open_gap<ring_size>(&ring->candidates, index);
	*at(ring, index) = candidate;
	if (ring->reading.is_at_end)
		reach(ring, sort_key);
}

// Merges the candidates, in the order of their sort keys, with those of the ring, from the first
// position that changes. Returns the first for which there was no room, or null. Runs under the
// spinlock, which no other call of this backend has meanwhile: so its memory can be static, and
// faults in no page of the stack there.
static const Candidate *
merge_candidates(Ring *ring, const Candidate *candidates, int count, Added kind)
{
	static Candidate merged[ring_size];
	static Candidate rest;
	if (count == 0)
		return nullptr;
	const uint32 index = find_index(ring, candidates[0].sort_key());
	const auto old = [&](int i) -> const Candidate & {
		return *at(ring, index + i);
	};
	const MergedRun<Candidate> run =
		merge_runs(old, static_cast<int>(ring->candidates.count - index), candidates, count, kind,
				   merged, static_cast<int>(ring_size - index));
	if (run.rest != nullptr)
		rest = *run.rest; // it may be in the ring, where it is written over
	for (int i = 0; i < run.count; i++)
		*at(ring, index + i) = merged[i];
	ring->candidates.count = index + run.count;
	return run.rest == nullptr ? nullptr : &rest;
}

// How many of the candidates, in the order of their sort keys, a sorted ring accepts: those that it
// covers, and during a fill all, as the snapshot of that fill may not show them.
static int
acceptable(const Ring *ring, const Candidate *candidates, int count)
{
	if (ring->fill.filler != 0)
		return count;
	return find_first(0, count, [&](int i) { return covers(ring, candidates[i].sort_key()); });
}

void
insert_all(Ring *ring, const Candidate *candidates, int count, Added kind)
{
	count = acceptable(ring, candidates, count);
	if (count == 1) {
		insert(ring, candidates[0], kind);
		return;
	}
	const Candidate *rest = merge_candidates(ring, candidates, count, kind);
	if (rest != nullptr) {
		note_dropped(ring, rest->sort_key());
		end_at_last(ring);
	} else if (ring->reading.is_at_end && count > 0)
		reach(ring, candidates[count - 1].sort_key());
}

void
merge_fill(Ring *ring, const Candidate *candidates, int count)
{
	const Candidate *rest = merge_candidates(ring, candidates, count, Added::any);
	// A later fill reads what was offered behind the cursor.
	while (ring->candidates.count > 0 &&
		   !covers(ring, at(ring, ring->candidates.count - 1)->sort_key()))
		ring->candidates.count--;
	if (rest != nullptr && covers(ring, rest->sort_key()))
		end_at_last(ring);
	if (ring->reading.is_at_end && ring->candidates.count > 0)
		reach(ring, at(ring, ring->candidates.count - 1)->sort_key());
}

void
step_back(Ring *ring)
{
	if (!ring->fill.has_dropped || !covers(ring, ring->fill.dropped))
		return;
	ring->reading.is_at_end = false;
	while (ring->candidates.count > 0 &&
		   !(at(ring, ring->candidates.count - 1)->sort_key() < ring->fill.dropped))
		ring->candidates.count--;
	if (ring->candidates.count > 0)
		move_cursor(ring, at(ring, ring->candidates.count - 1)->sort_key());
	else
		request_sweep(ring);
}

} // namespace queue_ext::ring
