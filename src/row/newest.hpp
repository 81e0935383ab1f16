// newest.hpp - index scans that see rows as they are committed now, whatever the transaction's
// snapshot, and take no predicate locks.
//
// Locks of the caller keep other transactions from adding rows with the key meanwhile.

#pragma once

#include "../postgres.hpp"

#include "index_scan.hpp"

namespace queue_ext::row {

// An open scan, of a table that it has opened.
struct NewestScan : IndexScan
{
	Relation table;
	Relation index;
};

// Opens the table with that lock, the index, and a scan under a new snapshot. Sees what this
// transaction has written so far. On ERROR the resource owner closes all of it.
inline NewestScan
open_newest(Oid table, LOCKMODE lock, Oid index, int key_count)
{
	CommandCounterIncrement();
	NewestScan scan{};
	scan.table = table_open(table, lock);
	scan.index = index_open(index, AccessShareLock);
	static_cast<IndexScan &>(scan) =
		begin_scan(scan.table, scan.index, RegisterSnapshot(GetLatestSnapshot()), key_count);
	return scan;
}

// Keeps the locks on table and index until the end of the transaction.
inline void
close_newest(const NewestScan &scan)
{
	end_scan(scan);
	UnregisterSnapshot(scan.snapshot);
	index_close(scan.index, NoLock);
	table_close(scan.table, NoLock);
}

} // namespace queue_ext::row
