// drop.cpp - queue_drop: drops a managed queue and its tables.
//
// Checks and locks come in the order that create.cpp describes.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/dead_queue.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../definition/table_command.hpp"
#include "../error.hpp"
#include "../schedule/store.hpp"
#include "../stats/transaction_counters.hpp"
#include "../unique/history.hpp"
#include "../wake/written.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_drop);

// Returns false if there is no such queue. Raises 55000 for an attached queue.
static bool
drop(const text *name)
{
	const Definition *definition = open_queue_if_exists(name, Use::own);
	if (definition == nullptr)
		return false;
	if (!definition->is_managed)
		error::not_managed(definition->name, "Use queue_detach(), which leaves the table alone.");
	definition::lock_name_in(get_rel_namespace(definition->source), definition->name);
	notice_end_of_dead_queue(definition);
	definition::delete_definition(definition->name, definition->source);
	wake::note_queue_end(definition->source);
	stats::note_end(definition->source, definition->name, true);
	const bool has_archive = definition->is_archived && has_own_archive(definition);
	// In the order in which a worker locks them that pops, and then completes.
	definition::drop_table(definition->tables[0]);
	if (has_archive)
		definition::drop_table(definition->tables[1]);
	// No other transaction can insert any more: the tables are locked.
	(void) unique::forget_all(definition->source);
	schedule::forget_schedules_of(definition->source);
	return true;
}

Datum
queue_ext_queue_drop(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_drop()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "if_exists");
	const bool is_dropped = drop(name);
	if (!is_dropped && !PG_GETARG_BOOL(1))
		definition::raise_no_such_queue(text_to_cstring(name));
	PG_RETURN_BOOL(is_dropped);
}

} // namespace queue_ext::queue
