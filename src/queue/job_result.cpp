// job_result.cpp - see job_result.hpp; queue_result.

#include "../postgres.hpp"

#include "job_result.hpp"

#include "../argument.hpp"
#include "../definition/keep.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../definition/shape.hpp"
#include "../result.hpp"
#include "../statement/statement.hpp"
#include "calls_kept.hpp"

namespace queue_ext::queue {

using definition::Definition;
using statement::Parameter;

QUEUE_EXT_FUNCTION(queue_ext_queue_result);

// The job in the archive, which may be one that the queue does not use any more, or may be missing. A job
// that is past its keep is not there, removed or not.
static const char *
archived_text(const Definition *definition, const char *id)
{
	if (definition->archive_name == nullptr)
		return "";
	return psprintf(" union all select 1, a.state, a.finished_at, %s from %s as a"
					" where a.id operator(pg_catalog.=) %s%s",
					definition::keeps_results(definition->archive) ? "a.result" : "null",
					definition->archive_name, id,
					definition::is_for_ever(definition->archive_keep)
						? ""
						: psprintf(" and a.finished_at operator(pg_catalog.>) %s",
								   placeholder(Parameter::cutoff)));
}

// Both tables under one snapshot, so that a job that is being archived is found once.
static const char *
text_of(const Definition *definition)
{
	const char *id = placeholder(Parameter::id);
	const char *now = placeholder(Parameter::call_time);
	return psprintf("select s.state, s.finished_at, s.result from"
					" (select 0 as place, %s as state,"
					" case when t.dead_at operator(pg_catalog.<=) %s then t.dead_at end"
					" as finished_at, null::pg_catalog.jsonb as result"
					" from %s as t where t.id operator(pg_catalog.=) %s%s) as s"
					" order by s.place limit 1",
					definition::job_state(now), now, definition->source_name, id,
					archived_text(definition, id));
}

bool
find_result(Definition *definition, int64 id, Datum *values, bool *nulls)
{
	const TimestampTz now = GetCurrentTimestamp();
	statement::Arguments arguments(now);
	arguments.set(Parameter::id, Int64GetDatum(id));
	arguments.set(Parameter::cutoff,
				  TimestampTzGetDatum(definition::cutoff_of(definition->archive_keep, now)));
	bool is_found = false;
	statement::with_spi([&] {
		const statement::Statement &statement =
			prepared_of(definition, kept_for_calls(definition, CallStatement::find_result),
						[&] { return text_of(definition); });
		is_found = run_newest(statement, arguments) > 0;
		for (int i = 0; i < found_count; i++) {
			nulls[i] = true;
			values[i] = 0;
			if (is_found)
				values[i] =
					SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &nulls[i]);
			if (!nulls[i])
				values[i] = SPI_datumTransfer(values[i], i == found_finished_at, -1);
		}
	});
	return is_found;
}

// Also works in a read-only transaction and on a standby, so it does not call check_may_write().
Datum
queue_ext_queue_result(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_result()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const int64 id = argument::required_int64(fcinfo, 1, "id");
	TupleDesc descriptor = result::row_type(fcinfo);
	Definition *definition = open_managed_queue(name, definition::Use::read, "Ask its table.");
	Datum values[found_count];
	bool nulls[found_count];
	(void) find_result(definition, id, values, nulls);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

} // namespace queue_ext::queue
