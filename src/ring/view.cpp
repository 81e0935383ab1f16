// view.cpp - see view.hpp.

#include "../postgres.hpp"

#include "view.hpp"

#include "locked.hpp"
#include "shared_memory.hpp"
#include "sorted_run.hpp"

namespace queue_ext::ring {

int
compare_views(const void *left, const void *right)
{
	const auto *one = static_cast<const RingView *>(left);
	const auto *other = static_cast<const RingView *>(right);
	if (one->table != other->table)
		return one->table < other->table ? -1 : 1;
	return strncmp(NameStr(one->queue), NameStr(other->queue), NAMEDATALEN);
}

// The index of the first candidate from that one on that has a larger priority than that one. The
// ring must be sorted, and its spinlock held, as for the next two.
static uint32
next_priority(Ring *ring, uint32 from)
{
	const int16 priority = at(ring, from)->priority;
	return find_first(from + 1, ring->candidates.count,
					  [&](uint32 i) { return at(ring, i)->priority <= priority; });
}

// The first candidate of a priority is the one that has been ready longest. A candidate behind the
// cursor, which a fill under way may have, is one as well.
static void
find_heads(Ring *ring, stats::Marks *heads)
{
	for (uint32 i = 0; i < ring->candidates.count; i = next_priority(ring, i))
		lower(heads, at(ring, i)->priority, at(ring, i)->run_at);
}

// The candidates of a ring that is not sorted count as one priority.
static void
find_head(Ring *ring, stats::Marks *heads)
{
	for (uint32 i = 0; i < ring->candidates.count; i++)
		if (at(ring, i)->run_at != DT_NOBEGIN)
			lower(heads, 0, at(ring, i)->run_at);
}

// A job that was updated may stand there twice, at two TIDs.
static uint32
count_jobs(Ring *ring)
{
	uint32 jobs = 0;
	for (uint32 i = 0; i < ring->candidates.count; i++)
		jobs += i == 0 || !(at(ring, i)->sort_key() == at(ring, i - 1)->sort_key());
	return jobs;
}

static void
view(Ring *ring, uint32 wake_generation, RingView *view)
{
	clear(&view->heads);
	view->waiting = ring->waiters.count;
	view->is_of_kinds = ring->kind_count > 0;
	if (view->is_of_kinds)
		return;
	view->is_sorted = ring->key.is_sorted;
	view->candidates = ring->key.is_sorted ? count_jobs(ring) : ring->candidates.count;
	view->is_trusted = ring->key.is_sorted && ring->idleness.is_told && !ring->flight.has_locked &&
					   ring->fill.filler == 0 && ring->sweep.due != 0 &&
					   ring->sweep.wake_generation == wake_generation;
	view->is_at_end = ring->reading.is_at_end;
	view->has_cursor = ring->reading.cursor.size > 0;
	view->cursor = static_cast<int16>(ring->reading.cursor.sort_key.priority);
	if (ring->key.is_sorted)
		find_heads(ring, &view->heads);
	else
		find_head(ring, &view->heads);
}

// False if the ring is of no queue of this database. The bytes are not trusted: ends the name with a
// zero.
static bool
view_ring(int place, RingView *found)
{
	RingKey key;
	Ring *ring = find_ring(place, &key);
	if (ring == nullptr)
		return false;
	const uint32 generation = pg_atomic_read_u32(&get_wakes(key.table)->generation);
	*found = {};
	found->table = key.table;
	found->queue = key.queue;
	NameStr(found->queue)[NAMEDATALEN - 1] = '\0';
	return with_ring(ring, key, [&] { view(ring, generation, found); });
}

// Callers that differ have rings of their own, and none of these shows which jobs are ready for all. A
// ring for some kinds tells nothing of the others; and where there is one, that of all may have
// candidates that were claimed long ago.
static void
merge_views(RingView *one, const RingView &other)
{
	const int waiting = one->waiting + other.waiting;
	const bool has_kinds = one->has_kinds || one->is_of_kinds || other.is_of_kinds;
	if (one->is_of_kinds && !other.is_of_kinds)
		*one = other;
	else if (!other.is_of_kinds) {
		one->candidates = Max(one->candidates, other.candidates);
		lower(&one->heads, other.heads);
	}
	one->has_kinds = has_kinds;
	one->is_trusted = false;
	one->waiting = waiting;
}

RingView *
view_rings(int *count)
{
	const int rings = ring_count();
	int most = 64;
	auto *views = static_cast<RingView *>(palloc(sizeof(RingView) * most));
	*count = 0;
	for (int place = 0; place < rings; place++) {
		CHECK_FOR_INTERRUPTS();
		if (*count == most) {
			most *= 2;
			views = static_cast<RingView *>(repalloc(views, sizeof(RingView) * most));
		}
		*count += view_ring(place, &views[*count]);
	}
	qsort(views, *count, sizeof(RingView), compare_views);
	int kept = 0;
	for (int i = 0; i < *count; i++)
		if (kept > 0 && compare_views(&views[kept - 1], &views[i]) == 0)
			merge_views(&views[kept - 1], views[i]);
		else
			views[kept++] = views[i];
	*count = kept;
	return views;
}

} // namespace queue_ext::ring
