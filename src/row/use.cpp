// use.cpp - see use.hpp.

#include "../postgres.hpp"

#include "use.hpp"

namespace queue_ext::row {

// The uses of all calls on the stack, the innermost first.
static StackedUse *uses = nullptr;

// Walks the stack, which is as deep as calls are nested.
bool
is_in_use(const StackedUse *use)
{
	for (const StackedUse *other = uses; other != nullptr; other = other->outer)
		if (other == use)
			return true;
	return false;
}

void
begin_use(StackedUse *use)
{
	Assert(!is_in_use(use));
	*use = {uses, GetCurrentSubTransactionId()};
	uses = use;
}

// Uses end in reverse order; an error ends them in the transaction callbacks below.
void
end_use(StackedUse *use)
{
	Assert(uses == use);
	uses = use->outer;
}

// A commit finds none: each call has ended its own.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event == XACT_EVENT_ABORT)
		uses = nullptr;
}

// The uses of an aborted subtransaction are on top of the stack, since it was the innermost.
static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId, void *)
{
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	while (uses != nullptr && uses->begun_in == ended)
		uses = uses->outer;
}

void
register_uses()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::row
