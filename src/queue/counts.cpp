// counts.cpp - queue_counts: how many jobs are in each state.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/compiled.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../result.hpp"
#include "../statement/statement.hpp"
#include "by_state.hpp"
#include "calls_kept.hpp"
#include "finish.hpp"

namespace queue_ext::queue {

using definition::Definition;

QUEUE_EXT_FUNCTION(queue_ext_queue_counts);

namespace {

// How many jobs are in each of the states.
struct Counts
{
	int64 values[lengthof(definition::job_states)];
	bool nulls[lengthof(definition::job_states)];
};

} // namespace

static void
take_count(Counts *counts, int state)
{
	counts->values[state] = DatumGetInt64(SPI_getbinval(
		SPI_tuptable->vals[0], SPI_tuptable->tupdesc, state + 1, &counts->nulls[state]));
}

static void
count_states(const Definition *definition, Counts *counts)
{
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
		take_count(counts, static_cast<int>(i));
}

// The definition of an attached queue tells no state but that of the rows that are pending, the first one.
static void
count_pending(Definition *definition, Counts *counts)
{
	const statement::Statement &statement =
		prepared_of(definition, kept_for_calls(definition, CallStatement::count_pending), [&] {
			return psprintf("select pg_catalog.count(*) from %s as t where (%s)",
							definition->source_name, definition::compiled_of(definition).pending);
		});
	Snapshot snapshot = RegisterSnapshot(GetActiveSnapshot());
	run_under(snapshot, statement, common_arguments(definition, options_now()));
	UnregisterSnapshot(snapshot);
	take_count(counts, 0);
	for (size_t i = 1; i < lengthof(definition::job_states); i++)
		counts->nulls[i] = true;
}

// Also works in a read-only transaction and on a standby, so it does not call check_may_write().
Datum
queue_ext_queue_counts(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_counts()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	TupleDesc descriptor = result::row_type(fcinfo);

	Definition *definition = open_queue(name, definition::Use::read);
	Counts counts{};
	statement::with_spi([&] {
		if (definition->is_managed)
			count_states(definition, &counts);
		else
			count_pending(definition, &counts);
	});
	Datum values[lengthof(definition::job_states)];
	for (size_t i = 0; i < lengthof(definition::job_states); i++)
		values[i] = Int64GetDatum(counts.values[i]);
	PG_RETURN_DATUM(
		HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, counts.nulls)));
}

} // namespace queue_ext::queue
