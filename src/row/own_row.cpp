// own_row.cpp - see own_row.hpp.

#include "../postgres.hpp"

#include "own_row.hpp"

namespace queue_ext::row {

// Columns of a newer version may have defaults, too.
static void
set_defaults(const Target &target, const RowValues &row)
{
	Relation table = target.relation->ri_RelationDesc;
	const TupleDesc descriptor = RelationGetDescr(table);
	for (int i = 0; i < descriptor->natts; i++) {
		const Form_pg_attribute column = TupleDescAttr(descriptor, i);
		if (row.are_set[i] || !column->atthasdef || column->attisdropped ||
			column->attgenerated != '\0')
			continue;
		auto *value = reinterpret_cast<Expr *>(build_column_default(table, i + 1));
		row.values[i] = ExecEvalExpr(ExecPrepareExpr(value, target.estate),
									 GetPerTupleExprContext(target.estate), &row.nulls[i]);
	}
}

void
insert_own_row(Target *target, TupleTableSlot *slot, const RowValues &row)
{
	set_defaults(*target, row);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, row.values, sizeof(Datum) * row.width);
	memcpy(slot->tts_isnull, row.nulls, sizeof(bool) * row.width);
	ExecStoreVirtualTuple(slot);
	insert_row(target, slot);
}

void
insert_own_row(Relation table, const RowValues &row)
{
	Target target = open_target(table);
	TupleTableSlot *slot = table_slot_create(table, nullptr);
	insert_own_row(&target, slot, row);
	ExecDropSingleTupleTableSlot(slot);
	close_target(&target);
}

// Puts the slot, whose row it is, on the newest version, locked. False if it has been deleted, or is not to be waited
// for.
static bool
lock_newest(Relation table, Snapshot snapshot, TupleTableSlot *row, LockWaitPolicy policy)
{
	ItemPointerData tid = row->tts_tid;
	TM_FailureData failure;
	return table_tuple_lock(table, &tid, snapshot, row, GetCurrentCommandId(true),
							LockTupleNoKeyExclusive, policy, TUPLE_LOCK_FLAG_FIND_LAST_VERSION,
							&failure) == TM_Ok;
}

HeapTuple
lock_own_row(Relation table, const ItemPointerData &tid)
{
	TupleTableSlot *slot = table_slot_create(table, nullptr);
	slot->tts_tid = tid;
	HeapTuple locked = lock_newest(table, SnapshotSelf, slot, LockWaitBlock)
						   ? ExecCopySlotHeapTuple(slot)
						   : nullptr;
	ExecDropSingleTupleTableSlot(slot);
	return locked;
}

void
update_own_row(Relation table, HeapTuple old, const RowValues &row)
{
	Target target = open_target(table);
	TupleTableSlot *slot = table_slot_create(table, nullptr);
	ItemPointerData tid = old->t_self;
	ExecForceStoreHeapTuple(
		heap_modify_tuple(old, RelationGetDescr(table), row.values, row.nulls, row.are_set), slot,
		false);
	replace_row(&target, &tid, slot);
	ExecDropSingleTupleTableSlot(slot);
	close_target(&target);
}

bool
lock_row(const NewestScan &scan, bool may_wait)
{
	return lock_newest(scan.table, scan.snapshot, scan.row,
					   may_wait ? LockWaitBlock : LockWaitSkip);
}

} // namespace queue_ext::row
