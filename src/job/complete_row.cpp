// complete_row.cpp - see complete_row.hpp.

#include "../postgres.hpp"

#include "complete_row.hpp"

#include "../array.hpp"
#include "../catalog/kept.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/row_key.hpp"
#include "../claim/choice.hpp"
#include "../claim/fired_triggers.hpp"
#include "../claim/row_context.hpp"
#include "../claim/writer.hpp"
#include "../definition/compiled.hpp"
#include "../ring/probe.hpp"
#include "../row/rights.hpp"
#include "../row/write.hpp"
#include "../wake/trigger.hpp"
#include "../wake/written.hpp"
#include "job.hpp"
#include "locate.hpp"

namespace queue_ext::job {

using definition::ClaimMode;
using definition::Compiled;
using definition::Definition;
using ring::DueRow;
using ring::Version;
using statement::Row;

namespace {

// What the direct path knows of on_complete; incomplete where is_direct is false.
struct Completion
{
	MemoryContext context; // holds this struct and all it points to
	bool is_direct;
	bool deletes;         // on_complete is null
	bool has_foreign_key; // of columns that on_complete does not write
	bool fires_wake;      // the table has our trigger, which the statement would fire
	int column_count;     // of those that on_complete writes
	row::ColumnValue *columns;
	row::Checks checks;
	Oid index; // of the receipt's key
	int key_count;
	AttrNumber *key_columns;
	ScanKeyData *keys; // without the values
	int fence_count;   // of the columns that on_claim wrote, in mode update
	AttrNumber *fence;
	ExprContext *evaluation; // one call at a time uses it (claim::CompiledClaim::use)
};

struct CompletionKept
{
	static constexpr definition::Layer layer = definition::Layer::job;
	Completion *completion; // null until it is needed
};

} // namespace

static Bitmapset *
written_by(const Completion *completion)
{
	Bitmapset *columns = nullptr;
	for (int i = 0; i < completion->column_count; i++)
		columns = bms_add_member(columns, completion->columns[i].number -
											  FirstLowInvalidHeapAttributeNumber);
	return columns;
}

// The columns of a row key stand in the order of its index.
static void
add_key(Completion *completion, const catalog::RowKey &key)
{
	completion->index = key.index;
	completion->key_count = key.length;
	completion->key_columns = allocate_in<AttrNumber>(completion->context, key.length);
	completion->keys = allocate_in<ScanKeyData>(completion->context, key.length);
	Relation index = index_open(key.index, AccessShareLock);
	// The scan keys have what their functions remember there.
	MemoryContext old = MemoryContextSwitchTo(completion->context);
	for (int i = 0; i < key.length; i++) {
		completion->key_columns[i] = key.columns[i].number;
		ScanKeyEntryInitialize(&completion->keys[i], 0, static_cast<AttrNumber>(i + 1),
							   BTEqualStrategyNumber, InvalidOid, index->rd_indcollation[i],
							   get_opcode(key.columns[i].equality_operator), static_cast<Datum>(0));
	}
	MemoryContextSwitchTo(old);
	index_close(index, AccessShareLock);
}

static void
add_fence(Completion *completion, const Bitmapset *written)
{
	completion->fence = allocate_in<AttrNumber>(completion->context, bms_num_members(written));
	int member = -1;
	while ((member = bms_next_member(written, member)) >= 0)
		completion->fence[completion->fence_count++] =
			static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber);
}

// Returns whether completions can be direct; where not, what comes after is not filled in.
static bool
fill_in(Completion *completion, Definition *definition, const Compiled &compiled, Relation table)
{
	// A managed queue's jobs are removed (remove.hpp).
	if (definition->is_managed || !row::is_plain(table) || !compiled.receipt_key.has_key())
		return false;
	completion->deletes = compiled.on_complete == nullptr;
	if (completion->deletes && claim::find_trigger(table, TRIGGER_TYPE_DELETE, nullptr) != nullptr)
		return false;
	if (!completion->deletes) {
		catalog::depend_on_checks(&definition->dependent, table);
		if (row::prepare_columns(compiled.completion, table, completion->context,
								 &completion->columns, &completion->column_count) != nullptr ||
			!row::prepare_checks(table, &completion->checks, completion->context) ||
			claim::find_trigger(table, TRIGGER_TYPE_UPDATE, written_by(completion)) != nullptr)
			return false;
		completion->has_foreign_key = RelationGetFKeyList(table) != NIL;
		// Disabled or not: if in doubt, the queue is swept.
		completion->fires_wake = wake::find_wake_trigger(table) != nullptr;
	}
	add_key(completion, compiled.receipt_key);
	if (definition->claim_mode == ClaimMode::update)
		add_fence(completion, compiled.written);
	MemoryContext old = MemoryContextSwitchTo(completion->context);
	completion->evaluation = CreateStandaloneExprContext();
	MemoryContextSwitchTo(old);
	return true;
}

