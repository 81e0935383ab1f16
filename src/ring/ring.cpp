// ring.cpp - see ring.hpp.
//
// A sorted ring and the order of its queue, in which o are rows that are ready, and x those that are leased, locked or
// dead:
//
//     head                     cursor                   end
//      |  x  x  o  x  o  o  x  o  |  o  x  o  o  x  o  o  |
//               \_____ the ring's _/   \___ not read yet __/
//
//     a row becomes claimable ...                           (insert_all())
//       before the cursor       it is inserted at its place
//       behind it               it is left to the fills; but a ring that has read to the end takes it, and moves the
//                               cursor to it                (covers(), reach())
//       during a fill           it is inserted wherever it stands, as the snapshot of the fill may not show it
//     there is no room          the last ones go, and the cursor moves back to the one that is last then, so that a
//                               fill reads the others again (end_at_last())
//     a fill ends               its rows come behind the cursor, which moves to the last of them; or back before the
//                               lowest one that has gone during the fill (step_back())
//     a sweep                   is a fill from the head: its rows are merged with what the ring has
//
// A ring that is not sorted has the same cursor, in bytes. It cannot tell where a row stands: rows whose claim is
// undone go to the front (put_back()), others are entered by a pop that has compared them (enter_placed(),
// claim/news.hpp), or a sweep finds them.

#include "../postgres.hpp"

#include "ring.hpp"

#include "gap.hpp"
#include "locked.hpp"
#include "sorted_run.hpp"

