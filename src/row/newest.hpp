// newest.hpp - index scans that see rows as they are committed now, whatever the transaction's
// snapshot, and take no predicate locks.
//
// Locks of the caller keep other transactions from adding rows with the key meanwhile. In
// SERIALIZABLE an ordinary index scan would take a predicate lock on the index page, and so
// conflict with every insert into that page. There the scan runs under SnapshotAny, which takes no
// predicate lock, and each version is checked against the snapshot.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::row {

// An open scan.
struct NewestScan
{
	Relation table;
	Relation index;
	Snapshot snapshot;
	IndexScanDesc scan;
	TupleTableSlot *row; // the current row
	bool is_filtered;    // the scan runs under SnapshotAny
};

// Opens the table with that lock, the index, and a scan under a new snapshot. Sees what this
// transaction has written so far. On ERROR the resource owner closes all of it.
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

// Restarts the scan with these keys.
inline void
restart(const NewestScan &scan, ScanKey keys, int key_count)
{
	index_rescan(scan.scan, keys, key_count, nullptr, 0);
}

// Fetches the next visible row into scan.row; false at the end.
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

// Keeps the locks on table and index until the end of the transaction.
inline void
close_newest(const NewestScan &scan)
{
	index_endscan(scan.scan);
	ExecDropSingleTupleTableSlot(scan.row);
	UnregisterSnapshot(scan.snapshot);
	index_close(scan.index, NoLock);
	table_close(scan.table, NoLock);
}

} // namespace queue_ext::row
