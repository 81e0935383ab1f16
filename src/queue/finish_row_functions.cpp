// finish_row_functions.cpp - the entry points of finish_row.hpp.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../catalog/row_type.hpp"
#include "../claim/wake.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "finish_row.hpp"

namespace queue_ext::queue {

using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_complete_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_release_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_fail_row);
QUEUE_EXT_FUNCTION(queue_ext_queue_extend_row);

static Use
use_for(Action action)
{
	switch (action) {
		case Action::release:
			return Use::release;
		case Action::fail:
			return Use::fail;
		default:
			return Use::write;
	}
}

// Arguments 0 and 1 of every form: queue, job.
static bool
finish(FunctionCallInfo fcinfo, Action action, const FinishOptions &options, Datum *extended)
{
	const text *name = argument::required_text(fcinfo, 0, "queue");
	argument::check_not_null(fcinfo, 1, "job");
	const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
	definition::Definition *definition = nullptr;
	const auto open = [&] {
		definition = open_queue(name, use_for(action));
	};
	if (type_is_rowtype(type) && type != RECORDOID)
		catalog::lock_for_rows(type, open);
	else
		open();
	if (type != definition->row_type)
		error::wrong_row_type(definition->name, definition->row_type, type);
	const bool is_done = finish_row(definition, action, PG_GETARG_DATUM(1), options, extended);
	// What on_fail makes of a row of the user's own only the row knows.
	const bool is_timed = definition->is_managed;
	if (is_done && (action == Action::release || (action == Action::fail && !is_timed)))
		claim::note_given_back(definition, 0);
	else if (is_done && action == Action::fail)
		claim::note_given_back(definition, earliest_retry(definition, options));
	else if (is_done && action == Action::extend && is_timed)
		claim::note_given_back(definition, lease_end(definition, options));
	return is_done;
}

Datum
queue_ext_queue_complete_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_complete_row()");
	PG_RETURN_BOOL(finish(fcinfo, Action::complete, options_now(), nullptr));
}

Datum
queue_ext_queue_release_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_release_row()");
	FinishOptions options = options_now();
	const TimestampTz run_at = PG_ARGISNULL(2) ? 0 : PG_GETARG_TIMESTAMPTZ(2);
	options.run_at = PG_ARGISNULL(2) ? nullptr : &run_at;
	PG_RETURN_BOOL(finish(fcinfo, Action::release, options, nullptr));
}

Datum
queue_ext_queue_fail_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_fail_row()");
	FinishOptions options = options_now();
	options.error = PG_ARGISNULL(2) ? nullptr : PG_GETARG_TEXT_PP(2);
	options.retry_in = argument::optional_not_negative(fcinfo, 3, "retry_in");
	PG_RETURN_BOOL(finish(fcinfo, Action::fail, options, nullptr));
}

Datum
queue_ext_queue_extend_row(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_extend_row()");
	FinishOptions options = options_now();
	options.lease = argument::optional_positive(fcinfo, 2, "lease");
	Datum extended = 0;
	if (!finish(fcinfo, Action::extend, options, &extended))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(extended);
}

} // namespace queue_ext::queue
