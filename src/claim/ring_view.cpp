// ring_view.cpp - see ring_view.hpp.

#include "../postgres.hpp"

#include "ring_view.hpp"

#include "ring_section.hpp"
#include "shared_memory.hpp"

namespace queue_ext::claim {

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
	uint32 first = from + 1;
	uint32 end = ring->count;
	while (first < end) {
		const uint32 middle = first + (end - first) / 2;
		if (at(ring, middle)->priority > priority)
			end = middle;
		else
			first = middle + 1;
	}
	return first;
}

// The first candidate of a priority is the one that has been ready longest. A candidate behind the
// cursor, which a fill under way may have, is one as well.
static void
find_heads(Ring *ring, stats::Marks *heads)
{
	clear(heads);
	for (uint32 i = 0; i < ring->count; i = next_priority(ring, i))
		lower(heads, at(ring, i)->priority, at(ring, i)->run_at);
}

static void
view(Ring *ring, TimestampTz now, uint32 wake_generation, RingView *view)
{
	view->is_sorted = ring->key.is_sorted;
	view->candidates = ring->count;
	view->has_all = ring->key.is_sorted && ring->is_at_end && ring->is_told && ring->filler == 0 &&
					!is_row_due(ring, now, wake_generation);
	view->has_cursor = ring->key.is_sorted && ring->cursor.size > 0;
	view->cursor = static_cast<int16>(ring->cursor.sort_key.priority);
	view->row_due = ring->row_due;
	view->waiting = ring->waiters.count;
	if (ring->key.is_sorted)
		find_heads(ring, &view->heads);
}

// False if the ring is of no queue of this database. The bytes are not trusted: ends the name with a
// zero.
static bool
view_ring(int place, TimestampTz now, RingView *found)
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
	return with_ring(ring, key, [&] { view(ring, now, generation, found); });
}

// Callers that differ have rings of their own, and none of these shows what is ready for all.
static void
merge(RingView *one, const RingView &other)
{
	one->waiting += other.waiting;
	one->candidates = Max(one->candidates, other.candidates);
	one->has_all = false;
}

RingView *
view_rings(int *count)
{
	const int rings = ring_count();
	const TimestampTz now = GetCurrentTimestamp();
	int most = 64;
	auto *views = static_cast<RingView *>(palloc(sizeof(RingView) * most));
	*count = 0;
	for (int place = 0; place < rings; place++) {
		CHECK_FOR_INTERRUPTS();
		if (*count == most) {
			most *= 2;
			views = static_cast<RingView *>(repalloc(views, sizeof(RingView) * most));
		}
		*count += view_ring(place, now, &views[*count]);
	}
	qsort(views, *count, sizeof(RingView), compare_views);
	int kept = 0;
	for (int i = 0; i < *count; i++)
		if (kept > 0 && compare_views(&views[kept - 1], &views[i]) == 0)
			merge(&views[kept - 1], views[i]);
		else
			views[kept++] = views[i];
	*count = kept;
	return views;
}

} // namespace queue_ext::claim
