// filler.cpp - see filler.hpp.

#include "../postgres.hpp"

#include "filler.hpp"

#include "../definition/registry.hpp"
#include "../ring/shared_memory.hpp"
#include "../stats/look.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/claimed.hpp"
#include "claim_text.hpp"
#include "fill.hpp"
#include "recurring.hpp"

namespace queue_ext::claim {

using definition::Definition;
using ring::Fill;
using ring::FillOrder;
using ring::Generations;
using ring::Ring;
using ring::RingKey;
using ring::none_lost;
using statement::Arguments;

// Whether this database may have prepared transactions: no callback of ours runs when one of them
// ends. Keeps its plan as long as the session lasts.
static bool
has_prepared_transactions()
{
	if (max_prepared_xacts == 0)
		return false;
	const Oid view = get_relname_relid("pg_prepared_xacts", PG_CATALOG_NAMESPACE);
	// The view runs its function with the caller's privileges.
	if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK ||
		compat::check_function(F_PG_PREPARED_XACT, GetUserId()) != ACLCHECK_OK)
		return true; // the caller may not see them
	// To plan it takes longer than a sweep of a queue that is empty.
	static statement::Statement prepared{};
	if (!prepared.is_prepared())
		statement::prepare(
			&prepared,
			"select from pg_catalog.pg_prepared_xacts"
			" where database operator(pg_catalog.=) pg_catalog.current_database() limit 1",
			nullptr, 0, statement::Access::anywhere, {}, {});
	const bool is_any = statement::run(prepared, nullptr, nullptr) > 0;
	SPI_freetuptable(SPI_tuptable);
	return is_any;
}

// Whether the ring is notified of all rows that a write makes claimable after a sweep that begins
// now. Must be asked before the sweep takes its snapshot: a transaction prepared later requests
// another sweep. The registry is asked again for other queues of the table: the commit of an attach wakes the waiters
// before its invalidations are sent.
static bool
is_told_of_all(const Definition *definition)
{
	const RingClaim *claim = ring_claim_of(definition);
	return claim->has_wake_trigger && !claim->has_policies && ring::are_rings_shared() &&
		   !has_prepared_transactions() &&
		   !definition::has_other_queue(definition->source, definition->name);
}

// Whether a sweep that has read this may leave the ring sure. Rows that this transaction has written look different
// to others, so it must not have an XID. A row that a claim is about to write is read as it was: once that is committed,
// it is tried in vain, which ends the quiet time, but by then a claim by TID may have made it claimable at a time that
// nobody has noted, unless the queue knows none. Where a claim is a lock, its end may not be announced.
static bool
may_be_sure(const Definition *definition, const Fill &fill)
{
	const RingClaim *claim = ring_claim_of(definition);
	const bool may_have_some =
		claim->key.is_sorted ||
		(claim->is_timeless && definition->claim_mode == definition::ClaimMode::update);
	return (claim->key.is_sorted || claim->is_timeless || claim->due != nullptr) &&
		   (fill.count == 0 || may_have_some) && !TransactionIdIsValid(GetTopTransactionIdIfAny());
}

// Enters the first rows of an attached queue that become claimable by the clock alone, if that is not too dear: the index that
// bounds its sweeps may not bound this. Returns whether it was asked.
static bool
ask_attached_due(Definition *definition, Ring *ring, const Arguments &arguments, Fill *fill)
{
	const TimestampTz now = GetCurrentTimestamp();
	if (!may_ask_due(ring, ring_claim_of(definition)->key, now, now - fill->began))
		return false;
	fill->next_due = expect_first_due(definition, ring, arguments, nullptr);
	fill->ask_due_cost_us = Max(GetCurrentTimestamp() - now, 1);
	return true;
}

static void
take_numbers(const Numbers &numbers, stats::Look *look)
{
	look->is_counted = true;
	look->scheduled = numbers.jobs - numbers.leased;
	look->run_at = numbers.run_at;
	look->expired = numbers.expired;
	look->knows_leased = numbers.knows_last;
	look->leased = numbers.leased + numbers.last_attempts;
	look->due = {numbers.due, numbers.jobs == 0 ? stats::no_clock.to : numbers.priority};
}