// What completion_of() has made.
static const Completion *
known_completion_of(const Definition *definition)
{
	return definition::known_beside<CompletionKept>(definition)->completion;
}

// The definition's completion, made when first asked for; the compiled claim, too, which depends on the table's triggers.
static const Completion *
completion_of(Definition *definition)
{
	auto *kept = definition::beside<CompletionKept>(definition);
	if (kept->completion != nullptr)
		return kept->completion;
	const Compiled &compiled = definition::compiled_of(definition);
	(void) claim::compiled_claim_of(definition);
	Completion *completion = nullptr;
	catalog::make_kept("queue_ext completion", definition->context, [&](MemoryContext context) {
		completion = static_cast<Completion *>(MemoryContextAllocZero(context, sizeof(Completion)));
		completion->context = context;
		catalog::make_dependent(&definition->dependent, [&] {
			Relation table = table_open(definition->source, AccessShareLock);
			completion->is_direct = fill_in(completion, definition, compiled, table);
			table_close(table, AccessShareLock);
		});
	});
	kept->completion = completion;
	definition::note_growth(definition);
	return completion;
}

// Not within another evaluation of the same expressions. In the lock modes the row key is evaluated
// without a statement, too.
bool
can_complete_directly(Definition *definition)
{
	if (!claim::is_direct_allowed())
		return false;
	const Completion *completion = completion_of(definition);
	const claim::DirectClaim *claim = claim::direct_claim(claim::compiled_claim_of(definition));
	return completion->is_direct && !claim::is_writing(definition) &&
		   (definition->claim_mode == ClaimMode::update ||
			(claim != nullptr && claim->row_key != nullptr)) &&
		   row::has_rights(definition->source,
						   ACL_SELECT | (completion->deletes ? ACL_DELETE : ACL_UPDATE));
}

// Runs body() while it may evaluate the expressions of the definition.
template <typename Body>
static void
with_expressions(Definition *definition, Body &&body)
{
	row::with_use(&claim::claim_of(definition)->use, [&] {
		ResetExprContext(known_completion_of(definition)->evaluation);
		body();
	});
}

char *
row_key_of_receipt(Definition *definition, const Row &job)
{
	Relation table = table_open(definition->source, NoLock);
	HeapTupleData tuple = statement::tuple_of(job.value);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(&tuple, slot, false);
	ExprContext *evaluation = known_completion_of(definition)->evaluation;
	char *row_key = nullptr;
	with_expressions(definition, [&] {
		evaluation->ecxt_scantuple = slot;
		bool is_null;
		const Datum value = ExecEvalExprSwitchContext(
			claim::direct_claim(claim::claim_of(definition))->row_key, evaluation, &is_null);
		if (!is_null)
			row_key = TextDatumGetCString(value);
	});
	ExecDropSingleTupleTableSlot(slot);
	table_close(table, NoLock);
	return row_key;
}

namespace {

// The state of one call.
struct Completer
{
	const Definition *definition;
	const Completion *completion;
	Locator locator;
	ScanKey keys;
	Datum *fence; // the receipt's values of the columns that the claim wrote
	bool *fence_nulls;
	TupleTableSlot *new_row;
	Version replaced; // the version completed
};

} // namespace

