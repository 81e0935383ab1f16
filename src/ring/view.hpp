// view.hpp - what the rings show of the jobs that are ready, without their candidates.

#pragma once

#include "../postgres.hpp"

#include "../stats/marks.hpp"

namespace queue_ext::ring {

// The rings of one queue.
struct RingView
{
	Oid table;
	NameData queue;
	bool is_sorted;
	bool is_of_kinds; // and so tells nothing of the jobs of other kinds
	bool has_kinds;   // there are rings for kinds, of whose claims that of all is not told
	int64 candidates;
	bool is_trusted;    // a ring that is sorted has, or had, all that was ready when it was read
						// last, and what writes have made ready since, of what it covers:
	bool is_at_end;     // the whole queue
	bool has_cursor;    // or all that comes before a row of this priority, and some of it
	int16 cursor;       // that priority
	stats::Marks heads; // of the candidates
	int waiting;
};

// The rings of this database, those of one queue together, in the order of compare_views(). Takes
// the rings' spinlocks, one after the other. Raises only for want of the backend's own memory.
RingView *view_rings(int *count);

// The order of the queues: by table, and by name.
int compare_views(const void *left, const void *right);

} // namespace queue_ext::ring
