// purge.cpp - queue_purge: deletes the jobs of a queue, all or those in one state.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../missing_rights.hpp"
#include "../stats/transaction_counters.hpp"
#include "../unique/history.hpp"
#include "../wake/written.hpp"
#include "by_state.hpp"

namespace queue_ext::queue {

using definition::Definition;

QUEUE_EXT_FUNCTION(queue_ext_queue_purge);

// Raises 22023 for a name that is no state of a job in the table.
static void
check_state(const char *state)
{
	for (const char *known : definition::job_states)
		if (strcmp(state, known) == 0)
			return;
	error::unknown_state(state);
}

// Done jobs are in queue_unique_job, not in the queue's table.
static bool
is_done(const char *state)
{
	return state != nullptr && strcmp(state, "done") == 0;
}

// Deletes what unique inserts remember of jobs. The table is not touched, so the right to delete
// all of its rows is checked here: 42501 without it, 0A000 under row security.
static int64
forget_done(const Definition *definition)
{
	const Oid source = definition->source;
	if (pg_class_aclcheck(source, GetUserId(), ACL_DELETE) != ACLCHECK_OK)
		error::no_right(get_rel_name(source), missing_rights::grants_for(list_make1(
												  missing_rights::need_of(source, ACL_DELETE))));
	if (check_enable_rls(definition->source, InvalidOid, true) == RLS_ENABLED)
		error::forget_under_row_security(get_rel_name(definition->source));
	return unique::forget_all(definition->source);
}

// In which states the jobs were is not known, nor which of them others know.
static void
note_purged(Definition *definition)
{
	wake::note_writes(definition->source, wake::at_once);
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters != nullptr)
		counters->is_blind = true;
}

// Also deletes the expired history of all queues, whatever the state.
Datum
queue_ext_queue_purge(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_purge()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	const text *state = PG_ARGISNULL(1) ? nullptr : PG_GETARG_TEXT_PP(1);
	const char *state_name = state == nullptr ? nullptr : text_to_cstring(state);
	if (state != nullptr && !is_done(state_name))
		check_state(state_name);

	Definition *definition = open_managed_queue(name, definition::Use::purge, "Ask its table.");
	(void) unique::forget_expired();
	if (is_done(state_name))
		PG_RETURN_INT64(forget_done(definition));
	int64 purged = 0;
	statement::with_spi([&] {
		run_by_state(definition,
					 psprintf("delete from %s as t where $2 is null"
							  " or %s operator(pg_catalog.=) $2",
							  definition->source_name, definition::job_state("$1")),
					 state, false);
		purged = static_cast<int64>(SPI_processed);
	});
	if (purged > 0)
		note_purged(definition);
	PG_RETURN_INT64(purged);
}

} // namespace queue_ext::queue
