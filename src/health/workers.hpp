// workers.hpp - what the rings tell of a queue's workers and of their claims.

#pragma once

#include "../postgres.hpp"

#include "../ring/state.hpp"

namespace queue_ext::health {

// Of all rings of a queue.
struct Workers
{
	NameData queue;             // in the table's schema
	TimestampTz came_at;        // when the last one looked for a job
	int waiting;                // that wait for one
	int64 sweep_cost_us;        // of the last sweep, in the ring where that was dearest
	bool is_by_tid;             // claims of some are by TID
	char path[ring::path_size]; // why, as in queue_claim_stats
};

// The workers of all queues of this database.
struct AllWorkers
{
	HTAB *by_table; // lists of Workers *
	bool is_full;   // rings are scarce: a queue without one may have workers
};

// Copies what is of interest from each ring of this database, to the current context. Takes the
// spinlock of each.
AllWorkers find_workers();

// Those of one queue; null if it has no ring.
const Workers *workers_of(const AllWorkers &all, Oid table, const char *queue);

} // namespace queue_ext::health
