// write.hpp - writes one row without a statement.
//
// Invariant: no function waits for a row lock; the result says what conflicts. Only an index entry
// waits, for a transaction that has written the same unique key. Privileges, constraints and
// triggers are up to the caller (plain.hpp); the table must be locked ROW EXCLUSIVE.

#pragma once

#include "../postgres.hpp"

#include "../compat.hpp"

namespace queue_ext::row {

// The executor state that PostgreSQL's own functions need to write a table.
struct Target
{
	EState *estate;
	ResultRelInfo *relation;
	bool has_indexes_open;
};

// Makes the executor state, in the current context. Takes no lock.
Target open_target(Relation table);

void close_target(const Target *target);

// These columns and the generated ones that are computed from them, which an update of them writes,
// too. In the current context.
Bitmapset *with_generated(Relation table, const Bitmapset *written);

// The row lock mode of an update of these columns (offset as in pull_varattnos()): FOR UPDATE if
// one is of a unique key, else FOR NO KEY UPDATE, which does not conflict with FOR KEY SHARE.
LockTupleMode lock_mode_for(Relation table, const Bitmapset *written);

// Prunes the row's page if it has no room for one more version of the row, and only then: the
// executor would try at nearly each visit, and log each pruning. The row is in a slot with a buffer.
void make_room(Relation table, TupleTableSlot *row);

// Updates the version at the TID to the new one, which differs in these columns at most. Returns
// TM_Ok; TM_WouldBlock when another transaction has a conflicting lock or is writing the row; else
// why that version cannot be updated. Overwrites the scratch slot, which is made for the table.
TM_Result update_at_once(Relation table, ItemPointer tid, const Bitmapset *written,
						 TupleTableSlot *scratch, TupleTableSlot *new_row,
						 compat::UpdatedIndexes *updated);

// Has the executor check the row's constraints. Raises 23502, 23514, and what their functions raise.
void check_constraints(const Target *target, TupleTableSlot *row);
void check_constraints(Relation table, TupleTableSlot *row);

// Inserts the index entries of a new row. May wait for a transaction that has written the same unique
// key, and raises 23505 or 23P01 for a duplicate.
void insert_new_index_entries(Target *target, TupleTableSlot *row);

// Inserts the index entries that the new version needs, if any. May wait for a transaction that has
// written the same unique key, and raises 23505 or 23P01 for a duplicate.
void insert_index_entries(Target *target, TupleTableSlot *new_row, compat::UpdatedIndexes updated);
void insert_index_entries(Relation table, TupleTableSlot *new_row, compat::UpdatedIndexes updated);

// Inserts a row of a table of ours, to which its owner may have added indexes and constraints: checks
// these, and makes the entries. Raises 23502, 23514, 23505, 23P01, and what their functions raise. May
// wait for a transaction that has written the same unique key. Resets the executor state's per-tuple
// memory.
void insert_row(Target *target, TupleTableSlot *row);

// Replaces the version at the TID, which this transaction has locked, in such a table: checks the
// constraints, and makes the entries that it needs. Raises 23502, 23514, 23505, 23P01, what their functions
// raise, and XX000 if the version has changed. May wait for a transaction that has written the same unique
// key. Resets the executor state's per-tuple memory.
void replace_row(Target *target, ItemPointer tid, TupleTableSlot *row);

} // namespace queue_ext::row
