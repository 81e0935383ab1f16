// claim.cpp - see claim.hpp.

#include "../postgres.hpp"

#include "claim.hpp"

#include "../held/rows.hpp"
#include "../ring/shared_memory.hpp"
#include "../ring/waiting.hpp"
#include "../wake/claimed.hpp"
#include "../wake/written.hpp"
#include "by_tid.hpp"
#include "choice.hpp"
#include "count.hpp"
#include "dead_jobs.hpp"
#include "direct.hpp"
#include "drain.hpp"
#include "expired_jobs.hpp"
#include "portable.hpp"
#include "recurring.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using held::HeldId;
using ring::Ring;
using ring::RingCounters;
using ring::RingKey;
using ring::path_size;

// Claims from the ring, and the rest by a statement if the ring cannot decide. That does not know what the call has
// claimed before, but for the clock: at the time of the call none of these leases has ended.
static uint64
claim_from(Ring *ring, Definition *definition, Path path, Request request, const Output &output)
{
	uint64 claimed = 0;
	const TimestampTz called_at = request.call_time;
	// Make what this command has written so far visible, and open to updates.
	CommandCounterIncrement();
	const HeldId begun = held::begin_passing();
	const auto claim_rows = path == Path::direct ? claim_direct : claim_by_tid;
	const bool is_settled = claim_rows(definition, ring, &request, output, &claimed);
	if (definition->claim_mode == ClaimMode::session)
		held::forget_passed(begun);
	if (claimed > 0)
		CommandCounterIncrement();
	if (is_settled)
		return claimed;
	// The ring may have been given away: look it up again next time.
	ring_claim_of(definition)->ring = nullptr;
	request.max_jobs -= static_cast<int>(claimed);
	if (claimed > 0)
		request.call_time = called_at;
	return claimed + claim_portable(definition, request, output);
}

// Notes in the ring how this backend's claims are made, if that has not been noted before.
static void
tell_path(RingClaim *claim, Ring *ring, const Choice &choice)
{
	const char *reason = choice.obstacle.reason;
	if (claim->told == ring && claim->told_path == choice.path && claim->told_reason == reason)
		return;
	char words[path_size];
	snprintf(words, sizeof(words), "%s%s%s", name_of(choice.path), reason == nullptr ? "" : ": ",
			 reason == nullptr ? "" : reason);
	words[pg_mbcliplen(words, static_cast<int>(strlen(words)), path_size - 1)] = '\0';
	note_path(ring, claim->key, words);
	claim->told = ring;
	claim->told_path = choice.path;
	claim->told_reason = reason;
}

// An idle queue is answered from shared memory alone.
static uint64
claim_by_ring(Definition *definition, const Choice &choice, const Request &request,
			  const Output &output)
{
	Ring *ring = ring_of(definition);
	if (ring == nullptr)
		return claim_portable(definition, request, output);
	const RingKey &key = ring_claim_of(definition)->key;
	tell_path(ring_claim_of(definition), ring, choice);
	const bool was_chosen = request.is_chosen != nullptr && *request.is_chosen;
	uint64 claimed = 0;
	if (wake::owes_sweep(ring, key, request.call_time) || wake::has_offers(definition->source) ||
		!is_idle(definition, ring, request.call_time) ||
		wake::owes_sweep_of_empty(ring, key, request.call_time))
		claimed = claim_from(ring, definition, choice.path, request, output);
	if (claimed == 0) {
		RingCounters counters{};
		counters.empty_pops = 1;
		add(ring, key, counters);
	}
	if (!was_chosen)
		note_pop(ring, key, claimed > 0);
	return claimed;
}

static uint64
claim_by_path(Definition *definition, const Request &request, const Output &output)
{
	const Choice choice = choose_path(definition);
	if (choice.path == Path::portable)
		return claim_portable(definition, request, output);
	volatile uint64 claimed = 0;
	with_variant(definition, request,
				 [&] { claimed = claim_by_ring(definition, choice, request, output); });
	return claimed;
}

// A claim passes by rows that were written since it began. So if one of its fills has sent a lost
// occurrence, and there was nothing else, it begins again.
static uint64
claim_with_lost(Definition *definition, const Request &request, const Output &output)
{
	send_lost_sometimes(definition, request.call_time);
	const bool has_expired = expire_sometimes(definition, request.call_time);
	const bool has_looked = move_dead_sometimes(definition, request.call_time) || has_expired;
	const uint64 sent = recurrence_of(definition)->sent;
	// A look may have taken long: that is not off the lease.
	Request current = request;
	if (has_looked)
		current.call_time = GetCurrentTimestamp();
	const uint64 claimed = claim_by_path(definition, current, output);
	if (claimed > 0 || recurrence_of(definition)->sent == sent)
		return claimed;
	current.call_time = GetCurrentTimestamp();
	return claim_by_path(definition, current, output);
}

// Counts claims; no lease ends before that of one that was made when the call began.
static void
count_claims(Definition *definition, const Request &request, uint64 claimed)
{
	stats::TransactionCounters *counters = claimed == 0 ? nullptr : stats::counters_of(definition);
	if (counters == nullptr)
		return;
	counters->counts.add(stats::Counter::claimed, static_cast<int64>(claimed));
	if (definition->is_managed)
		stats::note_clock(counters, counters->claimed.priorities.to,
						  lease_end(definition, request.call_time, request.lease));
}

// Whether an error is for its queue's owner to see to: none that ends the call from outside, that passes, or that is
// of the caller's transaction.
static bool
is_of_queue(int code)
{
	switch (ERRCODE_TO_CATEGORY(code)) {
		case ERRCODE_TRANSACTION_ROLLBACK:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INVALID_TRANSACTION_STATE:
			return false;
		default:
			return code != ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

// Notes at once whether it has failed, for queue_health().
static uint64
claim_and_note(Definition *definition, const Request &request, const Output &output)
{
	const stats::Place place = stats::place_of(definition);
	volatile uint64 claimed = 0;
	PG_TRY();
	{
		claimed = claim_with_lost(definition, request, output);
	}
	PG_CATCH();
	{
		if (is_of_queue(geterrcode()))
			stats::note_failure(place, geterrcode());
		PG_RE_THROW();
	}
	PG_END_TRY();
	stats::note_success(place);
	return claimed;
}

uint64
claim(Definition *definition, const Request &request, const Output &output)
{
	Occurrences occurrences{NIL, CurrentMemoryContext};
	const uint64 claimed =
		claim_and_note(definition, request, {output.store, output.descriptor, &occurrences});
	count_claims(definition, request, claimed);
	follow_occurrences(definition, occurrences);
	return claimed;
}

} // namespace queue_ext::claim
