// claim_path.cpp - queue_claim_path: by which path the caller's claims of a queue are made, and why.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/choice.hpp"
#include "../definition/open.hpp"
#include "../result.hpp"

namespace queue_ext::queue {

QUEUE_EXT_FUNCTION(queue_ext_queue_claim_path);

static Datum
text_or_null(const char *text, bool *is_null)
{
	*is_null = text == nullptr;
	return text == nullptr ? static_cast<Datum>(0) : CStringGetTextDatum(text);
}

// Also works in a read-only transaction and on a standby, so it does not call check_may_write().
Datum
queue_ext_queue_claim_path(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("queue_claim_path()");
	const text *name = argument::required_text(fcinfo, 0, "queue");
	TupleDesc descriptor = result::row_type(fcinfo);
	definition::Definition *definition = open_queue(name, definition::Use::read);
	const claim::Choice choice = claim::choose_path(definition);
	bool nulls[3];
	Datum values[] = {text_or_null(claim::name_of(choice.path), &nulls[0]),
					  text_or_null(choice.obstacle.reason, &nulls[1]),
					  text_or_null(choice.obstacle.hint, &nulls[2])};
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

} // namespace queue_ext::queue
