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

// What this backend has to do with a queue of its wait.
struct Place
{
	Ticket ticket;   // from before the last look
	Ticket stood;    // by which it stands in the list, or was taken out of it and has to answer
	Wakes *wakes;    // that count it; null: there is none
	bool is_in_list; // unless it has been taken out
	bool is_chosen;  // it was woken for a job, and has not answered yet
};

} // namespace

// The wait of this backend that its callbacks know.
static Place places[ring::most_lists];
static int place_count = 0;
static bool is_claiming = false;
static SubTransactionId begun_in = InvalidSubTransactionId;

// Looks in vain, each soon after the one before.
static int futile = 0;

// Invalidations of relations that this backend has processed.
static uint64 changes = 0;

static void
count_in(Place *place, Wakes *wakes)
{
	place->wakes = wakes;
	pg_atomic_fetch_add_u32(&wakes->waiting, 1);
}

static void
count_out(Place *place)
{
	Wakes *wakes = place->wakes;
	place->wakes = nullptr;
	if (wakes != nullptr)
		pg_atomic_fetch_sub_u32(&wakes->waiting, 1);
}

// Takes the backend out of its lists.
static void
leave_lists()
{
	for (int i = 0; i < place_count; i++) {
		Place *place = &places[i];
		if (place->is_in_list)
			place->is_chosen = leave_list(place->stood);
		place->is_in_list = false;
	}
}

// Has the next one chosen where this backend was, and is not counted there any more.
static void
decline(Place *place)
{
	if (place->is_chosen)
		answer(place->stood, is_claiming, Answer::none);
	place->is_chosen = false;
	count_out(place);
}

static void
decline_all()
{
	for (int i = 0; i < place_count; i++)
		decline(&places[i]);
}

static void
end_wait()
{
	leave_lists();
	decline_all();
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
	if (event == SUBXACT_EVENT_ABORT_SUB && begun_in == ended)
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

void
begin_round(Wait *wait, int queues)
{
	wait->queues = queues;
	wait->changes = changes;
}

// A backend that was chosen keeps the ticket by which it answers. It does not look there if it looks at another ring
// now.
void
before_look(int queue, Definition *definition, const Request &request)
{
	Place *place = &places[queue];
	place->ticket = {};
	if (definition != nullptr)
		find_ticket(&place->ticket, definition, request);
	place->ticket.entry = queue;
	if (place->is_chosen && place->ticket.ring != place->stood.ring)
		decline(place);
}

void
after_look(const Wait *wait, int queue, bool found)
{
	Place *place = &places[queue];
	// One that returns to its client is answered by the client's pop.
	if (place->is_chosen && (wait->is_claiming || !found))
		answer(place->stood, wait->is_claiming, found ? Answer::found : Answer::nothing);
	place->is_chosen = false;
	count_out(place);
}

void
end_round(Wait *wait, bool found)
{
	futile = found || !wait->is_soon ? 0 : futile + 1;
	decline_all();
}

bool *
chosen(int queue)
{
	return &places[queue].is_chosen;
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

// Whether a relation has changed in this backend's view since the last look: the queue may be gone;
// or whether there is now a backend that tells the ring of nothing.
static bool
has_changes(const Wait *wait)
{
	AcceptInvalidationMessages();
	return changes != wait->changes || !ring::are_rings_shared();
}

// Enters the list of that place, or takes another turn in it. *until as for next_turn().
static Turn
take_turn(Place *place, bool is_new, int64 *until)
{
	const Turn turn = next_turn(place->stood, is_claiming, is_new, until);
	place->is_in_list = turn == Turn::sleep;
	place->is_chosen = turn == Turn::go;
	return turn;
}

// *until as for next_turn(); *end is lowered to a moment soon where there is no list, or it cannot be entered. False if
// there is something to look at.
static bool
enter_list(Place *place, int64 *until, int64 *end)
{
	Turn turn = Turn::elsewhere;
	if (place->ticket.ring != nullptr) {
		count_in(place, ring::get_wakes(place->ticket.key.table));
		place->stood = place->ticket;
		place->stood.is_one_of_several = place_count > 1;
		turn = take_turn(place, true, until);
	}
	if (turn != Turn::elsewhere)
		return turn == Turn::sleep;
	count_out(place);
	*end = Min(*end, steady_now() + poll_us);
	return true;
}

// *until as for next_turn(). False if there is something to look at.
static bool
stay_in_list(Place *place, int64 *until)
{
	return !place->is_in_list || take_turn(place, false, until) == Turn::sleep;
}

static bool
is_in_any_list()
{
	for (int i = 0; i < place_count; i++)
		if (places[i].is_in_list)
			return true;
	return false;
}

// Stands in the lists until there is something to look at, or the time is over.
static void
stand_in_lists(const Wait *wait)
{
	int64 end = wait->until;
	for (bool is_new = true;; is_new = false) {
		int64 until = end;
		for (int i = 0; i < place_count; i++)
			if (is_new ? !enter_list(&places[i], &until, &end) : !stay_in_list(&places[i], &until))
				return;
		if (steady_now() >= end || (is_in_any_list() && has_changes(wait)))
			return;
		sleep_until(Min(until, end));
	}
}

// Whether this backend was woken for a job, of whatever queue. It is counted there alone, from now on.
static bool
stays_chosen()
{
	bool is_any = false;
	for (int i = 0; i < place_count; i++) {
		is_any |= places[i].is_chosen;
		if (!places[i].is_chosen)
			count_out(&places[i]);
	}
	return is_any;
}

// Sleeps without a list.
static void
sleep_some(const Wait *wait, int64 us)
{
	const int64 until = Min(wait->until, steady_now() + us);
	while (steady_now() < until)
		sleep_until(until);
}

bool
sleep(Wait *wait)
{
	wait->has_slept = true;
	// A job that is announced again and again, and cannot be claimed, is not worth a processor.
	if (futile > most_futile) {
		const int doublings = Min(futile - most_futile, 10);
		sleep_some(wait, Min(least_pause_us << doublings, most_pause_us));
	}
	place_count = wait->queues;
	is_claiming = wait->is_claiming;
	begun_in = GetCurrentSubTransactionId();
	const int64 begun = steady_now();
	stand_in_lists(wait);
	leave_lists();
	wait->is_soon = steady_now() - begun < most_pause_us;
	return stays_chosen() || steady_now() < wait->until;
}

} // namespace queue_ext::wait
