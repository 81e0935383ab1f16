// shard_bucket.hpp - where scaleout/ has the key of the job that the session inserts next.
//
// A queue over many servers divides its keys into 1,024 buckets, by values that a digest does not have. The
// history keeps the bucket of each job, so that a server which gives a bucket away knows what it must tell.
//
// Example:
//     note_shard_buckets(buckets, count);                     // queue_shard.queue_unique_insert()
//     const int16 *buckets = take_shard_buckets(count);       // insert_unique()

#pragma once

#include "../postgres.hpp"

namespace queue_ext::unique {

constexpr int16 shard_bucket_count = 1024;
constexpr int16 no_shard_bucket = -1;

// Notes the buckets of the payloads of the next unique insert in this transaction, in their order.
// no_shard_bucket: unknown.
void note_shard_buckets(const int16 *buckets, int count);

// Returns what was noted in this transaction for so many payloads, in memory that stays until the next
// note; null if there is nothing. Each note is taken once.
const int16 *take_shard_buckets(int count);

} // namespace queue_ext::unique
