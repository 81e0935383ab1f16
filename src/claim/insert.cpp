// insert.cpp - see insert.hpp.

#include "../postgres.hpp"

#include "insert.hpp"

#include "../row/rights.hpp"
#include "claim.hpp"
#include "undo.hpp"
#include "writer.hpp"

namespace queue_ext::claim {

using queue::Definition;

// So many rows are written at once, to one page if they fit.
constexpr int chunk_size = 64;

bool
can_insert_directly(Definition *definition)
{
	return is_direct_allowed() && program_of(definition)->can_insert &&
		   row::has_rights(definition->source, ACL_INSERT | ACL_SELECT);
}

bool
can_insert_keyed_directly(Definition *definition)
{
	return can_insert_directly(definition) &&
		   program_of(definition)->unique_key != InvalidAttrNumber;
}

static void
set_value(TupleTableSlot *row, AttrNumber number, Datum value)
{
	row->tts_values[number - 1] = value;
	row->tts_isnull[number - 1] = false;
}

// Fills the writer's row.
static void
make_row(const Writer *writer, const NewJobs &jobs, int index)
{
	const Program *program = writer->program;
	TupleTableSlot *row = writer->row;
	ExecClearTuple(row);
	memset(row->tts_isnull, true, sizeof(bool) * RelationGetDescr(writer->table)->natts);
	set_value(row, program->payload, jobs.payloads[index]);
	set_value(row, program->priority, Int16GetDatum(jobs.priority));
	set_value(row, program->run_at, TimestampTzGetDatum(jobs.run_at));
	set_value(row, program->max_attempts, Int32GetDatum(jobs.max_attempts));
	for (int i = 0; i < program->default_count; i++) {
		const ColumnValue &column = program->defaults[i];
		row->tts_values[column.number - 1] = ExecEvalExprSwitchContext(
			column.value, writer->context, &row->tts_isnull[column.number - 1]);
	}
	if (jobs.unique_keys != nullptr)
		set_value(row, program->unique_key, jobs.unique_keys[index]);
	ExecStoreVirtualTuple(row);
	row->tts_tableOid = RelationGetRelid(writer->table);
	check_constraints(writer, program->defaults, program->default_count);
}

// The row has been written: enters it into the indexes and notes it. Returns its id.
static int64
settle(Writer *writer, const NewJobs &jobs, TupleTableSlot *row)
{
	index_new_row(writer, row);
	const int64 id = DatumGetInt64(row->tts_values[writer->program->id - 1]);
	note_offer(RelationGetRelid(writer->table), {row->tts_tid, jobs.priority, jobs.run_at, {id}});
	return id;
}

static void
insert_one(Writer *writer, const NewJobs &jobs, int64 *id)
{
	make_row(writer, jobs, 0);
	table_tuple_insert(writer->table, writer->row, GetCurrentCommandId(true), 0, nullptr);
	*id = settle(writer, jobs, writer->row);
}

// Writes the jobs from first on, through these slots.
static void
insert_chunk(Writer *writer, const NewJobs &jobs, int first, int count, TupleTableSlot **slots,
			 int64 *ids)
{
	TupleTableSlot *own = writer->row;
	ResetExprContext(writer->context);
	for (int i = 0; i < count; i++) {
		writer->row = slots[i];
		make_row(writer, jobs, first + i);
	}
	writer->row = own;
	table_multi_insert(writer->table, slots, count, GetCurrentCommandId(true), 0, nullptr);
	for (int i = 0; i < count; i++)
		ids[first + i] = settle(writer, jobs, slots[i]);
}

static void
insert_many(Writer *writer, const NewJobs &jobs, int64 *ids)
{
	TupleTableSlot *slots[chunk_size];
	const int slot_count = Min(jobs.count, chunk_size);
	for (int i = 0; i < slot_count; i++)
		slots[i] = table_slot_create(writer->table, nullptr);
	for (int first = 0; first < jobs.count; first += chunk_size) {
		CHECK_FOR_INTERRUPTS();
		insert_chunk(writer, jobs, first, Min(chunk_size, jobs.count - first), slots, ids);
	}
	for (int i = 0; i < slot_count; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
}

void
insert_directly(Definition *definition, const NewJobs &jobs, int64 *ids)
{
	if (jobs.count == 0)
		return;
	Writer writer =
		open_writer(program_of(definition), queue::Arguments(GetCurrentTimestamp()), CMD_INSERT);
	if (jobs.count == 1)
		insert_one(&writer, jobs, ids);
	else
		insert_many(&writer, jobs, ids);
	close_writer(&writer);
	CommandCounterIncrement();
}

} // namespace queue_ext::claim
