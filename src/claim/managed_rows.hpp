// managed_rows.hpp - the rows of a managed queue, read from the queue's own index.
//
// The index over (priority, run_at, id) has the jobs in the queue's order, the one by kind those of each kind so.
// Within a priority the entries stand by run_at, so where the first one to come is found, a read goes on with the next
// priority. Its cost grows with the jobs that are ready or leased, and with the number of priorities; not with the
// jobs that are scheduled.
//
// Invariant: the index has the order of SortKey, and an entry for each job that has no dead_at
// (definition::claim_index()). So it is only read for sorted rings (RingKey::is_sorted).

#pragma once

#include "../postgres.hpp"

#include "../ring/ring.hpp"
#include "compiled_claim.hpp"

namespace queue_ext::claim {

// A job that is ready, and the XID that has written its row.
struct ReadyRow
{
	ring::Candidate candidate;
	TransactionId writer;
};

// The first jobs that a read has passed by, as they are ready later, in the order of these times.
struct PassedBy
{
	ring::DueJob *jobs; // room for `most`
	int most;
	int count;
};

// Reads the first jobs of the claim's kinds that are ready at that time, and have not expired, in the order, behind that key or, where it is
// null, from the head. The snapshot must be registered. Takes ACCESS SHARE on the table and the index until the end of
// the transaction, and no predicate locks. Returns how many there are, at most `most`.
int read_ready(const RingClaim *claim, Snapshot snapshot, TimestampTz now,
			   const ring::SortKey *behind, ReadyRow *rows, int most, PassedBy *passed);

// The jobs of a queue that are not dead.
struct Numbers
{
	bool are_wanted;     // at any cost; else only if all are read anyway
	bool are_known;      // they were read
	int64 jobs;          // those that have attempts left, and have not expired, or are to come
	int64 leased;        // of these
	int64 expired;       // those that would be ready
	TimestampTz due;     // when the first of them may be claimed; PG_INT64_MAX: there is none
	TimestampTz run_at;  // of the first one that is not leased; PG_INT64_MAX: there is none
	int16 priority;      // the last one
	bool knows_last;     // the table has the index of dead jobs
	int64 last_attempts; // leased for the last time
};

// Reads the first jobs of the claim's kinds that become claimable by themselves after that time, in the order of these
// times, and counts all; numbers: null, or where the counts go. Else as read_ready().
int read_first_due(const RingClaim *claim, Snapshot snapshot, TimestampTz now, ring::DueJob *jobs,
				   int most, Numbers *numbers);

} // namespace queue_ext::claim
