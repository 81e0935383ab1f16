// shard_bucket.cpp - see shard_bucket.hpp.

#include "../postgres.hpp"

#include "shard_bucket.hpp"

namespace queue_ext::unique {

// A call that fails after its note leaves it: so it is of one transaction, which has a start time of its own, and
// of one subtransaction.
static struct
{
	TimestampTz transaction;
	SubTransactionId subtransaction;
	int count;      // 0: nothing is noted
	int16 *buckets; // in TopMemoryContext
} noted;

void
note_shard_buckets(const int16 *buckets, int count)
{
	noted.count = 0;
	if (noted.buckets != nullptr)
		pfree(noted.buckets);
	noted.buckets = nullptr;
	if (count == 0)
		return;
	const Size size = sizeof(int16) * static_cast<Size>(count);
	noted.buckets = static_cast<int16 *>(MemoryContextAllocHuge(TopMemoryContext, size));
	memcpy(noted.buckets, buckets, size);
	noted.transaction = GetCurrentTransactionStartTimestamp();
	noted.subtransaction = GetCurrentSubTransactionId();
	noted.count = count;
}

const int16 *
take_shard_buckets(int count)
{
	const bool is_it = noted.count == count && noted.count > 0 &&
					   noted.transaction == GetCurrentTransactionStartTimestamp() &&
					   noted.subtransaction == GetCurrentSubTransactionId();
	noted.count = 0;
	return is_it ? noted.buckets : nullptr;
}

} // namespace queue_ext::unique
