// newest.hpp - looking rows up in an index as they are committed now, whatever the
// transaction's snapshot, and without a part in its serialization.
//
// The locks of unique inserts see to it that nobody adds a row with the key meanwhile.
// A serializable transaction's own looking would note down the index page, and make it
// fail for every other that inserts into the same page: so there all versions are read,
// which notes nothing, and the snapshot is asked about each.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::unique {

struct NewestScan
{
	Relation table;
	Relation index;
	Snapshot snapshot;
	IndexScanDesc scan;
	TupleTableSlot *row; // the current one
	bool is_filtered;
};

// Opens the table with that lock, and the index. What this transaction has written so
// far is seen. On ERROR the resource owner closes it all.
inline NewestScan
open_newest(Oid table, LOCKMODE lock, Oid index, int key_count)
{
	NewestScan scan{};
	CommandCounterIncrement();
	scan.table = table_open(table, lock);
	scan.index = index_open(index, AccessShareLock);
	scan.snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan.row = table_slot_create(scan.table, nullptr);
	scan.is_filtered = IsolationIsSerializable();
	scan.scan = compat::begin_index_scan(scan.table, scan.index,
										 scan.is_filtered ? SnapshotAny : scan.snapshot, key_count);
	return scan;
}

// Starts over with these keys.
inline void
restart(const NewestScan &scan, ScanKey keys, int key_count)
{
	index_rescan(scan.scan, keys, key_count, nullptr, 0);
}

// The next row; false when there is none.
inline bool
next_row(const NewestScan &scan)
{
	while (index_getnext_slot(scan.scan, ForwardScanDirection, scan.row)) {
		CHECK_FOR_INTERRUPTS();
		if (!scan.is_filtered ||
			table_tuple_satisfies_snapshot(scan.table, scan.row, scan.snapshot))
			return true;
	}
	return false;
}

// The locks on table and index stay.
inline void
close_newest(const NewestScan &scan)
{
	index_endscan(scan.scan);
	ExecDropSingleTupleTableSlot(scan.row);
	UnregisterSnapshot(scan.snapshot);
	index_close(scan.index, NoLock);
	table_close(scan.table, NoLock);
}

} // namespace queue_ext::unique
