// write.hpp - one row written without a statement.
//
// Invariant: no row is waited for; what stands in the way is told by the result. Only
// an index entry waits, for a transaction that has written the same unique key.
// Privileges, constraints and triggers are the caller's affair (plain.hpp); the table
// must be locked for writing.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::row {

// What the executor's own functions need to write a table.
struct Target
{
	EState *estate;
	ResultRelInfo *relation;
	bool has_indexes_open;
};

// In the current context. Raises what the executor raises.
Target open_target(Relation table);

void close_target(Target *target);

// The lock that an update takes which writes these columns (as pull_varattnos() counts
// them): FOR UPDATE if one is of a unique key, else FOR NO KEY UPDATE, which a lock of
// the key alone (FOR KEY SHARE) does not hinder.
LockTupleMode lock_mode_for(Relation table, const Bitmapset *written);

// Writes the new version, which differs in these columns at most, over the one at the
// place. TM_Ok; TM_WouldBlock when another transaction has a lock that conflicts, or
// is writing; else why there is nothing to write over. The row of the scratch slot,
// made for the table, may be lost.
TM_Result update_at_once(Relation table, ItemPointer tid, const Bitmapset *written,
						 TupleTableSlot *scratch, TupleTableSlot *new_row,
						 compat::UpdatedIndexes *updated);

// Makes the index entries of a row that has been added.
void insert_new_index_entries(Target *target, TupleTableSlot *row);

// Makes the index entries of the new version, where it needs any.
void insert_index_entries(Target *target, TupleTableSlot *new_row, compat::UpdatedIndexes updated);

} // namespace queue_ext::row