// Takes the values of the key and of the fence from the receipt. False if a value of the key is
// null: no row equals it.
static bool
read_receipt(Completer *completer, const Row &job)
{
	const Completion *completion = completer->completion;
	const TupleDesc descriptor = RelationGetDescr(completer->locator.table);
	HeapTupleData tuple = statement::tuple_of(job.value);
	completer->keys = static_cast<ScanKey>(palloc(sizeof(ScanKeyData) * completion->key_count));
	memcpy(completer->keys, completion->keys, sizeof(ScanKeyData) * completion->key_count);
	for (int i = 0; i < completion->key_count; i++) {
		// What the comparison remembers ends with the call, as the copy does.
		completer->keys[i].sk_func.fn_mcxt = CurrentMemoryContext;
		bool is_null;
		completer->keys[i].sk_argument =
			heap_getattr(&tuple, completion->key_columns[i], descriptor, &is_null);
		if (is_null)
			return false;
	}
	completer->fence = static_cast<Datum *>(palloc(sizeof(Datum) * (completion->fence_count + 1)));
	completer->fence_nulls =
		static_cast<bool *>(palloc(sizeof(bool) * (completion->fence_count + 1)));
	for (int i = 0; i < completion->fence_count; i++)
		completer->fence[i] =
			heap_getattr(&tuple, completion->fence[i], descriptor, &completer->fence_nulls[i]);
	return true;
}

// Whether the columns that the claim wrote are as in the receipt, byte by byte, as the operator *=
// compares them.
static bool
is_good(const Completer *completer)
{
	const Completion *completion = completer->completion;
	const TupleDesc descriptor = RelationGetDescr(completer->locator.table);
	for (int i = 0; i < completion->fence_count; i++) {
		const AttrNumber number = completion->fence[i];
		const Form_pg_attribute attribute = TupleDescAttr(descriptor, number - 1);
		bool is_null;
		const Datum value = slot_getattr(completer->locator.row, number, &is_null);
		if (is_null != completer->fence_nulls[i])
			return false;
		if (!is_null &&
			!datum_image_eq(value, completer->fence[i], attribute->attbyval, attribute->attlen))
			return false;
	}
	return true;
}

// Computes the new version by on_complete. Raises what the executor raises for a constraint that it
// violates.
static void
make_new_row(const Completer *completer)
{
	const Completion *completion = completer->completion;
	Relation table = completer->locator.table;
	TupleTableSlot *row = completer->new_row;
	row::compute_new_version(table, completer->locator.row, completion->columns,
							 completion->column_count, completion->evaluation, row);
	if (!row::keeps_constraints(completion->checks, completion->columns, completion->column_count,
								row, completion->evaluation))
		row::check_constraints(table, row);
	// The values may point into the old row, which pruning its page would materialize anew.
	ExecMaterializeSlot(row);
}

// The header of a row in a buffer.
static HeapTupleHeader
header_of(const TupleTableSlot *row)
{
	return reinterpret_cast<const BufferHeapTupleTableSlot *>(row)->base.tuple->t_data;
}

// Whether a statement must write, as the executor checks foreign keys again when a version that
// this transaction has written is replaced.
static bool
needs_foreign_key_check(const Completer *completer)
{
	return completer->completion->has_foreign_key &&
		   TransactionIdIsCurrentTransactionId(
			   HeapTupleHeaderGetXmin(header_of(completer->locator.row)));
}

// The next pop reads the row, and expects it.
static void
note_to_come(const Completer *completer)
{
	const claim::RingClaim *claim = claim::ring_claim_of(completer->definition);
	const TransactionId writer = GetCurrentTransactionId();
	const DueRow row =
		due_row_of(claim, completer->completion->evaluation, completer->new_row, writer);
	if (row.due != PG_INT64_MAX)
		wake::note_version(claim->key.table, {row.candidate.tid, writer});
}

// Whether the new version may be pending. It is asked only where claims rely on the trigger.
static bool
leaves_it_pending(const Completer *completer)
{
	if (!claim::claim_of(completer->definition)->has_wake_trigger)
		return true;
	const claim::RingClaim *claim = claim::ring_claim_of(completer->definition);
	return claim->pending == nullptr ||
		   is_pending(claim, completer->completion->evaluation, completer->new_row);
}

// Notes what the trigger would: that rows of the table may be claimable, unless the new version is
// known not to be. Another queue may be on the table.
static void
note_completed(const Completer *completer)
{
	const Completion *completion = completer->completion;
	wake::note_replaced(completer->definition->source, completer->replaced);
	if (!completion->fires_wake)
		return;
	if (leaves_it_pending(completer))
		wake::note_wake(completer->definition->source);
	else if (claim::ring_claim_of(completer->definition)->due != nullptr)
		note_to_come(completer);
}

