// write.cpp - see write.hpp.

#include "../postgres.hpp"

#include "write.hpp"

namespace queue_ext::row {

using compat::UpdatedIndexes;

Target
open_target(Relation table)
{
	// The server's part of this struct may be longer than the one we were built
	// with.
	constexpr size_t slack = 128;
	Target target{};
	target.estate = CreateExecutorState();

	RangeTblEntry *entry = makeNode(RangeTblEntry);
	entry->rtekind = RTE_RELATION;
	entry->relid = RelationGetRelid(table);
	entry->relkind = table->rd_rel->relkind;
	entry->rellockmode = RowExclusiveLock;
	compat::init_range_table(target.estate, entry);
	target.relation = static_cast<ResultRelInfo *>(palloc0(sizeof(ResultRelInfo) + slack));
	NodeSetTag(target.relation, T_ResultRelInfo);
	InitResultRelInfo(target.relation, table, 1, nullptr, 0);
	return target;
}

void
close_target(Target *target)
{
	if (target->has_indexes_open)
		ExecCloseIndices(target->relation);
	FreeExecutorState(target->estate);
	pfree(target->relation);
}

LockTupleMode
lock_mode_for(Relation table, const Bitmapset *written)
{
	Bitmapset *keys = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_KEY);
	const bool is_key_written = bms_overlap(written, keys);
	bms_free(keys);
	return is_key_written ? LockTupleExclusive : LockTupleNoKeyExclusive;
}

// Locks the version in the mode of the update, and updates it. What is in the way then
// is this transaction's own lock, and locks that do not conflict: the update passes by
// them, but only if it may wait.
static TM_Result
lock_and_update(Relation table, ItemPointer tid, const Bitmapset *written, TupleTableSlot *scratch,
				TupleTableSlot *new_row, UpdatedIndexes *updated)
{
	TM_FailureData failure;
	const CommandId command = GetCurrentCommandId(true);
	const LockTupleMode locked_mode = lock_mode_for(table, written);
	const TM_Result locked = table_tuple_lock(table, tid, SnapshotSelf, scratch, command,
											  locked_mode, LockWaitSkip, 0, &failure);
	if (locked != TM_Ok)
		return locked;
	LockTupleMode mode;
	const TM_Result result =
		compat::update_tuple(table, tid, new_row, command, true, &failure, &mode, updated);
	// It has not waited: it wanted no more than was locked, and found nothing else.
	Assert(mode <= locked_mode && result == TM_Ok);
	return result;
}

TM_Result
update_at_once(Relation table, ItemPointer tid, const Bitmapset *written, TupleTableSlot *scratch,
			   TupleTableSlot *new_row, UpdatedIndexes *updated)
{
	// Its values may be the scratch row's.
	ExecMaterializeSlot(new_row);
#ifndef USE_ASSERT_CHECKING
	// heap_update() asserts that an update that does not wait meets no lock. Without
	// assertions it refuses the version as it should, and the lock's WAL is spared
	// (design.md, "An update that does not wait").
	TM_FailureData failure;
	LockTupleMode mode;
	const TM_Result result = compat::update_tuple(table, tid, new_row, GetCurrentCommandId(true),
												  false, &failure, &mode, updated);
	if (result != TM_BeingModified)
		return result;
#endif
	return lock_and_update(table, tid, written, scratch, new_row, updated);
}

static void
open_indexes(Target *target)
{
	if (!target->has_indexes_open)
		ExecOpenIndices(target->relation, false);
	target->has_indexes_open = true;
}

void
insert_new_index_entries(Target *target, TupleTableSlot *row)
{
	open_indexes(target);
	compat::insert_new_index_tuples(target->relation, row, target->estate);
}

void
insert_index_entries(Target *target, TupleTableSlot *new_row, UpdatedIndexes updated)
{
	if (!compat::any_index(updated))
		return;
	open_indexes(target);
	compat::insert_index_tuples(target->relation, new_row, target->estate, updated);
}

} // namespace queue_ext::row
