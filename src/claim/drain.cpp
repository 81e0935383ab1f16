// drain.cpp - see drain.hpp.

#include "../postgres.hpp"

#include "drain.hpp"

#include "../compat.hpp"
#include "../ring/shared_memory.hpp"
#include "../stats/look.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/claimed.hpp"
#include "../wake/written.hpp"
#include "filler.hpp"
#include "news.hpp"

namespace queue_ext::claim {

using definition::ClaimMode;
using definition::Definition;
using ring::Candidate;
using ring::Generations;
using ring::Ring;
using ring::RingCounters;
using ring::RingKey;
using ring::SortKey;
using ring::Taken;
using ring::Wakes;
using wake::OwnOffer;

// Whether the statistics have need of a look at the table, which is one at all jobs. Not by a transaction that has
// written: it sees what others do not, and the other way round.
static bool
needs_look(const Definition *definition, TimestampTz now)
{
	const RingClaim *claim = ring_claim_of(definition);
	return claim->key.is_sorted && claim->kinds == nullptr &&
		   claim->claimed_at != InvalidAttrNumber &&
		   !TransactionIdIsValid(GetTopTransactionIdIfAny()) && stats::is_unsure(definition, now);
}

// Whether nothing is left in a quiet ring.
static bool
is_told_idle(const Definition *definition, Ring *ring, TimestampTz call_time)
{
	const RingClaim *claim = ring_claim_of(definition);
	if (seems_busy(ring))
		return false;
	Wakes *wakes = ring::get_wakes(claim->key.table);
	// In this order: a transaction that is no longer under way has told the ring.
	const bool is_told = pg_atomic_read_u32(&wakes->under_way) == 0;
	pg_read_barrier();
	const Generations generations{&wakes->generation, pg_atomic_read_u32(&wakes->generation),
								  false};
	return is_told && ring::are_rings_shared() &&
		   take(ring, claim->key, call_time, generations, nullptr, nullptr, 0, nullptr).is_idle &&
		   !(needs_look(definition, call_time) && end_quiet(ring, claim->key, call_time));
}

// Whether no transaction that writes has ended since a sweep found nothing: then nothing is pending
// at the moment of the snapshot.
static bool
is_unchanged(const RingClaim *claim, Ring *ring, TimestampTz call_time)
{
	if (!may_stay_empty(claim))
		return false;
	const uint64 nothing_at =
		take(ring, claim->key, call_time, {}, nullptr, nullptr, 0, nullptr).nothing_at;
	return nothing_at != 0 && nothing_at == ended_transactions();
}

// Without the trigger, which notes the rows that plain SQL writes, only while no transaction that has
// written ends, in any database of the server.
bool
is_idle(const Definition *definition, Ring *ring, TimestampTz call_time)
{
	const RingClaim *claim = ring_claim_of(definition);
	return claim->has_wake_trigger ? is_told_idle(definition, ring, call_time)
								   : is_unchanged(claim, ring, call_time);
}

// How much of the time since then was spent on candidates in vain. Moves the time on, so that a
// call that passes by many candidates reads the clock once for each, and most calls never do.
static int64
take_passing_time(const RingCounters &counters, int tried, TimestampTz *since)
{
	const int64 passed = counters.locked + counters.gone + counters.not_pending;
	if (passed == 0) {
		*since = 0;
		return 0;
	}
	const TimestampTz now = GetCurrentTimestamp();
	const int64 spent = Max(0, now - *since);
	*since = now;
	return spent * passed / tried;
}

// Notes when claimed rows become claimable by the clock. A job of the last attempt does not: it is dead then.
static void
note_leases(Ring *ring, const RingKey &key, const Tried &tried)
{
	if (tried.leased == nullptr) {
		if (tried.due != PG_INT64_MAX)
			wake::note_lease(ring, key, tried.due);
		return;
	}
	for (int i = 0; i < tried.leased_count; i++)
		wake::note_leased(ring, key, tried.leased[i]);
}

// Tries candidates that were taken. An ERROR leaves them to the transaction callbacks. *since: when
// the call began to do so, or had tried those before; 0: not known.
static Tried
try_taken(Definition *definition, Ring *ring, Request *request, const Trier &trier,
		  Candidate *candidates, const Taken &taken, TimestampTz *since)
{
	const RingKey &key = ring_claim_of(definition)->key;
	// Noted before anything can fail, so that a rollback puts them back.
	const int place = wake::note_taken(ring, key, candidates, taken,
									   definition->claim_mode == ClaimMode::transaction);
	if (*since == 0)
		*since = GetCurrentTimestamp();
	Tried tried = trier.try_all(trier.state, request, candidates, taken.count);
	tried.counters.passing_us = take_passing_time(tried.counters, taken.count, since);
	if (tried.needs_statement)
		ask_for_sweep(ring, key); // for the candidates not tried
	// A claim that is a lock leaves the row as it is, for the next sweep to read.
	const uint64 passed = definition->claim_mode == ClaimMode::update ? 0 : ~tried.won;
	wake::note_tried(ring, key, taken, place, tried.locked, passed, tried.counters);
	// A sweep that comes before the commit sees these rows as they were: pending.
	if (tried.is_due_unknown)
		disquiet(ring, key);
	if (tried.counters.gone + tried.counters.not_pending > 0) {
		stats::TransactionCounters *counters = stats::counters_of(definition);
		if (counters != nullptr)
			stats::note_vain(counters);
	}
	note_leases(ring, key, tried);
	return tried;
}

namespace {

// What this call has read since its last sweep. If it has read the whole queue itself, to the end,
// and has claimed each candidate or found it locked or not pending, nothing is left to claim.
struct Pass
{
	bool is_whole; // no other backend has filled the ring since
	bool is_complete;
	int read;
	int passed; // candidates tried, and not gone
};

} // namespace

// Adds a read to the pass. A sweep begins a new pass; a read of another backend ends it.
static void
follow(Pass *pass, const Filled &filled)
{
	if (!filled.is_mine || (!filled.is_sweep && !pass->is_whole)) {
		pass->is_whole = false;
		return;
	}
	if (filled.is_sweep)
		*pass = {true, false, 0, 0};
	pass->read += filled.added;
	pass->is_complete = filled.is_complete;
}

// A candidate that was gone counts as not passed, since its row may be pending at another TID.
static bool
leaves_nothing(const Pass &pass)
{
	return pass.is_whole && pass.is_complete && pass.passed == pass.read;
}

namespace {

// For telling what has changed since the call began.
struct Watch
{
	Wakes *wakes;
	uint32 sweep_generation; // when candidates were first taken
	uint32 least;            // the wake-up generation when it began
	bool may_lag;            // the log does not reach back to where the ring stands
};

} // namespace

static Generations
generations_of(const Watch &watch)
{
	return {&watch.wakes->generation, watch.least, watch.may_lag};
}

// Whether the call may end. With some jobs it may rely on its own pass; with none there must have
// been a moment at which no row was claimable. A queue that is idle after another backend's sweep
// has had one: without a look at that, two backends would sweep in turns, each because the other's
// sweep had begun before its call.
static bool
is_done(const Definition *definition, Ring *ring, const Request *request, const Pass &pass,
		const Watch &watch, uint64 claimed)
{
	return (claimed > 0 && leaves_nothing(pass)) || is_idle(definition, ring, request->call_time) ||
		   is_exhausted(ring, ring_claim_of(definition)->key, request->call_time,
						generations_of(watch), watch.sweep_generation);
}

namespace {

// What this transaction has made claimable, and no other backend can see yet.
struct Own
{
	OwnOffer *offers; // in their order
	int count;
	int next; // the first that has not been tried
};

} // namespace

static Own
list_own(const Definition *definition)
{
	Own own{};
	if (wake::has_offers(definition->source))
		own.offers =
			wake::list_offers(definition->source, ring_claim_of(definition)->kinds, &own.count);
	return own;
}

// The place of the next one that is due, or null.
static const SortKey *
next_key(Own *own, TimestampTz call_time, SortKey *key)
{
	while (own->next < own->count && own->offers[own->next].candidate.run_at > call_time)
		own->next++;
	if (own->next == own->count)
		return nullptr;
	*key = own->offers[own->next].candidate.sort_key();
	return key;
}

// Tries the next one. It has been claimed before if its row is gone, which says nothing about the ring.
static Tried
try_own(Definition *definition, Ring *ring, Request *request, const Trier &trier, Own *own)
{
	const RingKey &key = ring_claim_of(definition)->key;
	OwnOffer *next = &own->offers[own->next++];
	const OwnOffer offer = *next;
	const Tried tried = trier.try_all(trier.state, request, &next->candidate, 1);
	if (tried.counters.claims + tried.counters.gone > 0)
		withdraw_offer(definition->source, offer);
	note_leases(ring, key, tried);
	RingCounters counters{};
	counters.claims = tried.counters.claims;
	add(ring, key, counters);
	return tried;
}

// Each turn, until there are as many jobs as wanted:
//
//     enter rows that are due, and the news; take candidates
//      |- some                                    try them; fill ahead if few are left; next turn
//      |- a row of this transaction comes first   try it; next turn
//      |- the last read has found none            end: what it left in the ring has been tried, too
//      |- none of this transaction's leases has ended unseen, and
//      |    quiet, and the caller waits           end: whatever comes back is announced
//      |    idle, or exhausted; or some were
//      |    claimed, and all that was read tried  end
//      |    quiet, others have the last in hand   rest for a millisecond, ten times; next turn
//      |- read too often in vain                  by a statement
//      '- else                                    fill, or wait for who does; end if that has found none
bool
drain(Definition *definition, Ring *ring, Request *request, const Trier &trier, uint64 *claimed)
{
	Candidate candidates[run_length];
	const RingClaim *claim = ring_claim_of(definition);
	const RingKey &key = claim->key;
	const auto wanted = static_cast<uint64>(request->max_jobs);
	Watch watch{ring::get_wakes(definition->source)};
	constexpr int most_futile = 100;
	// A read from the same row cannot get past the first rows while those are locked.
	constexpr int most_repeated = 1;
	constexpr int most_rests = 10;
	constexpr long rest_us = 1000;
	Pass pass{};
	Waits waits{};
	int futile = 0;
	int repeated = 0;
	int rests = 0;
	bool has_begun = false;
	bool has_met_own = false;
	bool has_read_none = false; // there was a moment at which no row was claimable
	TimestampTz since = request->call_time;
	*claimed = 0;
	watch.least = pg_atomic_read_u32(&watch.wakes->generation);
	if (pg_atomic_read_u32(&watch.wakes->ended) != claim->ended)
		look_for_neighbours(ring_claim_of(definition), definition);
	wake::prepare_note(ring, key, claim->ended, claim->is_beside);
	Own own = list_own(definition);
	SortKey own_key;
	// The client of a call that waits: as shortly before the claim as can be, as a look may take long.
	bool may_be_gone = request->has_slept;
	while (*claimed < wanted) {
		if (may_be_gone)
			compat::check_client();
		CHECK_FOR_INTERRUPTS();
		const int asked = static_cast<int>(Min(wanted - *claimed, static_cast<uint64>(run_length)));
		watch.may_lag =
			admit_all(definition, ring, request, trier.evaluation) == News::more_than_known;
		const SortKey *own_next = next_key(&own, request->call_time, &own_key);
		const Taken taken = take(ring, key, request->call_time, generations_of(watch),
								 request->is_chosen, own_next, asked, candidates);
		if (taken.is_foreign)
			return false;
		if (!has_begun)
			watch.sweep_generation = taken.sweep_generation;
		has_begun = true;
		if (taken.count > 0) {
			const Tried tried =
				try_taken(definition, ring, request, trier, candidates, taken, &since);
			has_met_own |= tried.has_own;
			*claimed += static_cast<uint64>(tried.counters.claims);
			if (tried.needs_statement)
				return false;
			pass.passed += taken.count - static_cast<int>(tried.counters.gone);
			if (taken.is_low) {
				request->call_time = GetCurrentTimestamp();
				follow(&pass, fill_ahead(definition, ring, *request, generations_of(watch)));
				since = 0;
			}
			continue;
		}
		if (own_next != nullptr && taken.has_none_before) {
			const Tried tried = try_own(definition, ring, request, trier, &own);
			*claimed += static_cast<uint64>(tried.counters.claims);
			if (tried.needs_statement)
				return false;
			continue;
		}
		const bool is_last = own_next == nullptr;
		const bool is_owed =
			is_last && (has_met_own ? wake::owes_sweep(ring, key, request->call_time)
									: wake::owes_sweep_of_empty(ring, key, request->call_time));
		// What that sweep has left in the ring has been tried as well.
		if (is_last && has_read_none)
			return true;
		// Whatever comes back is announced to the waiters.
		if (is_last && !is_owed && request->is_waiting && !request->must_be_empty &&
			taken.is_quiet && ring::are_rings_shared())
			return true;
		if (is_last && !is_owed && is_done(definition, ring, request, pass, watch, *claimed))
			return *claimed > 0 || ring::are_rings_shared();
		// Others have the last candidates in flight, and claim them or put them back, or are about to
		// announce some more.
		if (is_last && !is_owed && taken.is_quiet && rests < most_rests &&
			ring::are_rings_shared()) {
			rests++;
			pg_usleep(rest_us);
			request->call_time = GetCurrentTimestamp();
			continue;
		}
		if (futile == most_futile || repeated == most_repeated)
			return false;
		request->call_time = GetCurrentTimestamp();
		const Filled filled =
			fill_or_wait(definition, ring, *request, generations_of(watch), &waits);
		may_be_gone = request->is_waiting;
		if (filled.is_foreign || filled.is_stuck)
			return false;
		futile += !filled.is_waiting;
		repeated += !filled.is_waiting && taken.reads_again;
		request->call_time = GetCurrentTimestamp();
		since = request->call_time;
		follow(&pass, filled);
		has_read_none = is_last && filled.is_mine && filled.is_sweep && filled.read == 0;
		if (has_read_none && filled.added == 0)
			return true;
	}
	return true;
}

} // namespace queue_ext::claim
