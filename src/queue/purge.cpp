// purge.cpp - queue_purge and queue_counts: what looks at all jobs of a queue.
//
// Both read the whole table, so neither has a pinned plan.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../statement/qualify.hpp"
#include "../unique/memory.hpp"

namespace queue_ext::queue {

using definition::Definition;

QUEUE_EXT_FUNCTION(queue_ext_queue_purge);
QUEUE_EXT_FUNCTION(queue_ext_queue_counts);

static void
check_state(const char *state)
{
	for (const char *known : definition::job_states)
		if (strcmp(state, known) == 0)
			return;
	error::unknown_state(state);
}

static bool
is_done(const char *state)
{
	return state != nullptr && strcmp(state, "done") == 0;
}

// Forgets what unique inserts remember of jobs; who may delete all of these may do that.
static int64
forget_done(const Definition *definition)
{
	const AclResult result = pg_class_aclcheck(definition->source, GetUserId(), ACL_DELETE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, get_rel_name(definition->source));
	if (check_enable_rls(definition->source, InvalidOid, true) == RLS_ENABLED)
		error::forget_under_row_security(get_rel_name(definition->source));
	return unique::forget_all(definition->source);
}

// Runs a statement that has the moment as $1 and a state as $2.
static void
run_with_state(const char *statement, const text *state, bool is_read_only)
{
	Assert(is_qualified(statement));
	Oid types[] = {TIMESTAMPTZOID, TEXTOID};
	Datum values[] = {TimestampTzGetDatum(GetCurrentTimestamp()), PointerGetDatum(state)};
	const char nulls[] = {' ', state == nullptr ? 'n' : ' ', '\0'};
	const int result =
		SPI_execute_with_args(statement, lengthof(types), types, values, nulls, is_read_only, 0);
	if (result < 0)
		elog(ERROR, "could not run statement: %s", SPI_result_code_string(result));
}

Datum
queue_ext_queue_purge(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_purge()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const text *state = PG_ARGISNULL(1) ? nullptr : PG_GETARG_TEXT_PP(1);
	const char *state_name = state == nullptr ? nullptr : text_to_cstring(state);
	if (state != nullptr && !is_done(state_name))
		check_state(state_name);

	const Definition *definition =
		open_managed_queue(name, definition::Use::write, "Ask its table.");
	(void) unique::forget_expired();
	if (is_done(state_name))
		PG_RETURN_INT64(forget_done(definition));
	int64 purged = 0;
	statement::with_spi([&] {
		run_with_state(psprintf("delete from %s as t where $2 is null"
								" or %s operator(pg_catalog.=) $2",
								definition->source_name, definition::job_state("$1")),
					   state, false);
		purged = static_cast<int64>(SPI_processed);
	});
	PG_RETURN_INT64(purged);
}

Datum
queue_ext_queue_counts(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_counts()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	TupleDesc descriptor;
	if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

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
		run_with_state(query.data, nullptr, true);
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
