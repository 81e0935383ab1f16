// wait.cpp - queue_wait, queue_pop_wait: procedures that sleep until a job is claimable.
//
// No snapshot may be held during the sleep, since it would keep VACUUM from removing rows that are
// deleted meanwhile, so these are procedures: they commit before they sleep. In a transaction block,
// where a procedure cannot commit, queue_wait() can sleep if the statement's own snapshot is the only
// one, which it gives back; it looks for jobs in subtransactions that are rolled back, so that no lock
// on the table is left.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../claim/claim.hpp"
#include "../compat.hpp"
#include "../definition/open.hpp"
#include "../error.hpp"
#include "../statement/subtransaction.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wait/ready.hpp"
#include "../wait/sleep.hpp"
#include "pop_call.hpp"
#include "procedure.hpp"
#include "wait_call.hpp"

namespace queue_ext::queue {

using claim::Request;
using wait::Wait;
using definition::Definition;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_wait);
QUEUE_EXT_FUNCTION(queue_ext_queue_pop_wait);

// Gives back the snapshot of the statement that calls the procedure. False, with all as it was, if
// another is active, or if it is not the statement's own.
static bool
forget_own_snapshot()
{
	Portal portal = ActivePortal;
	if (portal == nullptr || portal->portalSnapshot == nullptr || !ActiveSnapshotSet() ||
		GetActiveSnapshot() != portal->portalSnapshot)
		return false;
	Snapshot snapshot = RegisterSnapshot(portal->portalSnapshot);
	PopActiveSnapshot();
	const bool is_only_one = !ActiveSnapshotSet();
	if (!is_only_one)
		PushActiveSnapshotWithLevel(snapshot, portal->createLevel);
	portal->portalSnapshot = is_only_one ? nullptr : GetActiveSnapshot();
	UnregisterSnapshot(snapshot);
	return is_only_one;
}

// Raises 25001 unless the transaction can wait without a snapshot.
static void
prepare_to_wait_in_transaction()
{
	if (IsolationUsesXactSnapshot())
		error::cannot_wait("The isolation level of the transaction is not READ COMMITTED.");
	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		error::cannot_wait("The transaction has written.");
	InvalidateCatalogSnapshot();
	if (!forget_own_snapshot() || TransactionIdIsValid(MyProc->xmin))
		error::cannot_wait(
			"Another statement, cursor or PL/pgSQL block of the transaction is under way.");
}

// Looks for a job in the queue, whose definition and all that the look needs are forgotten after it.
// look(Definition *) is not called while the queue is paused.
template <typename Open, typename Look>
static bool
look(Wait *wait, const Request &request, MemoryContext round, Open &&open, Look &&look_in)
{
	MemoryContext old = MemoryContextSwitchTo(round);
	Definition *definition = open();
	check_kinds(definition, request);
	// The client may have gone during the sleep, or while another transaction had the table locked.
	if (wait->has_slept)
		compat::check_client();
	CHECK_FOR_INTERRUPTS();
	begin_round(wait, 1);
	wait::before_look(0, definition->is_paused ? nullptr : definition, request);
	const bool is_found = !definition->is_paused && look_in(definition);
	after_look(wait, 0, is_found);
	end_round(wait, is_found);
	if (!is_found && !wait->has_slept)
		stats::count_at_once(definition, stats::Counter::waits);
	MemoryContextSwitchTo(old);
	return is_found;
}

static bool
look_for_ready(const text *name, Request request, Wait *wait, MemoryContext round)
{
	request.call_time = GetCurrentTimestamp();
	return look(
		wait, request, round, [&] { return definition::open_queue(name, Use::claim); },
		[&](Definition *definition) { return wait::is_job_ready(definition, request); });
}

static void
wait_between_transactions(const text *name, const Request &request, Wait *wait)
{
	MemoryContext round = create_round();
	do {
		MemoryContextReset(round);
		SPI_commit();
		EnsurePortalSnapshotExists();
		if (look_for_ready(name, request, wait, round))
			return;
		SPI_commit();
	} while (wait::sleep(wait));
}

static void
wait_in_transaction(const text *name, Request request, Wait *wait)
{
	MemoryContext round = create_round();
	request.is_rolled_back = true;
	bool is_ready = false;
	do {
		MemoryContextReset(round);
		statement::rolled_back([&] {
			PushActiveSnapshot(GetTransactionSnapshot());
			is_ready = look_for_ready(name, request, wait, round);
			PopActiveSnapshot();
		});
	} while (!is_ready && wait::sleep(wait));
}

Datum
queue_ext_queue_wait(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_wait()");
	argument::check_not_null(fcinfo, 0, "queue");
	const text *name = copy_text(fcinfo, 0);
	Wait wait = read_wait(fcinfo, false);
	Request request{};
	request.max_jobs = 1;
	request.kinds = argument_kinds(fcinfo, 2);
	request.worker = copy_text(fcinfo, 3);
	if (can_commit(fcinfo)) {
		SPI_connect_ext(SPI_OPT_NONATOMIC);
		wait_between_transactions(name, request, &wait);
		SPI_finish();
	} else {
		prepare_to_wait_in_transaction();
		wait_in_transaction(name, request, &wait);
	}
	return static_cast<Datum>(0);
}

// Claims a job and copies it into the memory context. Null if there is none.
static HeapTuple
pop_one(const text *name, Wait *wait, Request *request, MemoryContext round, MemoryContext result,
		TupleDesc columns)
{
	HeapTuple job = nullptr;
	request->call_time = GetCurrentTimestamp();
	request->is_chosen = wait::chosen(0);
	request->has_slept = wait->has_slept;
	(void) look(
		wait, *request, round,
		[&] {
			return definition::open_managed_queue(
				name, Use::claim,
				"Use queue_wait(), and queue_pop_rows(), which returns rows of its table.");
		},
		[&](Definition *definition) {
			Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
			if (claim::claim(definition, *request, {store, job_columns_of(definition, columns)}) ==
				0)
				return false;
			TupleTableSlot *slot = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
			(void) tuplestore_gettupleslot(store, true, false, slot);
			MemoryContextSwitchTo(result);
			job = ExecCopySlotHeapTuple(slot);
			MemoryContextSwitchTo(round);
			ExecDropSingleTupleTableSlot(slot);
			tuplestore_end(store);
			return true;
		});
	return job;
}

Datum
queue_ext_queue_pop_wait(PG_FUNCTION_ARGS)
{
	constexpr int kinds_argument = 15; // behind the columns of a job
	argument::check_may_write("queue_pop_wait()");
	argument::check_not_null(fcinfo, 0, "queue");
	const text *name = copy_text(fcinfo, 0);
	Wait wait = read_wait(fcinfo, true);
	Request request = read_pop_wait(fcinfo, kinds_argument);
	if (!can_commit(fcinfo))
		error::cannot_commit("queue_pop_wait()", "Call it outside a transaction block, or call"
												 " queue_wait() there, and then queue_pop().");
	return pop_or_wait(fcinfo, &wait,
					   [&](MemoryContext round, MemoryContext result, TupleDesc columns) {
						   return pop_one(name, &wait, &request, round, result, columns);
					   });
}

} // namespace queue_ext::queue
