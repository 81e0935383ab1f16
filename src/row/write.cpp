// write.cpp - see write.hpp.

#include "../postgres.hpp"

#include "write.hpp"

namespace queue_ext::row {

using compat::UpdatedIndexes;

// The range table and the ResultRelInfo that ExecInsertIndexTuples() and ExecConstraints() expect.
Target
open_target(Relation table)
{
	// A minor release may add fields to ResultRelInfo, so the one of the running server may be
	// longer.
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

// FreeExecutorState() does not close the indexes.
void
close_target(const Target *target)
{
	if (target->has_indexes_open)
		ExecCloseIndices(target->relation);
	FreeExecutorState(target->estate);
	pfree(target->relation);
}

// A generated column is computed from no other generated one.
Bitmapset *
with_generated(Relation table, const Bitmapset *written)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	const TupleConstr *constraints = descriptor->constr;
	Bitmapset *all = bms_copy(written);
	if (constraints == nullptr || !compat::has_generated(constraints))
		return all;
	for (int i = 0; i < constraints->num_defval; i++) {
		const AttrDefault &value = constraints->defval[i];
		if (TupleDescAttr(descriptor, value.adnum - 1)->attgenerated == '\0')
			continue;
		Bitmapset *read = nullptr;
		pull_varattnos(static_cast<Node *>(stringToNode(value.adbin)), 1, &read);
		if (bms_overlap(read, written))
			all = bms_add_member(all, value.adnum - FirstLowInvalidHeapAttributeNumber);
	}
	return all;
}

// Decides as heap_update() does, but by the columns written instead of those that differ: never
// weaker.
LockTupleMode
lock_mode_for(Relation table, const Bitmapset *written)
{
	Bitmapset *keys = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_KEY);
	const bool is_key_written = bms_overlap(written, keys);
	bms_free(keys);
	return is_key_written ? LockTupleExclusive : LockTupleNoKeyExclusive;
}

void
make_room(Relation table, TupleTableSlot *row)
{
	// What the new version may need beyond the old one.
	constexpr Size growth = 64;
	const auto *slot = reinterpret_cast<const BufferHeapTupleTableSlot *>(row);
	const Size length = slot->base.tuple->t_len;
	// Read without the buffer lock, as a hint.
	const Size room = PageGetHeapFreeSpace(BufferGetPage(slot->buffer));
	if (room >= MAXALIGN(length) + growth)
		return;
	const BlockNumber block = BufferGetBlockNumber(slot->buffer);
	// Pruning moves tuples within the page.
	ExecMaterializeSlot(row);
	const Buffer buffer = ReadBuffer(table, block);
	compat::prune_page(table, buffer);
	ReleaseBuffer(buffer);
}

// Locks the version in the mode of the update, then updates it. What the update meets is this
// transaction's own lock and locks that do not conflict; heap_update() accepts these only if it is
// allowed to wait.
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
	// The update has not waited: it needed no stronger mode and found no conflicting lock.
	Assert(mode <= locked_mode && result == TM_Ok);
	return result;
}

TM_Result
update_at_once(Relation table, ItemPointer tid, const Bitmapset *written, TupleTableSlot *scratch,
			   TupleTableSlot *new_row, UpdatedIndexes *updated)
{
	// The values may point into the scratch slot, which the lock overwrites.
	ExecMaterializeSlot(new_row);
#ifndef USE_ASSERT_CHECKING
	// heap_update() asserts that an update that does not wait meets no lock. Without assertions it
	// returns TM_BeingModified, and the WAL record of the row lock is saved (doc/design-engine.md,
	// "An update that does not wait").
	TM_FailureData failure;
	LockTupleMode mode;
	const TM_Result result = compat::update_tuple(table, tid, new_row, GetCurrentCommandId(true),
												  false, &failure, &mode, updated);
	if (result != TM_BeingModified)
		return result;
#endif
	return lock_and_update(table, tid, written, scratch, new_row, updated);
}

// Opened for the first entry only: most updates are HOT and need none.
static void
open_indexes(Target *target)
{
	if (!target->has_indexes_open)
		ExecOpenIndices(target->relation, false);
	target->has_indexes_open = true;
}

// Whether an index's predicate is only IS NULL, or IS NOT NULL, on a column, and is false for the row.
static bool
is_left_out(const List *predicate, TupleTableSlot *row)
{
	if (list_length(predicate) != 1 || !IsA(linitial(predicate), NullTest))
		return false;
	const auto *test = linitial_node(NullTest, predicate);
	if (!IsA(test->arg, Var) || test->argisrow) // a row of nulls IS NULL
		return false;
	const AttrNumber column = reinterpret_cast<const Var *>(test->arg)->varattno;
	return column > 0 && slot_attisnull(row, column) != (test->nulltesttype == IS_NULL);
}

// The executor compiles the predicate of each partial index, to find that most rows of a queue have no
// entry in it: so it is told to pass over those that say so plainly. The IndexInfo is the target's own.
static void
choose_indexes(const Target *target, TupleTableSlot *row)
{
	const ResultRelInfo *relation = target->relation;
	for (int i = 0; i < relation->ri_NumIndices; i++) {
		IndexInfo *info = relation->ri_IndexRelationInfo[i];
		if (info != nullptr && info->ii_Predicate != NIL)
			info->ii_ReadyForInserts = relation->ri_IndexRelationDescs[i]->rd_index->indisready &&
									   !is_left_out(info->ii_Predicate, row);
	}
}

void
insert_new_index_entries(Target *target, TupleTableSlot *row)
{
	open_indexes(target);
	choose_indexes(target, row);
	compat::insert_new_index_tuples(target->relation, row, target->estate);
}

void
insert_index_entries(Target *target, TupleTableSlot *new_row, UpdatedIndexes updated)
{
	if (!compat::any_index(updated))
		return;
	open_indexes(target);
	choose_indexes(target, new_row);
	compat::insert_index_tuples(target->relation, new_row, target->estate, updated);
}

// The executor state is made only where the update needs entries: most updates are HOT.
void
insert_index_entries(Relation table, TupleTableSlot *new_row, UpdatedIndexes updated)
{
	if (!compat::any_index(updated))
		return;
	Target target = open_target(table);
	insert_index_entries(&target, new_row, updated);
	close_target(&target);
}

void
check_constraints(const Target *target, TupleTableSlot *row)
{
	if (RelationGetDescr(target->relation->ri_RelationDesc)->constr != nullptr)
		ExecConstraints(target->relation, row, target->estate);
}

void
check_constraints(Relation table, TupleTableSlot *row)
{
	const Target target = open_target(table);
	check_constraints(&target, row);
	close_target(&target);
}

void
insert_row(Target *target, TupleTableSlot *row)
{
	check_constraints(target, row);
	table_tuple_insert(target->relation->ri_RelationDesc, row, GetCurrentCommandId(true), 0,
					   nullptr);
	insert_new_index_entries(target, row);
	ResetPerTupleExprContext(target->estate);
}

void
replace_row(Target *target, ItemPointer tid, TupleTableSlot *row)
{
	check_constraints(target, row);
	TM_FailureData failure;
	LockTupleMode mode;
	UpdatedIndexes updated;
	const TM_Result result =
		compat::update_tuple(target->relation->ri_RelationDesc, tid, row, GetCurrentCommandId(true),
							 true, &failure, &mode, &updated);
	if (result != TM_Ok)
		elog(ERROR, "row of \"%s\" was locked, and has changed",
			 RelationGetRelationName(target->relation->ri_RelationDesc));
	insert_index_entries(target, row, updated);
	ResetPerTupleExprContext(target->estate);
}

} // namespace queue_ext::row