// Asks when rows become claimable by the clock alone, and enters the first of them into the ring.
static void
read_due(Definition *definition, Ring *ring, const Arguments &arguments, Fill *fill,
		 stats::Look *look)
{
	const RingClaim *claim = ring_claim_of(definition);
	if (claim->due != nullptr && !ask_attached_due(definition, ring, arguments, fill))
		return;
	fill->quiet_until = PG_INT64_MAX;
	if (may_recur(definition))
		fill->quiet_until = recurrence_of(definition)->next;
	fill->knows_due = claim->due != nullptr || (claim->key.is_sorted && fill->is_complete);
	// What it has passed by has been entered.
	if (!claim->key.is_sorted || fill->count > 0)
		return;
	const bool is_count = claim->kinds == nullptr;
	Numbers numbers{};
	numbers.are_wanted = stats::is_to_count(definition, fill->began);
	fill->next_due = expect_first_due(definition, ring, arguments, is_count ? &numbers : nullptr);
	if (numbers.are_known)
		take_numbers(numbers, look);
}

bool
may_stay_empty(const RingClaim *claim)
{
	return claim->is_timeless && !claim->has_policies &&
		   !TransactionIdIsValid(GetTopTransactionIdIfAny());
}

// Asked before a sweep takes its snapshot: if one ends in between, the sweep proves nothing later.
uint64
ended_transactions()
{
	return GetLatestSnapshot()->snapXactCompletionCount;
}

// What a fill of a sorted ring has read: the rows that were ready at that time. held: how many candidates the
// ring has after a sweep.
static void
describe(const FillOrder &order, const Fill &fill, TimestampTz call_time, int held,
		 stats::Look *look)
{
	clear(&look->found);
	// The last one first: it will be claimed last.
	for (int i = fill.count - 1; i >= 0; i--)
		lower(&look->found, fill.candidates[i].priority, fill.candidates[i].run_at);
	look->is_from_head = order.is_sweep;
	look->from = static_cast<int16>(order.cursor.sort_key.priority);
	look->is_to_end = fill.is_complete;
	look->is_told = fill.is_told;
	look->is_clean = order.is_sweep && held == fill.count;
	look->to = look->from;
	look->as_of = call_time;
	if (fill.count == 0)
		return;
	look->to = fill.candidates[fill.count - 1].priority;
	look->to_since = fill.candidates[fill.count - 1].run_at;
}

// Reads the order's rows into *fill. False if the cursor's bytes are not a row of this table.
// Raises what the executor raises.
static bool
read(Definition *definition, Ring *ring, const FillOrder &order, const Request &request, Fill *fill,
	 stats::Look *look)
{
	const RingClaim *claim = ring_claim_of(definition);
	Arguments arguments = arguments_for(definition, request);
	fill->is_told = order.is_sweep && is_told_of_all(definition);
	if (order.is_sweep && may_stay_empty(claim))
		fill->nothing_at = ended_transactions();
	fill->began = GetCurrentTimestamp();
	if (order.is_sweep && may_recur(definition)) {
		if (request.is_rolled_back)
			(void) is_any_lost(definition, fill->began);
		else
			send_lost(definition, fill->began);
	}
	if (!read_rows(definition, ring, order, &arguments, fill))
		return false;
	if (fill->is_told && may_be_sure(definition, *fill))
		read_due(definition, ring, arguments, fill, look);
	fill->ended = GetCurrentTimestamp();
	return true;
}

namespace {

// A fill that this backend is carrying out, on the stack of its call. The list is for the end of
// the transaction, as a FATAL exit runs no PG_CATCH(). Fills nest where "pending" has a function
// that claims; the innermost is first.
struct UnderWay
{
	const UnderWay *outer;
	Ring *ring;
	RingKey key; // a definition may be freed before the callback
	FillOrder order;
};

} // namespace

static const UnderWay *under_way = nullptr;

// Lets other backends fill the rings. On ERROR, PG_CATCH() has emptied the list before.
static void
on_transaction_end(XactEvent event, void *)
{
	if (event == XACT_EVENT_ABORT)
		for (; under_way != nullptr; under_way = under_way->outer)
			cancel_fill(under_way->ring, under_way->key, under_way->order);
}

void
register_filler()
{
	RegisterXactCallback(on_transaction_end, nullptr);
}

// A read of some kinds does not show which jobs of the others are ready.
static bool
is_of_all(const Definition *definition)
{
	const RingClaim *claim = ring_claim_of(definition);
	return claim->key.is_sorted && claim->kinds == nullptr;
}

// A transaction that has written reads its own versions of rows, and not the rows that it has deleted: what it leaves
// in the ring is doubted if it is rolled back. Returns its counters; null if it has not written, or nothing is counted.
static stats::TransactionCounters *
note_own_view(Definition *definition, Ring *ring, const stats::LookBegun &begun, const Fill *fill)
{
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()))
		return nullptr;
	const RingKey &key = ring_claim_of(definition)->key;
	wake::note_own_fill(ring, key);
	if (!is_of_all(definition))
		return nullptr;
	const bool is_look = begun.place.entry != nullptr;
	stats::TransactionCounters *counters =
		is_look || fill->has_own ? stats::counters_of(definition) : nullptr;
	if (counters != nullptr && fill->has_own)
		stats::note_vain(counters);
	return counters;
}

