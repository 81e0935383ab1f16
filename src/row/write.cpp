// write.cpp - see write.hpp.

#include "../postgres.hpp"

#include "write.hpp"

namespace queue_ext::row {

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

TM_Result
update_at_once(Relation table, ItemPointer place, TupleTableSlot *scratch, TupleTableSlot *new_row,
			   compat::UpdatedIndexes *updated)
{
	TM_FailureData failure;
	LockTupleMode mode;
	const CommandId command = GetCurrentCommandId(true);
	TM_Result result =
		compat::update_tuple(table, place, new_row, command, false, &failure, &mode, updated);
	if (result != TM_BeingModified)
		return result;
	// A foreign key's check has locked the key, which is not in our way; but that
	// is told only by trying.
	result = table_tuple_lock(table, place, SnapshotSelf, scratch, command, LockTupleNoKeyExclusive,
							  LockWaitSkip, 0, &failure);
	if (result != TM_Ok)
		return TM_WouldBlock;
	return compat::update_tuple(table, place, new_row, command, true, &failure, &mode, updated);
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
insert_index_entries(Target *target, TupleTableSlot *new_row, compat::UpdatedIndexes updated)
{
	if (!compat::any_index(updated))
		return;
	open_indexes(target);
	compat::insert_index_tuples(target->relation, new_row, target->estate, updated);
}

} // namespace queue_ext::row
