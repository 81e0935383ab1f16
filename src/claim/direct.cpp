// direct.cpp - see direct.hpp.
//
// A candidate names a place in the table. The row version there is read with
// SnapshotSelf: committed, or this transaction's own, and not yet replaced. If it is
// pending by the compiled expression, the claim is written over it at once, without
// a lock first and without waiting: heap_update() refuses a version that somebody
// has changed or locked meanwhile, and that is the end of the candidate. So a stale
// place can at worst name another pending row, which is then claimed as well as any.

#include "../postgres.hpp"

#include "direct.hpp"

#include "../error.hpp"
#include "../row/write.hpp"
#include "claim_text.hpp"
#include "filler.hpp"
#include "program.hpp"
#include "undo.hpp"

namespace queue_ext::claim {

using queue::Definition;
using queue::Parameter;

bool
can_claim_directly(Definition *definition)
{
	return program_of(definition)->is_direct && !has_wakes(ring_of(definition)) &&
		   pg_class_aclmask(definition->source, GetUserId(), ACL_SELECT | ACL_UPDATE,
							ACLMASK_ALL) == (ACL_SELECT | ACL_UPDATE);
}

// What one call needs to write rows.
struct Writer
{
	const Program *program;
	Relation table;
	row::Target target;
	ExprContext *context;
	TupleTableSlot *old_row;
	TupleTableSlot *new_row;
	TupleConversionMap *map; // to the result's shape; null where they are alike
	TupleTableSlot *result;
};

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

static TimestampTz
lease_end(const Definition *definition, const Request &request)
{
	const Interval *lease = queue::lease_of(definition, request.lease);
	return DatumGetTimestampTz(DirectFunctionCall2(
		timestamptz_pl_interval, TimestampTzGetDatum(request.call_time), IntervalPGetDatum(lease)));
}

static Writer
open_writer(Definition *definition, const Request &request, const Output &output)
{
	Writer writer{};
	writer.program = program_of(definition);
	writer.table = table_open(definition->source, NoLock);
	CheckCmdReplicaIdentity(writer.table, CMD_UPDATE);
	writer.target = row::open_target(writer.table);
	writer.context = GetPerTupleExprContext(writer.target.estate);
	writer.context->ecxt_param_list_info = make_parameters(arguments_for(definition, request));

	writer.old_row = table_slot_create(writer.table, nullptr);
	writer.new_row = table_slot_create(writer.table, nullptr);
	writer.map = convert_tuples_by_name(RelationGetDescr(writer.table), output.descriptor);
	if (writer.map != nullptr)
		writer.result = MakeSingleTupleTableSlot(output.descriptor, &TTSOpsVirtual);
	return writer;
}

static void
close_writer(Writer *writer)
{
	if (writer->result != nullptr)
		ExecDropSingleTupleTableSlot(writer->result);
	ExecDropSingleTupleTableSlot(writer->new_row);
	ExecDropSingleTupleTableSlot(writer->old_row);
	row::close_target(&writer->target);
	table_close(writer->table, NoLock);
}

static bool
is_pending(const Writer *writer, TupleTableSlot *row)
{
	writer->context->ecxt_scantuple = row;
	return ExecQual(writer->program->pending, writer->context);
}

// Raises what the executor does where a constraint does not hold.
static void
check_constraints(const Writer *writer)
{
	bool holds = true;
	for (int i = 0; i < writer->program->column_count && holds; i++) {
		const ColumnValue &column = writer->program->columns[i];
		holds = !column.not_null || !writer->new_row->tts_isnull[column.number - 1];
	}
	if (!holds || !row::satisfies(writer->program->checks, writer->new_row, writer->context))
		ExecConstraints(writer->target.relation, writer->new_row, writer->target.estate);
}

// The row as on_claim makes it.
static void
make_new_row(const Writer *writer)
{
	TupleTableSlot *row = writer->new_row;
	const int width = RelationGetDescr(writer->table)->natts;
	slot_getallattrs(writer->old_row);
	ExecClearTuple(row);
	memcpy(row->tts_values, writer->old_row->tts_values, sizeof(Datum) * width);
	memcpy(row->tts_isnull, writer->old_row->tts_isnull, sizeof(bool) * width);
	for (int i = 0; i < width; i++)
		if (TupleDescAttr(RelationGetDescr(writer->table), i)->attisdropped)
			row->tts_isnull[i] = true;
	writer->context->ecxt_scantuple = writer->old_row;
	for (int i = 0; i < writer->program->column_count; i++) {
		const ColumnValue &column = writer->program->columns[i];
		const int index = column.number - 1;
		row->tts_values[index] =
			ExecEvalExprSwitchContext(column.value, writer->context, &row->tts_isnull[index]);
	}
	ExecStoreVirtualTuple(row);
	row->tts_tableOid = RelationGetRelid(writer->table);
	check_constraints(writer);
}

static void
put(const Writer *writer, const Output &output)
{
	TupleTableSlot *row = writer->new_row;
	if (writer->map != nullptr)
		row = execute_attr_map_slot(writer->map->attrMap, row, writer->result);
	tuplestore_puttupleslot(output.store, row);
}

// Tries one candidate; true if it was won. Counts what came of it.
static bool
try_claim(Writer *writer, Definition *definition, ItemPointer place, const Output &output,
		  RingCounters *counters)
{
	ResetExprContext(writer->context);
	if (!table_tuple_fetch_row_version(writer->table, place, SnapshotSelf, writer->old_row)) {
		counters->gone++;
		return false;
	}
	if (!is_pending(writer, writer->old_row)) {
		counters->not_pending++;
		return false;
	}
	make_new_row(writer);
	compat::UpdatedIndexes updated;
	const TM_Result result =
		row::update_at_once(writer->table, place, writer->old_row, writer->new_row, &updated);
	if (result != TM_Ok) {
		counters->locked++;
		return false;
	}
	row::insert_index_entries(&writer->target, writer->new_row, updated);
	if (is_pending(writer, writer->new_row))
		error::still_pending(definition->name, definition->fragments.pending,
							 definition->fragments.on_claim);
	put(writer, output);
	counters->claims++;
	return true;
}

// Tries the candidates; returns how many were won.
static int
try_all(Writer *writer, Definition *definition, Ring *ring, const Request &request,
		ItemPointer places, const Taken &taken, const Output &output)
{
	RingCounters counters{};
	int won = 0;
	// Noted first: should this call fail, the candidates go back.
	note_claims(ring, writer->program->key, places, taken.count, taken.number);
	for (int i = 0; i < taken.count; i++) {
		CHECK_FOR_INTERRUPTS();
		won += try_claim(writer, definition, &places[i], output, &counters);
	}
	const TimestampTz leased_until =
		won > 0 && definition->is_managed ? lease_end(definition, request) : PG_INT64_MAX;
	add(ring, writer->program->key, counters, leased_until);
	return won;
}

// Claims from the ring until there are enough, or nothing is pending. False when the
// ring cannot tell: it was taken for another queue, or what two sweeps found could
// not be had.
static bool
drain(Writer *writer, Definition *definition, const Request &request, const Output &output,
	  uint64 *claimed)
{
	constexpr int run_length = 64;
	constexpr int most_futile = 2;
	ItemPointerData places[run_length];
	Ring *ring = ring_of(definition);
	const auto wanted = static_cast<uint64>(request.max_jobs);
	int futile = 0;
	while (*claimed < wanted) {
		CHECK_FOR_INTERRUPTS();
		const int asked = static_cast<int>(Min(wanted - *claimed, static_cast<uint64>(run_length)));
		const Taken taken = take(ring, writer->program->key, request.call_time, asked, places);
		if (taken.is_foreign)
			return false;
		if (taken.count > 0) {
			const int won = try_all(writer, definition, ring, request, places, taken, output);
			*claimed += won;
			if (won > 0)
				futile = 0;
			if (taken.is_low)
				fill_ahead(definition, ring, request);
			continue;
		}
		if (futile++ == most_futile)
			return false;
		switch (fill_or_wait(definition, ring, request)) {
			case Filled::nothing:
				return true;
			case Filled::foreign:
				return false;
			case Filled::some:
				break;
		}
	}
	return true;
}

uint64
claim_direct(Definition *definition, const Request &request, const Output &output)
{
	uint64 claimed = 0;
	// What this command has written so far is to be seen, and may be written over.
	CommandCounterIncrement();
	Writer writer = open_writer(definition, request, output);
	const bool is_settled = drain(&writer, definition, request, output, &claimed);
	close_writer(&writer);
	if (claimed > 0)
		CommandCounterIncrement();
	if (!is_settled) {
		// The ring may have been given away: next time, ask for it anew.
		definition->program->ring = nullptr;
		Request rest = request;
		rest.max_jobs -= static_cast<int>(claimed);
		claimed += claim_portable(definition, rest, output);
	}
	if (claimed == 0) {
		RingCounters counters{};
		counters.empty_pops = 1;
		Ring *ring = ring_of(definition);
		add(ring, program_of(definition)->key, counters, PG_INT64_MAX);
	}
	return claimed;
}

void
wake_at_commit(Definition *definition)
{
	Ring *ring = ring_of(definition);
	if (ring != nullptr)
		note_wake(ring, program_of(definition)->key);
}

void
wake_at_commit(Definition *definition, int32 priority, TimestampTz run_at)
{
	Ring *ring = ring_of(definition);
	if (ring != nullptr)
		note_wake_before(ring, program_of(definition)->key, priority, run_at);
}

void
expect_at_commit(Definition *definition, TimestampTz due)
{
	Ring *ring = ring_of(definition);
	if (ring != nullptr)
		note_due(ring, program_of(definition)->key, due);
}

} // namespace queue_ext::claim
