// drain.hpp - claims from a queue's ring, in whatever way its rows are written.
//
// Invariant: a candidate that was taken is noted (wake/claimed.hpp) before it is tried, so
// that a rollback puts it back. A call ends with fewer rows than were asked for only if there was a
// moment at which no more were claimable, or if the ring cannot decide.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "compiled_claim.hpp"
#include "request.hpp"

namespace queue_ext::claim {

// What became of candidates that were tried, those that are not counted as claims being in the
// counters of candidates tried in vain.
struct Tried
{
	ring::RingCounters counters;
	uint64 locked; // a bit for each candidate that another transaction, or session, has locked
	uint64 won;    // and that has been claimed
	bool needs_statement; // the rest cannot be claimed in this way
	TimestampTz due;      // when the first of a managed queue's claims ends; else PG_INT64_MAX
	const ring::DueJob
		*leased; // these claims' rows, of whose ends the ring is told; null: of due alone
	int leased_count;
	bool is_due_unknown; // of an attached queue's claims, and no sweep has seen them
	bool has_own;        // one is as this call has written it: it is not for this call again
};

// How many candidates are tried at once, at most.
constexpr int run_length = BITS_PER_BYTE * sizeof(Tried::locked);

// Tries the candidates, in order, and puts the rows won into the call's output. It may move the
// request's clock. Raises what the claim's write raises.
struct Trier
{
	void *state;
	Tried (*try_all)(void *state, Request *request, ring::Candidate *candidates, int count);
	ExprContext *evaluation; // in which the trier evaluates pending; null: it does so by statements
};

// Whether it is certain that no row is claimable. Takes the ring's spinlock, and may take a snapshot.
bool is_idle(const definition::Definition *definition, ring::Ring *ring, TimestampTz call_time);

// Claims from the ring until there are enough, or no row is claimable; *claimed: how many. False if
// the ring cannot decide: it was given to another queue, other backends were always faster, or a
// stray (memory/segment.hpp) may claim without it; also if a row needs a statement. The claim must have
// been compiled and the queue's table be locked. Raises what fills and the trier raise.
bool drain(definition::Definition *definition, ring::Ring *ring, Request *request,
		   const Trier &trier, uint64 *claimed);

} // namespace queue_ext::claim
