// ring.cpp - see ring.hpp.
//
// A ring that is not sorted has a cursor as a sorted one has (sorted_order.hpp), but in bytes. It cannot tell where a row stands: rows whose claim is
// undone go to the front (put_back()), others are entered by a pop that has compared them (enter_placed(),
// claim/news.hpp), or a sweep finds them.

#include "../postgres.hpp"

#include "ring.hpp"

#include "locked.hpp"
#include "sorted_order.hpp"
#include "sweep_clock.hpp"

namespace queue_ext::ring {

// The least time between two sweeps that only the statistics need.
constexpr int64 least_look_interval_us = USECS_PER_SEC;

// What it costs at least to try a candidate in vain: a plain one takes a tenth of that, but all
// workers pass by the same candidates at the same time, and none claims. If it seems to cost more
// than the most, the process was suspended meanwhile.
constexpr int64 least_pass_cost_us = 6;
constexpr int64 most_pass_cost_us = 1000;

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