namespace queue_ext::ring {

// The least time between sweeps, if the factor says no more; and where the ring is notified of every write, and no
// candidate was tried in vain.
constexpr int64 least_sweep_interval_us = INT64CONST(100) * 1000;
constexpr int64 least_told_interval_us = USECS_PER_SEC;
// The least time between two that only the statistics need.
constexpr int64 least_look_interval_us = USECS_PER_SEC;

// One wait for the filler, and the bounds of all waits for one fill (most_waits_for()).
constexpr long wait_ms = 10;
constexpr int64 least_patience_us = INT64CONST(20) * 1000;
constexpr int64 most_patience_us = 10 * USECS_PER_SEC;
constexpr int most_doublings = 10;

// What it costs at least to try a candidate in vain: a plain one takes a tenth of that, but all
// workers pass by the same candidates at the same time, and none claims. If it seems to cost more
// than the most, the process was suspended meanwhile.
constexpr int64 least_pass_cost_us = 6;
constexpr int64 most_pass_cost_us = 1000;

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

void
dismiss(Ring *ring)
{
	bool is_all = false;
	while (!is_all) {
		Woken woken;
		woken.count = 0;
		SpinLockAcquire(&ring->mutex);
		ring->waiters.news++;
		is_all = take_all(&ring->waiters, &woken);
		SpinLockRelease(&ring->mutex);
		wake(woken);
	}
}

void
reset(Ring *ring, const RingKey &key, const Kinds *kinds)
{
	SpinLockAcquire(&ring->mutex);
	ring->key = key;
	ring->kind_count = kinds == nullptr ? 0 : kinds->count;
	if (kinds != nullptr)
		memcpy(ring->kinds, kinds->hashes, sizeof(uint64) * kinds->count);
	clear(ring);
	clear(&ring->due_rows);
	ring->reading = {};
	ring->sweep = {0, ring->sweep.generation, 0, 0, 0, PG_INT64_MAX, PG_INT64_MAX};
	ring->due_question = {};
	ring->idleness = {};
	ring->fill.cost_us = 0;
	ring->fill.takeovers = 0;
	ring->fill.filler = 0;
	ring->fill.has_dropped = false;
	ring->flight.count = 0;
	ring->flight.has_locked = false;
	// A fill under way, and candidates taken before, belong to the former key.
	ring->fill.generation++;
	ring->flight.changes++;
	ring->counters = {};
	ring->path[0] = '\0';
	SpinLockRelease(&ring->mutex);
	dismiss(ring);
}

static uint32
current_of(const Generations &generations)
{
	return generations.current == nullptr ? 0 : pg_atomic_read_u32(generations.current);
}

// The generation to compare with the ring's: its own, if it knows enough.
static uint32
asked_generation(const Ring *ring, TimestampTz now, const Generations &generations)
{
	const bool is_known =
		static_cast<int32>(ring->sweep.wake_generation - generations.least) >= 0 ||
		(generations.may_lag && ring->sweep.due != 0 && now < ring->sweep.due);
	return is_known ? ring->sweep.wake_generation : current_of(generations);
}

static bool
must_sweep(const Ring *ring, TimestampTz now, const Generations &generations)
{
	const uint32 asked = asked_generation(ring, now, generations);
	return !is_sure(ring, now, asked) && is_sweep_due(ring, now, asked);
}

Taken
take(Ring *ring, const RingKey &key, TimestampTz now, const Generations &generations,
	 bool *is_chosen, const SortKey *own, int max_count, Candidate *candidates)
{
	Taken taken{};
	taken.is_low = true;
	taken.is_foreign = !with_ring(ring, key, [&] {
		ring->used_at = now;
		taken.nothing_at = ring->idleness.nothing_at;
		taken.sweep_generation = ring->sweep.generation;
		taken.reads_again = ring->reading.reads_again;
		if (must_sweep(ring, now, generations))
			return;
		taken.is_quiet =
			is_quiet(ring, now, current_of(generations)) && ring->candidates.count == 0;
		taken.is_idle = taken.is_quiet && ring->flight.count == 0;
		taken.count = takeable(ring, max_count);
		while (own != nullptr && taken.count > 0 && *own < at(ring, taken.count - 1)->sort_key())
			taken.count--;
		taken.has_none_before = own != nullptr && taken.count == 0 && covers(ring, *own);
		for (int i = 0; i < taken.count; i++)
			candidates[i] = *at(ring, i);
		ring->candidates.first = (ring->candidates.first + taken.count) % ring_size;
		ring->candidates.count -= taken.count;
		ring->flight.count += taken.count;
		if (taken.count > 0)
			taken.generation = ++ring->flight.changes;
		if (taken.count > 0 && is_chosen != nullptr && *is_chosen) {
			*is_chosen = false;
			ring->waiters.claiming = Max(ring->waiters.claiming - 1, 0);
			announce_rest(ring, 0);
		}
		// A fill that reads the ring's candidates again is of use only when they have been tried.
		taken.is_low = ring->candidates.count <= low_water && !ring->reading.is_at_end &&
					   !ring->reading.reads_again && ring->fill.filler == 0;
	});
	return taken;
}

bool
is_exhausted(Ring *ring, const RingKey &key, TimestampTz now, const Generations &generations,
			 uint32 sweep_generation)
{
	bool is_it = false;
	with_ring(ring, key, [&] {
		is_it = ring->sweep.generation != sweep_generation && ring->candidates.count == 0 &&
				ring->reading.is_at_end && ring->fill.filler == 0 && ring->flight.count == 0 &&
				!is_row_due(ring, now, current_of(generations)) &&
				ring->counters.claims == ring->flight.claims_before &&
				ring->counters.gone == ring->flight.gone_before;
	});
	return is_it;
}

static void
land(Ring *ring, int count, uint32 sweep_generation)
{
	if (ring->sweep.generation == sweep_generation)
		ring->flight.count = Max(0, ring->flight.count - count);
}

void
let_go(Ring *ring, const RingKey &key, int count, uint32 sweep_generation)
{
	with_ring(ring, key, [&] { land(ring, count, sweep_generation); });
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

// By sort key, then by TID.
static int
compare(const void *left, const void *right)
{
	const auto *one = static_cast<const Candidate *>(left);
	const auto *other = static_cast<const Candidate *>(right);
	const SortKey one_key = one->sort_key();
	const SortKey other_key = other->sort_key();
	if (!(one_key == other_key))
		return one_key < other_key ? -1 : 1;
	return ItemPointerCompare(const_cast<ItemPointer>(&one->tid),
							  const_cast<ItemPointer>(&other->tid));
}

// PostgreSQL's qsort() is in place, and quick where the candidates are in order, as they often are.
void
sort_candidates(Candidate *candidates, int count)
{
	qsort(candidates, count, sizeof(Candidate), compare);
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

// Inserts candidates, in the order of their sort keys. A single one moves the shorter side of the
// ring; many take one pass.
static void
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
offer(Ring *ring, const RingKey &key, const Candidate *candidates, int count)
{
	with_ring(ring, key, [&] {
		insert_all(ring, candidates, count, Added::newest);
		announce(ring, count);
	});
}

// Rows behind the cursor are left to the fills, except where the snapshot of one under way may be
// older than the rows.
void
offer_from(Ring *ring, const RingKey &key, const SortKey &first)
{
	with_ring(ring, key, [&] {
		const bool is_behind =
			ring->reading.cursor.size > 0 && ring->reading.cursor.sort_key < first;
		if (!is_behind || ring->fill.filler != 0)
			request_sweep(ring);
		else {
			ring->reading.is_at_end = false;
			announce(ring, ring_size); // more than were listed
		}
	});
}

// Puts candidates before all others; a sweep finds those for which there is no room.
static void
put_in_front(Ring *ring, const Candidate *candidates, int count)
{
	const int room = ring_size - static_cast<int>(ring->candidates.count);
	if (count > room)
		request_sweep(ring);
	for (int i = Min(count, room) - 1; i >= 0; i--) {
		ring->candidates.first = (ring->candidates.first + ring_size - 1) % ring_size;
		*at(ring, 0) = candidates[i];
		ring->candidates.count++;
	}
}

bool
put_back(Ring *ring, const RingKey &key, const Candidate *candidates, int count, uint32 generation)
{
	bool has_places = true;
	if (count == 0)
		return true;
	with_ring(ring, key, [&] {
		has_places = key.is_sorted || ring->flight.changes == generation;
		if (!has_places)
			return;
		announce(ring, count);
		if (key.is_sorted)
			insert_all(ring, candidates, count, Added::any);
		else
			put_in_front(ring, candidates, count);
		ring->flight.changes++;
		ring->flight.returns++;
	});
	return has_places;
}

bool
copy_holding(Ring *ring, const RingKey &key, Holding *holding)
{
	return with_ring(ring, key, [&] {
		holding->is_settled = ring->fill.filler == 0 && ring->sweep.due != 0 &&
							  (ring->reading.is_at_end || !ring->reading.reads_again);
		holding->is_at_end = ring->reading.is_at_end;
		holding->wake_generation = ring->sweep.wake_generation;
		holding->fill_generation = ring->fill.generation;
		holding->returns = ring->flight.returns;
		holding->cursor = ring->reading.cursor;
		holding->count = static_cast<int>(ring->candidates.count);
		for (int i = 0; i < holding->count; i++)
			holding->candidates[i] = *at(ring, i);
	});
}

namespace {

// Where the ring has a candidate, and the one before which it is to come; its count: nowhere.
struct Indexes
{
	uint32 own;
	uint32 next;
};

} // namespace

// In one pass over the ring.
static void
find_versions(Ring *ring, const Placed *placed, int count, Indexes *found)
{
	for (int i = 0; i < count; i++)
		found[i] = {ring->candidates.count, ring->candidates.count};
	for (uint32 index = 0; index < ring->candidates.count; index++) {
		const Candidate &candidate = *at(ring, index);
		for (int i = 0; i < count; i++) {
			if (candidate.is_same_as(placed[i].candidate))
				found[i].own = index;
			if (!placed[i].is_last && candidate.is_same_as(placed[i].next))
				found[i].next = index;
		}
	}
}

// Leaves out those that are in the ring already, by a fill or by the event before.
static void
enter_in_order(Ring *ring, const Placed *placed, int count)
{
	Indexes found[most_placed];
	const uint32 former = ring->candidates.count;
	find_versions(ring, placed, count, found);
	uint32 entered = 0;
	uint32 least = 0;
	for (int i = 0; i < count; i++) {
		if (found[i].own < former)
			continue;
		const bool has_next = found[i].next < former;
		uint32 index = has_next ? found[i].next + entered : 0;
		if (placed[i].is_last)
			index = ring->candidates.count;
		index = Max(index, least);
		open_gap<ring_size>(&ring->candidates, index);
		*at(ring, index) = placed[i].candidate;
		least = index + 1;
		entered++;
	}
}

Entered
enter_placed(Ring *ring, const RingKey &key, const Holding &holding, const Placed *placed,
			 int count, uint32 wake_generation, bool keeps_quiet)
{
	Entered entered = Entered::none;
	with_ring(ring, key, [&] {
		if (ring->sweep.wake_generation != holding.wake_generation ||
			ring->fill.generation != holding.fill_generation ||
			ring->flight.returns != holding.returns || ring->fill.filler != 0)
			return;
		entered = ring->candidates.count + count > ring_size ? Entered::no_room : Entered::all;
		if (entered == Entered::no_room)
			return;
		enter_in_order(ring, placed, count);
		ring->sweep.wake_generation = wake_generation;
		ring->idleness.is_sure = ring->idleness.is_sure && (keeps_quiet || count == 0);
		if (count > 0) {
			ring->flight.changes++;
			ring->idleness.nothing_at = 0;
		}
		announce_rest(ring, 1);
	});
	return entered;
}

void
begin_trust(Ring *ring, const RingKey &key, uint64 table_version)
{
	with_ring(ring, key, [&] {
		if (ring->table_version != table_version)
			request_sweep(ring);
		ring->table_version = table_version;
	});
}

// When the next sweep is due: so that sweeps take about a twentieth of the time, within bounds.
static TimestampTz
next_sweep(const Ring *ring)
{
	const bool is_told = ring->idleness.is_told && !ring->sweep.has_passed;
	const int64 least = is_told ? least_told_interval_us : least_sweep_interval_us;
	const int64 interval = sweep_interval_factor * ring->sweep.cost_us;
	return ring->sweep.ended_at + Min(Max(interval, least), most_sweep_interval_us);
}

bool
end_quiet(Ring *ring, const RingKey &key, TimestampTz now)
{
	bool is_ended = false;
	with_ring(ring, key, [&] {
		is_ended = now >= ring->sweep.due && now - ring->sweep.ended_at >= least_look_interval_us;
		ring->idleness.is_sure &= !is_ended;
	});
	return is_ended;
}

void
disquiet(Ring *ring, const RingKey &key)
{
	with_ring(ring, key, [&] {
		ring->idleness.is_told = ring->idleness.is_sure = false;
		if (ring->sweep.due != 0 && ring->sweep.due != PG_INT64_MAX)
			ring->sweep.due = next_sweep(ring);
		announce_time(ring, next_event(ring));
	});
}

bool
may_ask_due(Ring *ring, const RingKey &key, TimestampTz now, int64 read_us)
{
	constexpr int64 expected_us = USECS_PER_SEC / 2;
	bool may = false;
	with_ring(ring, key, [&] {
		const int64 passed = now - ring->due_question.asked_at;
		const int64 cost = Min(ring->due_question.cost_us, most_sweep_interval_us);
		may = ring->due_question.read_us + read_us >= cost || passed < 0 ||
			  passed >= sweep_interval_factor * cost;
		if (!may)
			return;
		// For who takes this fill over.
		ring->due_question.asked_at = now;
		ring->due_question.cost_us = Max(ring->due_question.cost_us, expected_us);
		ring->due_question.read_us = 0;
	});
	return may;
}

void
doubt_contents(Ring *ring, const RingKey &key)
{
	with_ring(ring, key, [&] {
		ring->idleness.is_told = ring->idleness.is_sure = false;
		announce_time(ring, next_event(ring));
	});
}

void
ask_for_sweep(Ring *ring, const RingKey &key)
{
	with_ring(ring, key, [&] { request_sweep(ring); });
}

void
expect(Ring *ring, const RingKey &key, TimestampTz due)
{
	with_ring(ring, key, [&] {
		ring->sweep.row_due = Min(ring->sweep.row_due, due);
		announce_time(ring, due);
	});
}

static void
expect_row(Ring *ring, const DueJob &job)
{
	TimestampTz sweep_at = PG_INT64_MAX;
	if (job.row.due == PG_INT64_MAX)
		return;
	if (!is_for(ring, job.kind))
		return;
	if (ring->kind_count == 0 || job.kind != unknown_kind)
		sweep_at = enter(&ring->due_rows, job.row);
	else
		sweep_at = job.row.due;
	ring->sweep.row_due = Min(ring->sweep.row_due, sweep_at);
	announce_time(ring, job.row.due);
}

// A few at a time: for each the spinlock is held for a pass over the rows to come, at worst.
void
expect_rows(Ring *ring, const RingKey &key, const DueJob *jobs, int count)
{
	constexpr int most_at_once = 4;
	for (int first = 0; first < count; first += most_at_once)
		with_ring(ring, key, [&] {
			for (int i = first; i < Min(count, first + most_at_once); i++)
				expect_row(ring, jobs[i]);
		});
}

Taken
take_due(Ring *ring, const RingKey &key, TimestampTz now, Candidate *candidates)
{
	Taken taken{};
	with_ring(ring, key, [&] {
		while (taken.count < most_due_at_once && first_due(ring->due_rows) <= now)
			candidates[taken.count++] = take_first(&ring->due_rows).candidate;
		taken.sweep_generation = ring->sweep.generation;
		ring->flight.count += taken.count;
	});
	return taken;
}

void
admit(Ring *ring, const RingKey &key, const Candidate *candidates, int count, const Taken &taken)
{
	with_ring(ring, key, [&] {
		insert_all(ring, candidates, count, Added::newest);
		land(ring, taken.count, taken.sweep_generation);
		announce_rest(ring, 1);
	});
}

// The number of waits in vain after which the fill is taken over: twice the time that the last such
// read took, within bounds. It doubles with each takeover, as a filler that is only slow would
// become slower with many reading beside it.
static int
most_waits_for(const Ring *ring)
{
	constexpr int64 us_per_ms = 1000;
	const int64 cost =
		ring->fill.is_sweep ? ring->sweep.cost_us + ring->due_question.cost_us : ring->fill.cost_us;
	const int64 patience = Max(2 * Min(cost, most_patience_us), least_patience_us);
	const int doublings = Max(0, Min(ring->fill.takeovers, most_doublings));
	return static_cast<int>(Min(patience << doublings, most_patience_us) / (wait_ms * us_per_ms));
}

// A request that comes after a sweep's beginning outlasts its end, since its snapshot may not show those
// rows: so requests are reset here, and not in finish_fill().
FillOrder
begin_fill(Ring *ring, const RingKey &key, TimestampTz now, const Generations &generations,
		   int64 lost)
{
	FillOrder order{};
	with_ring(ring, key, [&] {
		order.filler = ring->fill.filler;
		order.generation = ring->fill.generation;
		order.most_waits = most_waits_for(ring);
		order.takeovers = ring->fill.takeovers;
		if (ring->fill.filler != 0 && ring->fill.generation != lost)
			return;
		if (ring->fill.filler != 0) { // read again what the lost filler was to read
			request_sweep(ring);
			ring->fill.takeovers++;
		}
		order.is_sweep = ring->reading.is_at_end || ring->reading.cursor.size == 0 ||
						 must_sweep(ring, now, generations);
		order.is_needless = !order.is_sweep && ring->candidates.count > low_water;
		if (order.is_needless)
			return;
		ring->fill.filler = MyProcPid;
		ring->fill.has_dropped = false;
		order.generation = ++ring->fill.generation;
		order.is_mine = true;
		ring->fill.is_sweep = order.is_sweep;
		// This sweep may not see the rows of a request that comes from here on.
		if (order.is_sweep) {
			ring->sweep.due = PG_INT64_MAX;
			order.now = now;
			ring->sweep.row_due_before = Min(ring->sweep.row_due_before, ring->sweep.row_due);
			ring->sweep.row_due = PG_INT64_MAX;
			ring->idleness.is_sure = false;
			ring->flight.has_locked = false;
			ring->sweep.has_passed = false;
			ring->sweep.wake_generation = current_of(generations);
			ring->sweep.generation++;
			ring->flight.count = 0; // the sweep reads these rows, too
			ring->flight.claims_before = ring->counters.claims;
			ring->flight.gone_before = ring->counters.gone;
		}
		order.cursor = ring->reading.cursor;
	});
	return order;
}

// Merges what was read with the candidates of a sorted ring. Both may have a row; under different
// TIDs, if it was updated in between.
static void
merge_fill(Ring *ring, const Fill &fill)
{
	const Candidate *rest = merge_candidates(ring, fill.candidates, fill.count, Added::any);
	// A later fill reads what was offered behind the cursor.
	while (ring->candidates.count > 0 &&
		   !covers(ring, at(ring, ring->candidates.count - 1)->sort_key()))
		ring->candidates.count--;
	if (rest != nullptr && covers(ring, rest->sort_key()))
		end_at_last(ring);
	if (ring->reading.is_at_end && ring->candidates.count > 0)
		reach(ring, at(ring, ring->candidates.count - 1)->sort_key());
}

// Moves the cursor before the lowest sort key dropped during the fill, so that it and all behind it
// are read again.
static void
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

// Adds what was read to a ring that is not sorted.
static void
append(Ring *ring, const FillOrder &order, const Fill &fill)
{
	// A sweep has read the ring's candidates again.
	if (order.is_sweep)
		clear(ring);
	const int count = Min(fill.count, ring_size - static_cast<int>(ring->candidates.count));
	for (int i = 0; i < count; i++)
		*at(ring, ring->candidates.count + i) = fill.candidates[i];
	ring->candidates.count += count;
	if (count < fill.count) // the cursor has passed what does not fit
		request_sweep(ring);
}

// Broadcasts in any case: a waiter of a fill that was lost may look again, too.
bool
finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const Fill &fill, int *added)
{
	bool is_lost = true;
	with_ring(ring, key, [&] {
		if (fill.ask_due_cost_us != 0)
			ring->due_question.cost_us = fill.ask_due_cost_us;
		if (ring->fill.generation != order.generation)
			return;
		is_lost = false;
		const int count_before = order.is_sweep ? 0 : static_cast<int>(ring->candidates.count);
		ring->flight.changes++;
		ring->fill.filler = 0;
		ring->reading.is_at_end = fill.is_complete;
		ring->reading.reads_again = fill.reads_again;
		if (fill.count > 0 || fill.cursor.size > 0)
			ring->reading.cursor = fill.cursor;
		if (key.is_sorted) {
			merge_fill(ring, fill);
			step_back(ring);
		} else
			append(ring, order, fill);
		*added = static_cast<int>(ring->candidates.count) - count_before;
		announce_rest(ring, 1);
		// The clock may have been set back.
		const int64 cost = Max(fill.ended - fill.began - fill.ask_due_cost_us, 0);
		ring->fill.takeovers = 0;
		ring->counters.fill_time_us += cost;
		if (!order.is_sweep) {
			ring->counters.fills++;
			ring->fill.cost_us = cost;
			return;
		}
		ring->counters.sweeps++;
		ring->due_question.read_us += cost;
		if (fill.knows_due)
			ring->sweep.row_due = Min(ring->sweep.row_due, fill.next_due);
		else if (ring->sweep.row_due_before > order.now)
			ring->sweep.row_due = Min(ring->sweep.row_due, ring->sweep.row_due_before);
		ring->sweep.row_due_before = PG_INT64_MAX;
		ring->idleness.is_told = fill.is_told;
		ring->idleness.nothing_at = fill.count == 0 ? fill.nothing_at : 0;
		ring->sweep.ended_at = fill.ended;
		ring->sweep.cost_us = cost;
		if (ring->sweep.due == 0) // requested since it began
			return;
		ring->sweep.due = next_sweep(ring);
		// What it has read stands in the ring; a row that fell due meanwhile is among those to come.
		if (fill.quiet_until > fill.ended) {
			ring->idleness.is_sure = true;
			ring->idleness.quiet_until = Min(fill.quiet_until, fill.ended + most_sweep_interval_us);
		}
		announce_time(ring, next_event(ring));
	});
	ConditionVariableBroadcast(&ring->fill.ended);
	return !is_lost;
}

// Requests a sweep, since begin_fill() may have reset the request that this fill was to serve.
void
cancel_fill(Ring *ring, const RingKey &key, const FillOrder &order)
{
	with_ring(ring, key, [&] {
		if (ring->fill.generation != order.generation)
			return;
		ring->fill.filler = 0;
		ring->sweep.row_due = Min(ring->sweep.row_due, ring->sweep.row_due_before);
		ring->sweep.row_due_before = PG_INT64_MAX;
		request_sweep(ring);
	});
	ConditionVariableBroadcast(&ring->fill.ended);
}

// Tests the ring after joining the waiters, as a broadcast before that would be missed.
bool
wait_for_fill(Ring *ring, const RingKey &key, const FillOrder &order)
{
	const auto is_under_way = [&] {
		bool is_it = false;
		with_ring(ring, key, [&] {
			is_it = ring->fill.filler != 0 && ring->fill.generation == order.generation;
		});
		return is_it;
	};
	ConditionVariablePrepareToSleep(&ring->fill.ended);
	bool is_in_vain = false;
	if (is_under_way()) {
		ConditionVariableTimedSleep(&ring->fill.ended, wait_ms, PG_WAIT_EXTENSION);
		is_in_vain = is_under_way();
	}
	ConditionVariableCancelSleep();
	return !is_in_vain;
}

void
note_path(Ring *ring, const RingKey &key, const char *path)
{
	with_ring(ring, key, [&] { strlcpy(ring->path, path, path_size); });
}

// What candidates tried in vain have cost: the time for trying them, and for reading as many.
static int64
passing_cost(const Ring *ring, int64 passed, int64 passing_us)
{
	const int64 measured = passing_us + passed * ring->fill.cost_us / fill_size;
	return Max(passed * least_pass_cost_us, Min(measured, passed * most_pass_cost_us));
}

// An expensive sweep puts off the next one. A row that was passed by may become claimable again without an
// announcement, so the ring is quiet no longer.
static void
count(Ring *ring, const RingCounters &more)
{
	ring->counters.claims += more.claims;
	ring->counters.empty_pops += more.empty_pops;
	ring->counters.locked += more.locked;
	ring->counters.gone += more.gone;
	ring->counters.not_pending += more.not_pending;
	ring->counters.passing_us += more.passing_us;
	const int64 passed = more.locked + more.gone + more.not_pending;
	if (passed == 0)
		return;
	ring->idleness.is_sure = false;
	ring->sweep.has_passed = true;
	ring->flight.has_locked |= more.locked > 0;
	ring->sweep.cost_us += passing_cost(ring, passed, more.passing_us);
	if (ring->sweep.due != 0 && ring->sweep.due != PG_INT64_MAX)
		ring->sweep.due = next_sweep(ring);
}

void
add(Ring *ring, const RingKey &key, const RingCounters &more)
{
	with_ring(ring, key, [&] { count(ring, more); });
}

void
settle(Ring *ring, const RingKey &key, const RingCounters &more, int tried, uint32 sweep_generation)
{
	with_ring(ring, key, [&] {
		count(ring, more);
		land(ring, tried, sweep_generation);
	});
}

} // namespace queue_ext::ring
