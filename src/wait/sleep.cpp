// sleep.cpp - see sleep.hpp.

#include "../postgres.hpp"

#include "sleep.hpp"

#include "../catalog/relation_change.hpp"
#include "../claim/choice.hpp"
#include "../claim/compiled_claim.hpp"
#include "../compat.hpp"
#include "../ring/shared_memory.hpp"
#include "../steady_time.hpp"

namespace queue_ext::wait {

using claim::Path;
using claim::Request;
using ring::Answer;
using ring::Turn;
using definition::Definition;
using ring::Ring;
using ring::Ticket;
using ring::Wakes;

// How long to sleep where jobs are not announced.
constexpr int64 poll_us = INT64CONST(100) * 1000;

// Looks in vain, one right after the other, after which the next ones have pauses.
constexpr int most_futile = 4;
constexpr int64 least_pause_us = INT64CONST(1000);
constexpr int64 most_pause_us = INT64CONST(50) * 1000;

namespace {

// The wait of this backend that its callbacks know: from the entry into a list to the answer.
struct Current
{
	Wait wait;
	bool is_chosen;  // it was woken for a job, and has not answered yet
	bool is_in_list; // unless it has been taken out
	Wakes *wakes;    // that count it; null: there is none
	SubTransactionId begun_in;
};

} // namespace

static Current current;

// Looks in vain, each soon after the one before.
static int futile = 0;

// Invalidations of relations that this backend has processed.
static uint64 changes = 0;

// Takes the backend out of whatever it is in.
static void
end_wait()
{
	Wakes *wakes = current.wakes;
	if (wakes == nullptr)
		return;
	current.wakes = nullptr;
	if (current.is_chosen || (current.is_in_list && leave_list(current.wait.ticket)))
		answer(current.wait.ticket, current.wait.is_claiming, Answer::none);
	current.is_chosen = false;
	pg_atomic_fetch_sub_u32(&wakes->waiting, 1);
}

// A FATAL exit runs these, too, and no PG_CATCH().
static void
on_transaction_end(XactEvent event, void *)
{
	if (event == XACT_EVENT_ABORT)
		end_wait();
}

static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId, void *)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && current.begun_in == ended)
		end_wait();
}

static void
on_change(Oid)
{
	changes++;
}

void
register_waits()
{
	catalog::listen_to_relations(on_change);
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

// The ring that the claims of this call use, with what it has announced so far; none where claims
// find their rows without one, or where some backend has no access to the rings.
static void
find_ticket(Ticket *ticket, Definition *definition, const Request &request)
{
	if (claim::choose_path(definition).path == Path::portable)
		return;
	with_variant(definition, request, [&] {
		Ring *ring = claim::ring_of(definition);
		if (ring != nullptr && ring::are_rings_shared() &&
			!take_ticket(ring, claim::ring_claim_of(definition)->key,
						 &ring::get_wakes(definition->source)->generation, ticket))
			ticket->ring = nullptr;
	});
}

// A backend that was chosen keeps the ticket by which it answers, if it looks at another ring now.
void
before_look(Wait *wait, Definition *definition, const Request &request)
{
	Ticket ticket{};
	if (definition != nullptr)
		find_ticket(&ticket, definition, request);
	if (current.is_chosen && ticket.ring != wait->ticket.ring)
		after_look(wait, false);
	wait->ticket = ticket;
	wait->changes = changes;
}

void
after_look(Wait *wait, bool found)
{
	futile = found || !wait->is_soon ? 0 : futile + 1;
	Wakes *wakes = current.wakes;
	current.wakes = nullptr;
	// One that returns to its client is answered by the client's pop.
	if (current.is_chosen && (wait->is_claiming || !found))
		answer(current.wait.ticket, wait->is_claiming, found ? Answer::found : Answer::nothing);
	current.is_chosen = false;
	if (wakes != nullptr)
		pg_atomic_fetch_sub_u32(&wakes->waiting, 1);
}

bool *
chosen()
{
	return &current.is_chosen;
}

// Sleeps until that steady time, or until the latch is set. Reading catalogs leaves a snapshot, too.
static void
sleep_until(int64 until)
{
	constexpr int64 us_per_ms = 1000;
	InvalidateCatalogSnapshot();
	const int64 ms = (until - steady_now() + us_per_ms - 1) / us_per_ms;
	compat::wait_for_latch(static_cast<long>(Min(Max(ms, 1), INT_MAX)));
	CHECK_FOR_INTERRUPTS();
}

// Sleeps without a list.
static bool
sleep_some(const Wait *wait, int64 us)
{
	const int64 until = Min(wait->until, steady_now() + us);
	while (steady_now() < until)
		sleep_until(until);
	return steady_now() < wait->until;
}

// Whether a relation has changed in this backend's view since the last look: the queue may be gone;
// or whether there is now a backend that tells the ring of nothing.
static bool
has_changes(const Wait *wait)
{
	AcceptInvalidationMessages();
	return changes != wait->changes || !ring::are_rings_shared();
}

// Stands in the list until there is something to look at, or the time is over.
static Turn
stand_in_list(Wait *wait)
{
	bool is_new = true;
	for (;;) {
		int64 until = wait->until;
		const Turn turn = next_turn(wait->ticket, wait->is_claiming, is_new, &until);
		if (turn == Turn::elsewhere && !is_new)
			return Turn::look;
		if (turn != Turn::sleep)
			return turn;
		is_new = false;
		if (steady_now() >= wait->until || has_changes(wait))
			return leave_list(wait->ticket) ? Turn::go : Turn::look;
		sleep_until(until);
	}
}

bool
sleep(Wait *wait)
{
	wait->has_slept = true;
	// A job that is announced again and again, and cannot be claimed, is not worth a processor.
	if (futile > most_futile) {
		const int doublings = Min(futile - most_futile, 10);
		(void) sleep_some(wait, Min(least_pause_us << doublings, most_pause_us));
	}
	if (wait->ticket.ring == nullptr)
		return sleep_some(wait, poll_us);
	current = {*wait, false, true, ring::get_wakes(wait->ticket.key.table),
			   GetCurrentSubTransactionId()};
	pg_atomic_fetch_add_u32(&current.wakes->waiting, 1);
	const int64 begun = steady_now();
	const Turn turn = stand_in_list(wait);
	wait->is_soon = steady_now() - begun < most_pause_us;
	current.is_in_list = false;
	current.is_chosen = turn == Turn::go;
	if (turn == Turn::go)
		return true;
	pg_atomic_fetch_sub_u32(&current.wakes->waiting, 1);
	current.wakes = nullptr;
	if (turn == Turn::elsewhere)
		return sleep_some(wait, poll_us);
	return steady_now() < wait->until;
}

} // namespace queue_ext::wait
