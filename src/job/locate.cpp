// locate.cpp - see locate.hpp.

#include "../postgres.hpp"

#include "locate.hpp"

#include "../compat.hpp"

namespace queue_ext::job {

Locator
open_locator(Relation table, Oid index)
{
	Locator locator{};
	locator.table = table;
	locator.index = index_open(index, RowExclusiveLock);
	locator.row = table_slot_create(table, nullptr);
	return locator;
}

void
close_locator(Locator *locator)
{
	ExecDropSingleTupleTableSlot(locator->row);
	index_close(locator->index, NoLock);
}

// Fetches the version that the snapshot sees, of the HOT chain that begins at the TID.
static bool
fetch(const Locator &locator, ItemPointer tid, Snapshot snapshot)
{
	auto *row = reinterpret_cast<BufferHeapTupleTableSlot *>(locator.row);
	HeapTuple tuple = &row->base.tupdata;
	const Buffer buffer = ReadBuffer(locator.table, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	const bool is_found =
		heap_hot_search_buffer(tid, locator.table, buffer, snapshot, tuple, nullptr, true);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (is_found) {
		tuple->t_self = *tid;
		ExecStoreBufferHeapTuple(tuple, locator.row, buffer);
	}
	ReleaseBuffer(buffer);
	return is_found;
}

bool
find_row(const Locator &locator, ScanKey keys, int count, Snapshot snapshot)
{
	IndexScanDesc scan = compat::begin_index_scan(locator.table, locator.index, snapshot, count);
	index_rescan(scan, keys, count, nullptr, 0);
	bool is_found = false;
	while (!is_found) {
		const ItemPointer tid = index_getnext_tid(scan, ForwardScanDirection);
		if (tid == nullptr)
			break;
		is_found = fetch(locator, tid, snapshot);
	}
	index_endscan(scan);
	return is_found;
}

} // namespace queue_ext::job
