// computed.cpp - see computed.hpp.

#include "../postgres.hpp"

#include "computed.hpp"

#include "../array.hpp"

namespace queue_ext::row {

const char *
prepare_columns(const List *targets, Relation table, MemoryContext context, ColumnValue **columns,
				int *count)
{
	const TupleDesc descriptor = copy_columns(table);
	*columns = allocate_in<ColumnValue>(context, list_length(targets));
	*count = 0;
	ListCell *cell;
	foreach (cell, targets) {
		const auto *target = lfirst_node(TargetEntry, cell);
		auto *expression = reinterpret_cast<Node *>(target->expr);
		ExprState *value = prepare_expression(expression, context);
		if (value == nullptr)
			return find_involved(expression);
		(*columns)[(*count)++] = {target->resno, value,
								  TupleDescAttr(descriptor, target->resno - 1)->attnotnull};
	}
	return nullptr;
}

void
compute_columns(const ColumnValue *columns, int count, ExprContext *context, TupleTableSlot *row)
{
	for (int i = 0; i < count; i++) {
		const int index = columns[i].number - 1;
		row->tts_values[index] =
			ExecEvalExprSwitchContext(columns[i].value, context, &row->tts_isnull[index]);
	}
}

void
compute_new_version(Relation table, TupleTableSlot *old_row, const ColumnValue *columns, int count,
					ExprContext *context, TupleTableSlot *new_row)
{
	const TupleDesc descriptor = RelationGetDescr(table);
	slot_getallattrs(old_row);
	ExecClearTuple(new_row);
	memcpy(new_row->tts_values, old_row->tts_values, sizeof(Datum) * descriptor->natts);
	memcpy(new_row->tts_isnull, old_row->tts_isnull, sizeof(bool) * descriptor->natts);
	for (int i = 0; i < descriptor->natts; i++)
		if (TupleDescAttr(descriptor, i)->attisdropped)
			new_row->tts_isnull[i] = true;
	context->ecxt_scantuple = old_row;
	compute_columns(columns, count, context, new_row);
	ExecStoreVirtualTuple(new_row);
	new_row->tts_tableOid = RelationGetRelid(table);
}

bool
keeps_constraints(const Checks &checks, const ColumnValue *columns, int count, TupleTableSlot *row,
				  ExprContext *context)
{
	for (int i = 0; i < count; i++)
		if (columns[i].not_null && row->tts_isnull[columns[i].number - 1])
			return false;
	return satisfies(checks, row, context);
}

} // namespace queue_ext::row
