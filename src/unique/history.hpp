// history.hpp - the table queue_unique_job: inserted jobs that can count when they are done, by the
// digest of their values.
//
// Invariant: a row says that the job was inserted, by a committed transaction or by this one. If
// the queue's table does not have the job any more, the job is done. (The digest is a SHA-256, so
// no payload outlives its job here.)
//
// The table is read and written without the executor and without privilege checks; the caller's
// privileges on the queue's table must have been checked before.

#pragma once

#include "../postgres.hpp"

#include "find.hpp"

namespace queue_ext::unique {

// Appends the IDs of the recorded jobs with these digests to jobs[i], a list of int64 * in the
// current memory context. No row of the queue's table may be hidden from the caller, and the locks
// of unique inserts must be held. Takes ACCESS SHARE on queue_unique_job.
void recall(Oid source, const Datum *digests, int count, List **jobs);

// Inserts a row for each job, with its bucket (shard_bucket.hpp). Now and then also deletes a batch of
// expired rows, without waiting. Takes ROW EXCLUSIVE on queue_unique_job.
void remember(Oid source, const Datum *digests, const int64 *jobs, const int16 *buckets, int count,
			  TimestampTz expires_at);

// Deletes the expired rows of all queues and returns how many. Skips rows that another transaction
// is deleting, as the next two functions do. Takes ROW EXCLUSIVE, as they do.
int64 forget_expired();

// Deletes all rows of the queue's table with that OID and returns how many.
int64 forget_all(Oid source);

// Deletes the rows of tables that have been dropped.
void forget_dropped();

} // namespace queue_ext::unique
