// completion.cpp - see completion.hpp.

#include "../postgres.hpp"

#include "completion.hpp"

#include "../catalog/kept.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/row_key.hpp"
#include "../definition/compiled.hpp"
#include "../wake/trigger.hpp"

namespace queue_ext::job {

using definition::ClaimMode;
using definition::Compiled;
using definition::Definition;

// Zeroed, in the context of the completion; never of size 0.
template <typename T>
static T *
allocate(const Completion *completion, int count)
{
	return static_cast<T *>(MemoryContextAllocZero(completion->context, sizeof(T) * Max(count, 1)));
}

// False if an expression is too involved to be run without a statement.
static bool
add_columns(Completion *completion, const List *targets, Relation table)
{
	const TupleDesc descriptor = row::columns_of(table);
	completion->columns = allocate<claim::ColumnValue>(completion, list_length(targets));
	ListCell *cell;
	foreach (cell, targets) {
		const auto *target = lfirst_node(TargetEntry, cell);
		ExprState *value =
			row::prepare_expression(reinterpret_cast<Node *>(target->expr), completion->context);
		if (value == nullptr)
			return false;
		completion->columns[completion->column_count++] = {
			target->resno, value, TupleDescAttr(descriptor, target->resno - 1)->attnotnull};
	}
	return true;
}

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
	completion->key_columns = allocate<AttrNumber>(completion, key.length);
	completion->keys = allocate<ScanKeyData>(completion, key.length);
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
	completion->fence = allocate<AttrNumber>(completion, bms_num_members(written));
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
		if (!add_columns(completion, compiled.completion, table) ||
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

// The compiled claim depends on the table's triggers.
const Completion *
completion_of(Definition *definition)
{
	if (definition->completion != nullptr)
		return definition->completion;
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
	definition->completion = completion;
	definition::note_growth(definition);
	return completion;
}

} // namespace queue_ext::job
