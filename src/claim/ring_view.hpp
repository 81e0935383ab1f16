// ring_view.hpp - what the rings show of the jobs that are ready, without their candidates.

#pragma once

#include "../postgres.hpp"

#include "../stats/marks.hpp"

namespace queue_ext::claim {

// The rings of one queue.
struct RingView
{
	Oid table;
	NameData queue;
	bool is_sorted;
	int64 candidates;
	bool has_all;        // all that is ready stands in the ring
	bool has_cursor;     // or all that comes before a row of this priority, and some of it
	int16 cursor;        // that priority
	stats::Marks heads;  // of the candidates, where the ring is sorted
	TimestampTz row_due; // the earliest time known at which a job becomes ready by the clock
	int waiting;
};

// The rings of this database, those of one queue together, in the order of compare_views(). Takes
// the rings' spinlocks, one after the other. Raises only for want of the backend's own memory.
RingView *view_rings(int *count);

// The order of the queues: by table, and by name.
int compare_views(const void *left, const void *right);

} // namespace queue_ext::claim