// Carries out an order to fill; on ERROR another backend may. A cursor that cannot be read is no
// error: the next fill is a sweep.
static Filled
carry_out(Definition *definition, Ring *ring, const FillOrder &order, const Request &request)
{
	const RingKey &key = ring_claim_of(definition)->key;
	auto *fill = static_cast<Fill *>(palloc0(sizeof(Fill)));
	const UnderWay carried{under_way, ring, key, order};
	under_way = &carried;
	volatile bool is_read = false;
	stats::TransactionCounters *volatile counters = nullptr;
	stats::LookBegun begun{};
	stats::Look look{};
	PG_TRY();
	{
		if (is_of_all(definition))
			begun = stats::begin_look(definition);
		statement::with_spi([&] { is_read = read(definition, ring, order, request, fill, &look); });
		counters = note_own_view(definition, ring, begun, fill);
	}
	PG_CATCH();
	{
		cancel_fill(ring, key, order);
		under_way = carried.outer;
		PG_RE_THROW();
	}
	PG_END_TRY();
	Filled filled{};
	if (!is_read)
		cancel_fill(ring, key, order);
	else if (finish_fill(ring, key, order, *fill, &filled.added)) {
		if (order.is_sweep)
			wake::note_own_sweep(ring, key, request.call_time, fill->ended);
		if (fill->has_own)
			wake::note_own_left(ring, key);
		if (begun.place.entry != nullptr) {
			describe(order, *fill, request.call_time, filled.added, &look);
			stats::finish_look(begun, look, counters);
		}
		filled.is_mine = true;
		filled.is_sweep = order.is_sweep;
		filled.is_complete = fill->is_complete;
		filled.read = fill->count;
	}
	under_way = carried.outer;
	pfree(fill);
	return filled;
}

// Whether the filler of that order has exited or makes no progress. A filler with this backend's
// own PID is a call further up the stack, or one of a backend that is gone.
static bool
is_lost(const FillOrder &order, const Waits &waits)
{
	return order.filler == MyProcPid || BackendPidGetProc(order.filler) == nullptr ||
		   (order.generation == waits.generation && waits.count >= order.most_waits);
}

// Begins a fill; takes one over if its filler has lost it.
static FillOrder
take_order(Definition *definition, Ring *ring, TimestampTz now, const Generations &generations,
		   const Waits &waits)
{
	const RingKey &key = ring_claim_of(definition)->key;
	const FillOrder order = begin_fill(ring, key, now, generations, none_lost);
	if (order.is_mine || order.filler == 0 || !is_lost(order, waits))
		return order;
	return begin_fill(ring, key, now, generations, order.generation);
}

// Waits for the filler once. Returns, and counts, whether that was in vain.
static bool
wait_for(const FillOrder &order, Ring *ring, const RingKey &key, Waits *waits)
{
	if (order.generation != waits->generation)
		*waits = {order.generation, 0};
	const bool is_in_vain = !wait_for_fill(ring, key, order);
	waits->count += is_in_vain;
	return is_in_vain;
}

Filled
fill_ahead(Definition *definition, Ring *ring, const Request &request,
		   const Generations &generations)
{
	const FillOrder order = take_order(definition, ring, request.call_time, generations, {});
	return order.is_mine ? carry_out(definition, ring, order, request) : Filled{};
}

// Reports is_stuck after some takeovers in a row, so that a call does not wait for one backend
// after another.
Filled
fill_or_wait(Definition *definition, Ring *ring, const Request &request,
			 const Generations &generations, Waits *waits)
{
	const FillOrder order = take_order(definition, ring, request.call_time, generations, *waits);
	if (order.is_mine)
		return carry_out(definition, ring, order, request);
	constexpr int most_takeovers = 6;
	Filled filled{};
	filled.is_waiting = order.is_needless; // that backend was faster than the wait
	if (order.is_needless)
		return filled;
	filled.is_foreign = order.filler == 0;
	filled.is_stuck = order.takeovers >= most_takeovers;
	if (!filled.is_foreign && !filled.is_stuck)
		filled.is_waiting = wait_for(order, ring, ring_claim_of(definition)->key, waits);
	return filled;
}

} // namespace queue_ext::claim
