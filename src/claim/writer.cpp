// writer.cpp - see writer.hpp.

#include "../postgres.hpp"

#include "writer.hpp"

namespace queue_ext::claim {

using queue::Parameter;

bool
has_rights(Oid table, AclMode rights)
{
	return pg_class_aclmask(table, GetUserId(), rights, ACLMASK_ALL) == rights;
}

// The variables that the expressions may have, in the numbering of Parameter.
static ParamListInfo
make_parameters(const queue::Arguments &arguments)
{
	ParamListInfo list = makeParamList(queue::parameter_count);
	for (int i = 0; i < queue::parameter_count; i++) {
		list->params[i].value = arguments.values[i];
		list->params[i].isnull = arguments.nulls[i] != ' ';
		list->params[i].pflags = PARAM_FLAG_CONST;
		list->params[i].ptype = queue::parameter_type(static_cast<Parameter>(i));
	}
	return list;
}

Writer
open_writer(const Program *program, const queue::Arguments &arguments, CmdType command)
{
	// The server's part of this struct may be longer than the one we were built
	// with.
	constexpr size_t slack = 128;
	Writer writer{};
	writer.program = program;
	writer.table = table_open(program->key.table, NoLock);
	CheckCmdReplicaIdentity(writer.table, command);
	writer.estate = CreateExecutorState();
	writer.context = GetPerTupleExprContext(writer.estate);
	writer.context->ecxt_param_list_info = make_parameters(arguments);

	RangeTblEntry *entry = makeNode(RangeTblEntry);
	entry->rtekind = RTE_RELATION;
	entry->relid = program->key.table;
	entry->relkind = writer.table->rd_rel->relkind;
	entry->rellockmode = RowExclusiveLock;
	compat::init_range_table(writer.estate, entry);
	writer.target = static_cast<ResultRelInfo *>(palloc0(sizeof(ResultRelInfo) + slack));
	NodeSetTag(writer.target, T_ResultRelInfo);
	InitResultRelInfo(writer.target, writer.table, 1, nullptr, 0);
	writer.row = table_slot_create(writer.table, nullptr);
	return writer;
}

void
close_writer(Writer *writer)
{
	if (writer->has_indexes_open)
		ExecCloseIndices(writer->target);
	ExecDropSingleTupleTableSlot(writer->row);
	FreeExecutorState(writer->estate);
	table_close(writer->table, NoLock);
}

void
check_constraints(const Writer *writer, const ColumnValue *columns, int count)
{
	bool holds = true;
	for (int i = 0; i < count && holds; i++)
		holds = !columns[i].not_null || !writer->row->tts_isnull[columns[i].number - 1];
	writer->context->ecxt_scantuple = writer->row;
	for (int i = 0; i < writer->program->check_count && holds; i++)
		holds = ExecCheck(writer->program->checks[i], writer->context);
	if (!holds)
		ExecConstraints(writer->target, writer->row, writer->estate);
}

static void
open_indexes(Writer *writer)
{
	if (!writer->has_indexes_open)
		ExecOpenIndices(writer->target, false);
	writer->has_indexes_open = true;
}

void
index_new_row(Writer *writer, TupleTableSlot *row)
{
	open_indexes(writer);
	compat::insert_new_index_tuples(writer->target, row, writer->estate);
}

void
index_updated_row(Writer *writer, compat::UpdatedIndexes updated)
{
	if (!compat::any_index(updated))
		return;
	open_indexes(writer);
	compat::insert_index_tuples(writer->target, writer->row, writer->estate, updated);
}

} // namespace queue_ext::claim
