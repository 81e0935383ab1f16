// pause.cpp - queue_pause, queue_resume: keep a queue from handing out jobs, for a while.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../definition/open.hpp"
#include "../definition/registry.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::Options;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_pause);
QUEUE_EXT_FUNCTION(queue_ext_queue_resume);

// Returns false if the queue is already in that state. Only for the owner of its table (42501).
static bool
set_paused(const text *name, bool is_paused)
{
	const Definition *definition = open_queue(name, Use::own);
	if (definition->is_paused == is_paused)
		return false;
	Options options{};
	options.is_paused = &is_paused;
	update_definition(definition->name, definition->source, options);
	return true;
}

Datum
queue_ext_queue_pause(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_pause()");
	PG_RETURN_BOOL(set_paused(argument::required_text(fcinfo, 0, "queue"), true));
}

Datum
queue_ext_queue_resume(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_resume()");
	PG_RETURN_BOOL(set_paused(argument::required_text(fcinfo, 0, "queue"), false));
}

} // namespace queue_ext::queue
