// writer.cpp - see writer.hpp.

#include "../postgres.hpp"

#include "writer.hpp"

#include "pending_clock.hpp"

namespace queue_ext::claim {

using ring::DueRow;
using statement::Parameter;

ParamListInfo
make_parameters(const statement::Arguments &arguments)
{
	ParamListInfo list = makeParamList(statement::parameter_count);
	for (int i = 0; i < statement::parameter_count; i++) {
		list->params[i].value = arguments.values[i];
		list->params[i].isnull = arguments.nulls[i] != ' ';
		list->params[i].pflags = PARAM_FLAG_CONST;
		list->params[i].ptype = statement::parameter_type(static_cast<Parameter>(i));
	}
	return list;
}

bool
is_writing(const definition::Definition *definition)
{
	return row::is_in_use(&claim_of(definition)->use);
}

// The expressions are in use until close_writer(), or until the rollback after an ERROR.
void
set_clock(const ExprContext *context, TimestampTz call_time)
{
	ParamExternData *parameter =
		&context->ecxt_param_list_info->params[static_cast<int>(Parameter::call_time)];
	parameter->value = TimestampTzGetDatum(call_time);
}

// What the first evaluation of a whole-row variable keeps in that memory must live as long as the
// expression.
static void
prepare_evaluation(ExprContext *context, const CompiledClaim *claim,
				   const statement::Arguments &arguments)
{
	context->ecxt_param_list_info = make_parameters(arguments);
	context->ecxt_per_query_memory = claim->context;
}

ExprContext *
make_evaluation(const CompiledClaim *claim, const statement::Arguments &arguments)
{
	ExprContext *context = CreateStandaloneExprContext();
	prepare_evaluation(context, claim, arguments);
	return context;
}

bool
is_pending(const RingClaim *claim, ExprContext *context, TupleTableSlot *row)
{
	context->ecxt_scantuple = row;
	return ExecQual(claim->pending, context);
}

DueRow
due_row_of(const RingClaim *claim, ExprContext *context, TupleTableSlot *row, TransactionId writer)
{
	context->ecxt_scantuple = row;
	bool is_null;
	const Datum due = ExecEvalExprSwitchContext(claim->due->state, context, &is_null);
	const TimestampTz when = is_null ? PG_INT64_MIN : DatumGetTimestampTz(due);
	return {ring::attached_candidate(row->tts_tid, writer, claim->key.table),
			when < never_due ? when : PG_INT64_MAX};
}

Writer
open_writer(definition::Definition *definition, const statement::Arguments &arguments,
			CmdType command)
{
	Writer writer{};
	writer.claim = direct_claim(claim_of(definition));
	writer.use = &claim_of(definition)->use;
	writer.table = table_open(definition->source, NoLock);
	CheckCmdReplicaIdentity(writer.table, command);
	writer.target = row::open_target(writer.table);
	writer.context = GetPerTupleExprContext(writer.target.estate);
	prepare_evaluation(writer.context, writer.claim, arguments);
	writer.row = table_slot_create(writer.table, nullptr);
	row::begin_use(writer.use);
	return writer;
}

void
close_writer(Writer *writer)
{
	row::end_use(writer->use);
	ExecDropSingleTupleTableSlot(writer->row);
	row::close_target(&writer->target);
	table_close(writer->table, NoLock);
}

} // namespace queue_ext::claim
