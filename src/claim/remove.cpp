// remove.cpp - see remove.hpp.
//
// A row is found through the primary key under a snapshot of its own, and deleted by its TID. If
// another transaction has changed it meanwhile it is looked for again: the receipt may still be
// good, or stale by now. Unlike an index scan of the executor, this does not prune the pages that
// it visits; claims do that when they need room.

#include "../postgres.hpp"

#include "remove.hpp"

#include "../compat.hpp"
#include "../row/rights.hpp"
#include "path.hpp"
#include "compiled_claim.hpp"
#include "transaction_callbacks.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using definition::Definition;

bool
can_remove_directly(Definition *definition)
{
	return is_direct_allowed() && compiled_claim_of(definition)->can_remove &&
		   row::has_rights(definition->source, ACL_DELETE | ACL_SELECT);
}

namespace {

// What one call needs for all its receipts.
struct Remover
{
	const CompiledClaim *claim;
	Relation table;
	Relation key;
	TupleTableSlot *row;
};

} // namespace

// Fetches the version that the snapshot sees, of the HOT chain that begins at the TID.
static bool
fetch(const Remover *remover, ItemPointer tid, Snapshot snapshot)
{
	auto *row = reinterpret_cast<BufferHeapTupleTableSlot *>(remover->row);
	HeapTuple tuple = &row->base.tupdata;
	const Buffer buffer = ReadBuffer(remover->table, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	const bool is_found =
		heap_hot_search_buffer(tid, remover->table, buffer, snapshot, tuple, nullptr, true);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (is_found) {
		tuple->t_self = *tid;
		ExecStoreBufferHeapTuple(tuple, remover->row, buffer);
	}
	ReleaseBuffer(buffer);
	return is_found;
}

// Finds the version of the job's row that the snapshot sees.
static bool
find(const Remover *remover, int64 id, Snapshot snapshot)
{
	ScanKeyData key;
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
	IndexScanDesc scan = compat::begin_index_scan(remover->table, remover->key, snapshot, 1);
	index_rescan(scan, &key, 1, nullptr, 0);
	bool is_found = false;
	while (!is_found) {
		const ItemPointer tid = index_getnext_tid(scan, ForwardScanDirection);
		if (tid == nullptr)
			break;
		is_found = fetch(remover, tid, snapshot);
	}
	index_endscan(scan);
	return is_found;
}

// The fence: the receipt is of the current attempt, and the job is still leased.
static bool
is_good(const Remover *remover, const Receipt &receipt)
{
	bool is_null;
	const Datum attempt = slot_getattr(remover->row, remover->claim->attempt, &is_null);
	return !is_null && DatumGetInt32(attempt) == receipt.attempt &&
		   !slot_attisnull(remover->row, remover->claim->leased_until);
}

// Deletes the job's row. A row that this command has deleted before counts as gone. Waits for its
// lock.
static bool
remove(const Remover *remover, const Receipt &receipt)
{
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
		TM_FailureData failure;
		TM_Result result = TM_Ok;
		const bool is_there = find(remover, receipt.id, snapshot) && is_good(remover, receipt);
		if (is_there)
			result = compat::delete_tuple(remover->table, &remover->row->tts_tid,
										  GetCurrentCommandId(true), snapshot, true, &failure);
		UnregisterSnapshot(snapshot);
		ExecClearTuple(remover->row);
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
	Remover remover{};
	remover.claim = compiled_claim_of(definition);
	remover.table = table_open(definition->source, NoLock);
	CheckCmdReplicaIdentity(remover.table, CMD_DELETE);
	remover.key = index_open(compat::primary_key_of(remover.table), RowExclusiveLock);
	remover.row = table_slot_create(remover.table, nullptr);
	int removed = 0;
	for (int i = 0; i < count; i++)
		if (remove(&remover, receipts[i]))
			ids[removed++] = receipts[i].id;
	ExecDropSingleTupleTableSlot(remover.row);
	index_close(remover.key, NoLock);
	table_close(remover.table, NoLock);
	if (removed > 0) {
		note_writes(definition->source);
		CommandCounterIncrement();
	}
	return removed;
}

} // namespace queue_ext::claim
