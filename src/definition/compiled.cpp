// compiled.cpp - see compiled.hpp.

#include "../postgres.hpp"

#include "compiled.hpp"

#include "../catalog/citus.hpp"
#include "../catalog/column.hpp"
#include "../catalog/kept.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/owner.hpp"
#include "../error.hpp"

namespace queue_ext::definition {

using catalog::RowKey;
using catalog::KeyColumn;
using statement::Access;

namespace {

// Compiles the fragments of a definition, and records what they name as its dependencies.
struct Compiler
{
	Definition *definition;
	Relation table;

	CompiledFragment operator()(const char *text, FragmentKind kind, const char *label) const
	{
		if (text == nullptr)
			return {};
		const Fragment fragment{text, kind, label, definition->name, definition->is_managed};
		const CompiledFragment compiled = compile(fragment, table, definition->search_path);
		depend_on_expression(&definition->dependent, compiled.expression);
		depend_on_expression(&definition->dependent, reinterpret_cast<Node *>(compiled.targets));
		depend_on_expression(&definition->dependent, reinterpret_cast<Node *>(compiled.order));
		return compiled;
	}
};

} // namespace

// Null stays null.
static const char *
copy(MemoryContext context, const char *text)
{
	return text == nullptr ? nullptr : MemoryContextStrdup(context, text);
}

// With the strings of the columns; the key was made in the scratch context of make_kept().
static RowKey
copy_row_key(MemoryContext context, const RowKey &row_key)
{
	RowKey copied = row_key;
	copied.columns = static_cast<KeyColumn *>(
		MemoryContextAlloc(context, sizeof(KeyColumn) * Max(row_key.length, 1)));
	for (int i = 0; i < row_key.length; i++) {
		const KeyColumn &column = row_key.columns[i];
		copied.columns[i] = column;
		copied.columns[i].name = copy(context, column.name);
		copied.columns[i].equality = copy(context, column.equality);
	}
	return copied;
}

// Depends on the key's operators, whose names and schemas are in statements.
static void
depend_on_key(catalog::Dependent *dependent, const RowKey &key)
{
	for (int i = 0; i < key.length; i++)
		depend_on_operator(dependent, key.columns[i].equality_operator);
}

// Whether a partial index could hold the pending rows: some conjunct of the condition depends on
// the row alone.
static bool
has_constant_part(const List *conjuncts)
{
	ListCell *cell;
	foreach (cell, conjuncts)
		if (can_be_predicate(static_cast<Node *>(lfirst(cell))))
			return true;
	return false;
}

// Where no index can restrict the rows, an index that has the order will do.
static Access
access_for(const CompiledFragment &pending, const CompiledFragment &order_by)
{
	if (has_constant_part(pending.conjuncts))
		return Access::restricted;
	return order_by.text != nullptr ? Access::in_order : Access::anywhere;
}

// Offset as in pull_varattnos(), so that the set fits the one of RelationGetIndexAttrBitmap().
static Bitmapset *
columns_of(const List *targets)
{
	Bitmapset *columns = nullptr;
	ListCell *cell;
	foreach (cell, targets)
		columns = bms_add_member(columns, lfirst_node(TargetEntry, cell)->resno -
											  FirstLowInvalidHeapAttributeNumber);
	return columns;
}

// Only these fragments are needed as trees; the others are used as SQL.
static void
copy_trees(Compiled *compiled, const CompiledFragment &pending, const CompiledFragment &order_by,
		   const CompiledFragment &on_claim, const CompiledFragment &on_complete,
		   MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	compiled->condition = static_cast<Node *>(copyObjectImpl(pending.expression));
	compiled->assignments = static_cast<List *>(copyObjectImpl(on_claim.targets));
	compiled->written = columns_of(on_claim.targets);
	compiled->completion = static_cast<List *>(copyObjectImpl(on_complete.targets));
	compiled->order_count = order_by.order_count;
	const Size order_size = sizeof(OrderColumn) * order_by.order_count;
	compiled->order_columns = static_cast<OrderColumn *>(palloc(Max(order_size, 1)));
	if (order_size > 0)
		memcpy(compiled->order_columns, order_by.order_columns, order_size);
	MemoryContextSwitchTo(old);
}

// Called within make_dependent(). Switches to the owner of the table for the fragments alone.
static void
compile_all(Definition *definition, Relation table, MemoryContext context, Compiled *compiled)
{
	// It may have been distributed since it was attached.
	catalog::check_not_distributed(definition->source);
	const Compiler compiler{definition, table};
	const Fragments &from = definition->fragments;
	CompiledFragment pending{};
	CompiledFragment order_by{};
	CompiledFragment on_claim{};
	CompiledFragment on_complete{};
	CompiledFragment on_release{};
	CompiledFragment on_fail{};
	CompiledFragment on_extend{};
	// As the table's owner, who wrote them: so they mean the same to all callers.
	catalog::as_owner_of(definition->source, [&] {
		pending = compiler(from.pending, FragmentKind::condition, "pending");
		order_by = compiler(from.order_by, FragmentKind::order, "order_by");
		on_claim = compiler(from.on_claim, FragmentKind::assignments, "on_claim");
		on_complete = compiler(from.on_complete, FragmentKind::assignments, "on_complete");
		on_release = compiler(from.on_release, FragmentKind::assignments, "on_release");
		on_fail = compiler(from.on_fail, FragmentKind::assignments, "on_fail");
		on_extend = compiler(from.on_extend, FragmentKind::assignments, "on_extend");
	});
	compiled->pending = copy(context, pending.text);
	compiled->order_by = copy(context, order_by.text);
	compiled->on_claim = copy(context, on_claim.text);
	compiled->on_complete = copy(context, on_complete.text);
	compiled->on_release = copy(context, on_release.text);
	compiled->on_fail = copy(context, on_fail.text);
	compiled->on_extend = copy(context, on_extend.text);
	compiled->fails_for_good =
		reads_variable(reinterpret_cast<Node *>(on_fail.targets), statement::Parameter::retry);
	compiled->keeps_progress = reads_variable(reinterpret_cast<Node *>(on_extend.targets),
											  statement::Parameter::new_progress);
	compiled->access = access_for(pending, order_by);
	copy_trees(compiled, pending, order_by, on_claim, on_complete, context);
	compiled->row_key = copy_row_key(context, catalog::find_row_key(table));
	// A held row is found by its row key, so the lock modes need one. In mode update a finish
	// compares the key and the columns that the claim wrote, so a key with columns that may be null
	// serves as well. Where there is a row key, it is the receipt key.
	compiled->receipt_key = compiled->row_key;
	if (definition->claim_mode == ClaimMode::update && !compiled->receipt_key.has_key())
		compiled->receipt_key = copy_row_key(context, catalog::find_nullable_key(table));
	depend_on_key(&definition->dependent, compiled->receipt_key);
	if (!compiled->receipt_key.has_key()) {
		const catalog::KeyAdvice advice = catalog::advise_key(table);
		compiled->key_advice = {copy(context, advice.command), copy(context, advice.obstacle)};
	}
}

// On ERROR nothing is entered into the definition: compiled stays null.
const Compiled &
compiled_of(Definition *definition)
{
	if (definition->compiled == nullptr) {
		error::debug_compiling_queue(definition->source_name, definition->name);
		Compiled *compiled = nullptr;
		catalog::make_kept("queue_ext fragments", definition->context, [&](MemoryContext context) {
			compiled = static_cast<Compiled *>(MemoryContextAllocZero(context, sizeof(Compiled)));
			make_dependent(&definition->dependent, [&] {
				Relation table = table_open(definition->source, AccessShareLock);
				compile_all(definition, table, context, compiled);
				table_close(table, AccessShareLock);
			});
		});
		definition->compiled = compiled;
		note_growth(definition);
	}
	return *definition->compiled;
}

const RowKey &
receipt_key_of(Definition *definition)
{
	const Compiled &compiled = compiled_of(definition);
	if (!compiled.receipt_key.has_key())
		error::no_key(get_rel_name(definition->source), compiled.key_advice.command,
					  compiled.key_advice.obstacle);
	return compiled.receipt_key;
}

AttrNumber
attempt_column(const Definition *definition)
{
	constexpr const char *name = "attempt";
	const Oid table = definition->source;
	const AttrNumber number = catalog::find_column(table, name, INT4OID);
	if (number == InvalidAttrNumber)
		error::column_changed(get_rel_name(table), name, INT4OID, definition->source_name);
	return number;
}

} // namespace queue_ext::definition
