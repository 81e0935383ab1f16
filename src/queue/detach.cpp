// detach.cpp - queue_detach: removes a queue and keeps its table.
//
// Checks and locks come in the order that create.cpp describes.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/given_back.hpp"
#include "../definition/dead_queue.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"
#include "../definition/settings.hpp"
#include "../schedule/store.hpp"
#include "../stats/transaction_counters.hpp"
#include "../unique/history.hpp"
#include "../wake/trigger.hpp"
#include "../wake/written.hpp"

namespace queue_ext::queue {

using definition::Definition;

QUEUE_EXT_FUNCTION(queue_ext_queue_detach);

// The trigger goes with the last queue of the table, and the history with a managed queue.
Datum
queue_ext_queue_detach(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_detach()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "if_exists");
	const Definition *definition = open_queue_if_exists(name, definition::Use::own);
	if (definition == nullptr && !PG_GETARG_BOOL(1))
		definition::raise_no_such_queue(text_to_cstring(name));
	if (definition == nullptr)
		PG_RETURN_BOOL(false);
	definition::lock_name_in(get_rel_namespace(definition->source), definition->name);
	const Oid source = definition->source;
	const bool is_managed = definition->is_managed;
	const char *registered = pstrdup(definition->name);
	if (is_managed)
		notice_end_of_dead_queue(definition);
	// The tables that the comment names may have been renamed.
	definition::write_registered_comment(source, registered);
	stats::note_end(source, registered, is_managed);
	definition::delete_definition(registered, source);
	wake::note_queue_end(source);
	if (!claim::note_neighbour(source, registered))
		wake::drop_wake_trigger(source);
	if (is_managed) {
		(void) unique::forget_all(source);
		schedule::forget_schedules_of(source);
	}
	PG_RETURN_BOOL(true);
}

} // namespace queue_ext::queue
