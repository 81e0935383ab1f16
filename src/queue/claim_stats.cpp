// claim_stats.cpp - queue_claim_counters, behind the view queue_claim_stats, and
// queue_claim_stats_reset.

#include "../postgres.hpp"

#include "../result.hpp"
#include "../ring/shared_memory.hpp"

namespace queue_ext::queue {

using ring::Ring;

QUEUE_EXT_FUNCTION(queue_ext_queue_claim_counters);
QUEUE_EXT_FUNCTION(queue_ext_queue_claim_stats_reset);

// The objects of 0.1 have no columns for the last values, from the path on. Leaves out the ring of a
// dropped table, which stays until another queue takes it over.
static void
put_ring(const ReturnSetInfo *result, const Ring &ring)
{
	constexpr double us_per_ms = 1000.0;
	const ring::RingCounters &counters = ring.counters;
	const char *schema = get_namespace_name(get_rel_namespace(ring.key.table));
	if (schema == nullptr)
		return;
	const char *queue = quote_qualified_identifier(schema, NameStr(ring.key.queue));
	Datum values[] = {
		CStringGetTextDatum(queue),
		ObjectIdGetDatum(ring.key.table),
		Int64GetDatum(counters.claims),
		Int64GetDatum(counters.empty_pops),
		Int64GetDatum(counters.fills),
		Int64GetDatum(counters.sweeps),
		Int64GetDatum(counters.locked),
		Int64GetDatum(counters.gone),
		Int64GetDatum(counters.not_pending),
		Int32GetDatum(static_cast<int32>(ring.candidates.count)),
		Float8GetDatum(static_cast<double>(counters.fill_time_us) / us_per_ms),
		CStringGetTextDatum(pg_any_to_server(ring.path, static_cast<int>(strlen(ring.path)),
											 GetDatabaseEncoding())),
		Int32GetDatum(ring.waiters.count),
		Int64GetDatum(counters.wakes),
	};
	bool nulls[lengthof(values)] = {};
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// Works on copies, since nothing that can raise may run under the spinlock of a ring.
Datum
queue_ext_queue_claim_counters(PG_FUNCTION_ARGS)
{
	const ReturnSetInfo *result = result::begin_set(fcinfo);
	auto *ring = static_cast<Ring *>(palloc(sizeof(Ring)));
	for (int place = 0; place < ring::ring_count(); place++) {
		CHECK_FOR_INTERRUPTS();
		if (copy_ring(place, ring))
			put_ring(result, *ring);
	}
	return static_cast<Datum>(0);
}

// Resets the rings of this database only.
Datum
queue_ext_queue_claim_stats_reset(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	for (int place = 0; place < ring::ring_count(); place++)
		ring::reset_counters(place);
	PG_RETURN_VOID();
}

} // namespace queue_ext::queue
