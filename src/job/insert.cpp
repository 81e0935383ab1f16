// insert.cpp - see insert.hpp.

#include "../postgres.hpp"

#include "insert.hpp"

#include "../claim/choice.hpp"
#include "../claim/row_context.hpp"
#include "../claim/writer.hpp"
#include "../compat.hpp"
#include "../row/rights.hpp"
#include "../stats/transaction_counters.hpp"
#include "../wake/written.hpp"

namespace queue_ext::job {

using claim::CompiledClaim;
using claim::Defaults;
using claim::DirectClaim;
using claim::ManagedTable;
using claim::Writer;
using definition::Definition;

// How many rows are written at once, to one page if they fit.
constexpr int chunk_size = 64;

// The rights that INSERT ... RETURNING id needs.
static bool
may_insert(Oid table, const ManagedTable &managed)
{
	const AttrNumber given[] = {managed.payload, managed.priority, managed.run_at,
								managed.max_attempts};
	return row::has_right_on(table, ACL_INSERT, given, lengthof(given)) &&
		   row::has_right_on(table, ACL_SELECT, &managed.id, 1);
}

// Whether the table has that column, which not all jobs need, and the caller may give it.
static bool
may_give(Oid table, AttrNumber column)
{
	return column != InvalidAttrNumber && row::has_right_on(table, ACL_INSERT, &column, 1);
}

bool
can_insert_directly(Definition *definition, const NewJobs &jobs)
{
	const CompiledClaim *claim = claim::compiled_claim_of(definition);
	const DirectClaim *direct = claim::direct_claim(claim);
	const ManagedTable &managed = claim->managed;
	return claim::is_direct_allowed() && direct != nullptr && direct->defaults != nullptr &&
		   !claim::is_writing(definition) && may_insert(definition->source, managed) &&
		   (jobs.unique_keys == nullptr || may_give(definition->source, managed.unique_key)) &&
		   (jobs.kind == nullptr || may_give(definition->source, managed.kind)) &&
		   (!jobs.has_expiry || may_give(definition->source, managed.expires_at));
}

static void
set_value(TupleTableSlot *row, AttrNumber number, Datum value)
{
	row->tts_values[number - 1] = value;
	row->tts_isnull[number - 1] = false;
}

// Lets an error show the caller the values that it has given, whatever it may read.
static void
name_given(const Writer *writer)
{
	const ManagedTable &managed = writer->claim->managed;
	const AttrNumber given[] = {managed.payload,      managed.priority,   managed.run_at,
								managed.max_attempts, managed.unique_key, managed.kind,
								managed.expires_at};
	Bitmapset *columns = nullptr;
	for (const AttrNumber number : given)
		if (number != InvalidAttrNumber && !writer->row->tts_isnull[number - 1])
			columns = bms_add_member(columns, number - FirstLowInvalidHeapAttributeNumber);
	compat::set_inserted_columns(writer->target.estate, columns);
}

// Fills the writer's row. Raises what the executor raises for a constraint that it violates.
static void
make_row(const Writer *writer, const NewJobs &jobs, int index)
{
	const ManagedTable &managed = writer->claim->managed;
	const Defaults &defaults = *writer->claim->defaults;
	TupleTableSlot *row = writer->row;
	ExecClearTuple(row);
	memset(row->tts_isnull, true, sizeof(bool) * RelationGetDescr(writer->table)->natts);
	set_value(row, managed.payload, jobs.payloads[index]);
	set_value(row, managed.priority, Int16GetDatum(jobs.priority));
	set_value(row, managed.run_at, TimestampTzGetDatum(jobs.run_at));
	set_value(row, managed.max_attempts, Int32GetDatum(jobs.max_attempts));
	row::compute_columns(defaults.columns, defaults.count, writer->context, row);
	if (jobs.unique_keys != nullptr)
		set_value(row, managed.unique_key, jobs.unique_keys[index]);
	if (jobs.kind != nullptr)
		set_value(row, managed.kind, PointerGetDatum(jobs.kind));
	if (jobs.has_expiry)
		set_value(row, managed.expires_at, TimestampTzGetDatum(jobs.expires_at));
	ExecStoreVirtualTuple(row);
	row->tts_tableOid = RelationGetRelid(writer->table);
	if (!row::keeps_constraints(writer->claim->checks, defaults.columns, defaults.count, row,
								writer->context)) {
		name_given(writer);
		row::check_constraints(&writer->target, row);
	}
}

// Indexes and notes a row that was written, whose kind may be the column's default. Returns its id.
static int64
index_and_note(Writer *writer, const NewJobs &jobs, TupleTableSlot *row)
{
	row::insert_new_index_entries(&writer->target, row);
	bool is_null;
	const int64 id = DatumGetInt64(slot_getattr(row, writer->claim->managed.id, &is_null));
	wake::note_offer(RelationGetRelid(writer->table),
					 {row->tts_tid, jobs.priority, jobs.run_at, {id}},
					 ring::kind_in(row, writer->claim->managed.kind));
	return id;
}

// In the writer's own slot, without those of insert_many().
static void
insert_one(Writer *writer, const NewJobs &jobs, int64 *id)
{
	make_row(writer, jobs, 0);
	table_tuple_insert(writer->table, writer->row, GetCurrentCommandId(true), 0, nullptr);
	*id = index_and_note(writer, jobs, writer->row);
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
		ids[first + i] = index_and_note(writer, jobs, slots[i]);
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

static void
count_sent(Definition *definition, const NewJobs &jobs)
{
	stats::TransactionCounters *counters = stats::counters_of(definition);
	if (counters == nullptr)
		return;
	counters->counts.add(stats::Counter::sent, jobs.count);
	for (int i = 0; i < jobs.count; i++)
		stats::note_ready(counters, jobs.priority, jobs.run_at, true);
}

// The command counter is advanced as after an INSERT, so that the caller's next command sees the
// rows.
void
insert_directly(Definition *definition, const NewJobs &jobs, int64 *ids)
{
	if (jobs.count == 0)
		return;
	Writer writer =
		claim::open_writer(definition, statement::Arguments(GetCurrentTimestamp()), CMD_INSERT);
	claim::RowContext context;
	claim::begin_context(&context, definition,
						 jobs.unique_keys == nullptr ? act_of_send : act_of_unique_insert);
	if (jobs.count == 1)
		insert_one(&writer, jobs, ids);
	else
		insert_many(&writer, jobs, ids);
	claim::end_context(&context);
	close_writer(&writer);
	count_sent(definition, jobs);
	CommandCounterIncrement();
}

} // namespace queue_ext::job
