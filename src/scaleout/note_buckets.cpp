// note_buckets.cpp - note_buckets: tells the next unique insert of the session in which buckets of scaleout/ its keys are.
//
// The functions of a shard know the bucket of a key, since the proxy has chosen the shard by it. The insert, which
// they call then, keeps it in the history (unique/history.hpp). A role that notes another bucket than its key has
// harms its own jobs.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../error.hpp"
#include "../unique/shard_bucket.hpp"

namespace queue_ext::scaleout {

QUEUE_EXT_FUNCTION(queue_ext_note_buckets);

// A null element is a bucket that is not known. Raises 22004 for no array, 22023 for a number out of range.
Datum
queue_ext_note_buckets(PG_FUNCTION_ARGS)
{
	ArrayType *array = argument::required_array(fcinfo, 0, "_buckets");
	Datum *values;
	bool *nulls;
	int count;
	deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT, &values, &nulls, &count);
	auto *buckets = static_cast<int16 *>(palloc(sizeof(int16) * Max(count, 1)));
	for (int i = 0; i < count; i++) {
		if (!nulls[i])
			error::check_range("_buckets", DatumGetInt32(values[i]), 0,
							   unique::shard_bucket_count - 1);
		buckets[i] =
			nulls[i] ? unique::no_shard_bucket : static_cast<int16>(DatumGetInt32(values[i]));
	}
	unique::note_shard_buckets(buckets, count);
	pfree(buckets);
	PG_RETURN_VOID();
}

} // namespace queue_ext::scaleout
