// counts.cpp - queue_counts: how many jobs are in each state.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../result.hpp"
#include "../statement/statement.hpp"
#include "by_state.hpp"

namespace queue_ext::queue {

using definition::Definition;

QUEUE_EXT_FUNCTION(queue_ext_queue_counts);

// Also works in a read-only transaction and on a standby, so it does not call check_may_write().
Datum
queue_ext_queue_counts(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_counts()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	TupleDesc descriptor = result::row_type(fcinfo);

	const Definition *definition =
		open_managed_queue(name, definition::Use::read, "Ask its table.");
	int64 counts[lengthof(definition::job_states)];
	bool nulls[lengthof(definition::job_states)];
	statement::with_spi([&] {
		StringInfoData query;
		initStringInfo(&query);
		appendStringInfoString(&query, "select");
		for (size_t i = 0; i < lengthof(definition::job_states); i++)
			appendStringInfo(&query,
							 "%s pg_catalog.count(*) filter (where state"
							 " operator(pg_catalog.=) '%s')",
							 i == 0 ? "" : ",", definition::job_states[i]);
		appendStringInfo(&query, " from (select %s as state from %s as t) as s",
						 definition::job_state("$1"), definition->source_name);
		run_by_state(definition, query.data, nullptr, true);
		for (size_t i = 0; i < lengthof(definition::job_states); i++)
			counts[i] = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
													static_cast<int>(i) + 1, &nulls[i]));
	});
	Datum values[lengthof(definition::job_states)];
	for (size_t i = 0; i < lengthof(definition::job_states); i++)
		values[i] = Int64GetDatum(counts[i]);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

} // namespace queue_ext::queue
