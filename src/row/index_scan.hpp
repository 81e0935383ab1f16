// index_scan.hpp - reading an index entry by entry, and the rows that its entries lead to, under a snapshot and without
// predicate locks.
//
// In SERIALIZABLE an ordinary index scan would take a predicate lock on the index page, and so
// conflict with every insert into that page. There the scan runs under a snapshot that sees all versions but those which
// VACUUM could remove, and takes no predicate lock; each version is checked against the snapshot of the caller. So
// entries of rows that are dead to all are marked by the scan, as by any other.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::row {

// An open scan.
struct IndexScan
{
	Snapshot snapshot;
	IndexScanDesc scan;
	TupleTableSlot *row; // the current row
	bool is_filtered;    // the scan sees more than the snapshot
};

// Opens a scan under the snapshot, which must be registered. On ERROR the resource owner closes it.
inline IndexScan
begin_scan(Relation table, Relation index, Snapshot snapshot, int key_count)
{
	const bool is_filtered = IsolationIsSerializable();
	Snapshot seen = snapshot;
	if (is_filtered) {
		seen = static_cast<Snapshot>(palloc0(sizeof(SnapshotData)));
		InitNonVacuumableSnapshot(*seen, GlobalVisTestFor(table));
	}
	return {snapshot, compat::begin_index_scan(table, index, seen, key_count),
			table_slot_create(table, nullptr), is_filtered};
}

// Restarts the scan with these keys.
inline void
restart(const IndexScan &scan, ScanKey keys, int key_count)
{
	index_rescan(scan.scan, keys, key_count, nullptr, 0);
}

// Moves to the next entry; false at the end.
inline bool
next_entry(const IndexScan &scan, ScanDirection direction)
{
	CHECK_FOR_INTERRUPTS();
	return index_getnext_tid(scan.scan, direction) != nullptr;
}

// Fetches into scan.row the version of the entry's row that the snapshot sees; false if there is none.
inline bool
fetch_row(const IndexScan &scan)
{
	do {
		if (index_fetch_heap(scan.scan, scan.row) &&
			(!scan.is_filtered ||
			 table_tuple_satisfies_snapshot(scan.scan->heapRelation, scan.row, scan.snapshot)))
			return true;
	} while (scan.scan->xs_heap_continue);
	return false;
}

// Fetches the next row into scan.row; false at the end.
inline bool
next_row(const IndexScan &scan)
{
	while (next_entry(scan, ForwardScanDirection))
		if (fetch_row(scan))
			return true;
	return false;
}

inline void
end_scan(const IndexScan &scan)
{
	index_endscan(scan.scan);
	ExecDropSingleTupleTableSlot(scan.row);
}

} // namespace queue_ext::row
