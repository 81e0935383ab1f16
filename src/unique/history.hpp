// history.hpp - the table queue_unique_job: jobs that were inserted where a finished one
// counts, by the digest of their values.
//
// Invariant: a row says that the job was inserted, by a transaction that has committed
// or is this one. Where the queue's table has no such job any more, the job is done.
// (The digest is SHA-256, so no payload outlives its job here.)
//
// It is read and written past the executor, in no one's name, after the executor has
// checked what the caller may do with the queue's table.

#pragma once

#include "../postgres.hpp"

#include "find.hpp"

namespace queue_ext::unique {

// Puts the ids of the remembered jobs with those digests into jobs[i], as a list of
// int64 * in the current context. Only for callers who may read all of the table. The
// locks of unique inserts must have been taken before. Takes ACCESS SHARE.
void recall(Oid source, const Datum *digests, int count, List **jobs);

// Adds a row for each. Now and then, removes some that have expired; without waiting.
// Takes ROW EXCLUSIVE.
void remember(Oid source, const Datum *digests, const int64 *jobs, int count,
			  TimestampTz expires_at);

// Removes what has expired, of all queues. Returns how many.
int64 forget_expired();

// Removes all rows of the queue's table of that OID; returns how many.
int64 forget_all(Oid source);

// Removes the rows of tables that have been dropped.
void forget_dropped();

} // namespace queue_ext::unique