// Writes over the version found. *needs_statement: user-defined code has run in between, and may
// have written the row.
static TM_Result
update(const Completer *completer, bool *needs_statement)
{
	Relation table = completer->locator.table;
	ItemPointerData tid = completer->locator.row->tts_tid;
	const CommandId command = GetCurrentCommandId(false);
	make_new_row(completer);
	*needs_statement = GetCurrentCommandId(false) != command;
	if (*needs_statement)
		return TM_Ok;
	row::make_room(table, completer->locator.row);
	TM_FailureData failure;
	LockTupleMode mode;
	compat::UpdatedIndexes updated;
	const TM_Result result = ring::measured("update to complete", [&] {
		return compat::update_tuple(table, &tid, completer->new_row, GetCurrentCommandId(true),
									true, &failure, &mode, &updated);
	});
	if (result == TM_Ok)
		row::insert_index_entries(table, completer->new_row, updated);
	return result;
}

static TM_Result
write(const Completer *completer, Snapshot snapshot, bool *needs_statement)
{
	if (!completer->completion->deletes)
		return update(completer, needs_statement);
	TM_FailureData failure;
	return ring::measured("delete", [&] {
		return compat::delete_tuple(completer->locator.table, &completer->locator.row->tts_tid,
									GetCurrentCommandId(true), snapshot, true, &failure);
	});
}

static Version
version_of(const TupleTableSlot *row)
{
	return {row->tts_tid, HeapTupleHeaderGetRawXmin(header_of(row))};
}

// Tries until the row stands still. A row that this command has written counts as gone.
static Completed
complete(Completer *completer)
{
	const Locator &locator = completer->locator;
	for (;;) {
		CHECK_FOR_INTERRUPTS();
		Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
		TM_Result result = TM_Ok;
		const bool is_there =
			find_row(locator, completer->keys, completer->completion->key_count, snapshot) &&
			is_good(completer);
		bool needs_statement = is_there && needs_foreign_key_check(completer);
		if (is_there && !needs_statement)
			result = write(completer, snapshot, &needs_statement);
		if (is_there)
			completer->replaced = version_of(locator.row);
		UnregisterSnapshot(snapshot);
		ExecClearTuple(locator.row);
		if (needs_statement)
			return Completed::by_statement;
		if (!is_there || result == TM_SelfModified)
			return Completed::stale;
		if (result == TM_Ok)
			return Completed::done;
		if (result != TM_Updated && result != TM_Deleted)
			elog(ERROR, "unexpected result %d of completing a row", static_cast<int>(result));
	}
}

// Makes what this command has written so far visible first, and the completion at the end.
Completed
complete_directly(Definition *definition, const Row &job, const statement::Arguments &arguments)
{
	CommandCounterIncrement();
	Completer completer{};
	completer.definition = definition;
	completer.completion = completion_of(definition);
	const Completion *completion = completer.completion;
	Relation table = table_open(definition->source, NoLock);
	CheckCmdReplicaIdentity(table, completion->deletes ? CMD_DELETE : CMD_UPDATE);
	completer.locator = open_locator(table, completion->index);
	if (!completion->deletes)
		completer.new_row = table_slot_create(table, nullptr);
	Completed completed = Completed::stale;
	claim::RowContext context;
	claim::begin_context(&context, definition, act_of_completion);
	context.row = completer.locator.row;
	with_expressions(definition, [&] {
		completion->evaluation->ecxt_param_list_info = claim::make_parameters(arguments);
		if (read_receipt(&completer, job))
			completed = complete(&completer);
		if (completed == Completed::done)
			note_completed(&completer);
		completion->evaluation->ecxt_param_list_info = nullptr;
	});
	claim::end_context(&context);
	if (completer.new_row != nullptr)
		ExecDropSingleTupleTableSlot(completer.new_row);
	close_locator(&completer.locator);
	table_close(table, NoLock);
	if (completed == Completed::done)
		CommandCounterIncrement();
	return completed;
}

} // namespace queue_ext::job
