// locate.hpp - finding a row by a unique key, without a statement.
//
// Unlike an index scan of the executor, this does not prune the pages that it visits; claims do that
// when they need room.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::job {

// The means to find rows of one table, which is locked.
struct Locator
{
	Relation table;
	Relation index;      // a B-tree over the key
	TupleTableSlot *row; // the version found, in a buffer
};

// Opens the index. On ERROR the resource owner closes it.
Locator open_locator(Relation table, Oid index);

// Closes the index; its lock stays.
void close_locator(Locator *locator);

// Finds the version that the snapshot sees of the row with these values in the index's columns.
bool find_row(const Locator &locator, ScanKey keys, int count, Snapshot snapshot);

} // namespace queue_ext::job
