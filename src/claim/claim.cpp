// claim.cpp - see claim.hpp.

#include "../postgres.hpp"

#include "claim.hpp"

#include "direct.hpp"
#include "drain.hpp"
#include "held_row.hpp"
#include "path.hpp"
#include "portable.hpp"
#include "shared_memory.hpp"
#include "transaction_callbacks.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;

// Claims from the ring, and the rest by a statement if the ring cannot decide.
static uint64
claim_from(Ring *ring, Definition *definition, Request request, const Output &output)
{
	uint64 claimed = 0;
	// Make what this command has written so far visible, and open to updates.
	CommandCounterIncrement();
	const HeldId begun = begin_passing();
	const bool is_settled = claim_direct(definition, ring, &request, output, &claimed);
	if (definition->claim_mode == ClaimMode::session)
		forget_passed(begun);
	if (claimed > 0)
		CommandCounterIncrement();
	if (is_settled)
		return claimed;
	// The ring may have been given away: look it up again next time.
	definition->claim->ring = nullptr;
	request.max_jobs -= static_cast<int>(claimed);
	return claimed + claim_portable(definition, request, output);
}

// An idle queue is answered from shared memory alone.
static uint64
claim_by_ring(Definition *definition, const Request &request, const Output &output)
{
	Ring *ring = ring_of(definition);
	const RingKey &key = compiled_claim_of(definition)->key;
	uint64 claimed = 0;
	if (!is_idle(definition, ring, request.call_time))
		claimed = claim_from(ring, definition, request, output);
	if (claimed == 0) {
		RingCounters counters{};
		counters.empty_pops = 1;
		add(ring, key, counters);
	}
	return claimed;
}

// Not from the ring where this transaction has made rows claimable of which the ring learns at the
// commit only.
uint64
claim(Definition *definition, const Request &request, const Output &output)
{
	if (is_direct_allowed() && can_claim_directly(definition) && !has_wakes(definition->source))
		return claim_by_ring(definition, request, output);
	return claim_portable(definition, request, output);
}

} // namespace queue_ext::claim
