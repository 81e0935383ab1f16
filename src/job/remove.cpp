// remove.cpp - see remove.hpp.
//
// A row is found through the primary key under a snapshot of its own, and deleted by its TID. If
// another transaction has changed it meanwhile it is looked for again: the receipt may still be
// good, or stale by now.

#include "../postgres.hpp"

#include "remove.hpp"

#include "../claim/choice.hpp"
#include "../claim/compiled_claim.hpp"
#include "../claim/given_back.hpp"
#include "../claim/row_context.hpp"
#include "../claim/writer.hpp"
#include "../compat.hpp"
#include "../ring/probe.hpp"
#include "../row/rights.hpp"
#include "../wake/written.hpp"
#include "locate.hpp"

namespace queue_ext::job {

using claim::DirectClaim;
using definition::Definition;

bool
can_remove_directly(Definition *definition)
{
	const DirectClaim *claim = claim::direct_claim(claim::compiled_claim_of(definition));
	return claim::is_direct_allowed() && claim != nullptr && claim->can_remove &&
		   row::has_rights(definition->source, ACL_DELETE | ACL_SELECT);
}

// The fence: the receipt is of the current attempt, and the job is still leased.
static bool
is_good(const DirectClaim *claim, TupleTableSlot *row, const Receipt &receipt)
{
	bool is_null;
	const Datum attempt = slot_getattr(row, claim->managed.attempt, &is_null);
	return !is_null && DatumGetInt32(attempt) == receipt.attempt &&
		   !slot_attisnull(row, claim->managed.leased_until);
}

// The receipt was good, so there is a lease.
static TimestampTz
lease_end_of(const DirectClaim *claim, TupleTableSlot *row)
{
	bool is_null;
	return DatumGetTimestampTz(slot_getattr(row, claim->managed.leased_until, &is_null));
}

// When the job would have died with its lease; PG_INT64_MAX: it has another attempt.
static TimestampTz
death_of(const DirectClaim *claim, TupleTableSlot *row)
{
	bool is_null;
	if (claim->managed.dead_at == InvalidAttrNumber)
		return lease_end_of(claim, row);
	const Datum dead_at = slot_getattr(row, claim->managed.dead_at, &is_null);
	return is_null ? PG_INT64_MAX : DatumGetTimestampTz(dead_at);
}

// A job whose lease has ended was ready again, and may stand in the ring, or has died.
static void
note_late(stats::TransactionCounters *counters, const DirectClaim *claim, TupleTableSlot *row,
		  TimestampTz now)
{
	bool is_null;
	claim::note_death_of(claim->key.table, counters, death_of(claim, row));
	if (lease_end_of(claim, row) > now)
		return;
	const Datum priority = slot_getattr(row, claim->managed.priority, &is_null);
	const Datum run_at = slot_getattr(row, claim->managed.run_at, &is_null);
	stats::note_left(counters, DatumGetInt16(priority), DatumGetTimestampTz(run_at));
}

// Counts how long the job that was found has run.
static void
count_run(Definition *definition, const DirectClaim *claim, TupleTableSlot *row)
{
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters == nullptr)
		return;
	const TimestampTz now = GetCurrentTimestamp();
	note_late(counters, claim, row, now);
	if (claim->claimed_at == InvalidAttrNumber)
		return;
	bool is_null;
	const Datum claimed_at = slot_getattr(row, claim->claimed_at, &is_null);
	if (!is_null)
		stats::add_duration(&counters->counts.running, now - DatumGetTimestampTz(claimed_at));
}

// Deletes the job's row. A row that this command has deleted before counts as gone. Waits for its
// lock. *lease_end: lowered to when the row's lease ends.
static bool
remove(Definition *definition, const DirectClaim *claim, const Locator &locator,
	   const Receipt &receipt, TimestampTz *lease_end)
{
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(receipt.id));
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
		TM_FailureData failure;
		TM_Result result = TM_Ok;
		const bool is_there =
			find_row(locator, &key, 1, snapshot) && is_good(claim, locator.row, receipt);
		if (is_there)
			result = ring::measured("delete", [&] {
				return compat::delete_tuple(locator.table, &locator.row->tts_tid,
											GetCurrentCommandId(true), snapshot, true, &failure);
			});
		UnregisterSnapshot(snapshot);
		if (is_there && result == TM_Ok) {
			*lease_end = Min(*lease_end, lease_end_of(claim, locator.row));
			count_run(definition, claim, locator.row);
		}
		ExecClearTuple(locator.row);
		if (!is_there || result == TM_SelfModified)
			return false;
		if (result == TM_Ok)
			return true;
		if (result != TM_Updated && result != TM_Deleted)
			elog(ERROR, "unexpected result %d of deleting a job", static_cast<int>(result));
	}
}

int
remove_directly(Definition *definition, const Receipt *receipts, int count, int64 *ids)
{
	// Make what this command has written so far visible.
	CommandCounterIncrement();
	const DirectClaim *claim = claim::direct_claim(claim::compiled_claim_of(definition));
	Relation table = table_open(definition->source, NoLock);
	CheckCmdReplicaIdentity(table, CMD_DELETE);
	Locator locator = open_locator(table, compat::primary_key_of(table));
	int removed = 0;
	TimestampTz lease_end = PG_INT64_MAX;
	claim::RowContext context;
	claim::begin_context(&context, definition, act_of_completion);
	context.row = locator.row;
	for (int i = 0; i < count; i++)
		if (remove(definition, claim, locator, receipts[i], &lease_end))
			ids[removed++] = receipts[i].id;
	claim::end_context(&context);
	close_locator(&locator);
	table_close(table, NoLock);
	if (removed > 0) {
		stats::count(definition, stats::Counter::completed, removed);
		wake::note_writes(definition->source, lease_end);
		CommandCounterIncrement();
	}
	return removed;
}

} // namespace queue_ext::job
