// sorted_run.hpp - searching a sorted run, and merging two in one pass.
//
// An element that is merged is a version of a row: it has sort_key(), with < and ==, and is_at_place_of(), which
// is true of another element with the same TID.
//
// Includes nothing of PostgreSQL, so that it can be unit-tested alone. Allocates nothing, as it runs
// under a spinlock.

#pragma once

namespace queue_ext::ring {

// The first index from low on, below high, for which is_before() is false; high if it is true for all. Up to that index it
// must be true, and false from there on.
template <typename Index, typename IsBefore>
Index
find_first(Index low, Index high, IsBefore &&is_before)
{
	while (low < high) {
		const Index middle = low + (high - low) / 2;
		if (is_before(middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// What the elements to be added are, where the other run has elements with the same sort key.
enum class Added {
	newest, // versions of the rows: they replace the others
	any,    // both are kept, unless they have the same TID
};

// What merge_runs() has made.
template <typename Element>
struct MergedRun
{
	int count;
	const Element *rest; // the first for which there was no room; null if there was room for all
};

// Merges the elements added with a run, whose element i is at(i), into merged, which has so much
// room. Of elements added with one sort key the last is the newest. Visits each element once at
// most, and none after the first for which there is no room.
template <typename Element, typename At>
MergedRun<Element>
merge_runs(At &&at, int count, const Element *added, int added_count, Added kind, Element *merged,
		   int room)
{
	int next_old = 0;
	int next_added = 0;
	int merged_count = 0;
	bool is_last_added = false;
	while (next_old < count || next_added < added_count) {
		// Where the sort keys are equal the one that was added comes first.
		const bool is_added =
			next_added < added_count &&
			(next_old == count || !(at(next_old).sort_key() < added[next_added].sort_key()));
		const Element &next = is_added ? added[next_added] : at(next_old);
		next_added += is_added;
		next_old += !is_added;
		Element *last = merged_count > 0 ? &merged[merged_count - 1] : nullptr;
		const bool is_same_row = last != nullptr && last->sort_key() == next.sort_key();
		if (is_same_row && kind == Added::newest && is_last_added) {
			if (is_added)
				*last = next;
			continue;
		}
		if (is_same_row && last->is_at_place_of(next))
			continue;
		if (merged_count == room)
			return {merged_count, &next};
		merged[merged_count++] = next;
		is_last_added = is_added;
	}
	return {merged_count, nullptr};
}

} // namespace queue_ext::ring
