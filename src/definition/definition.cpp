// definition.cpp - see definition.hpp.

#include "../postgres.hpp"

#include "definition.hpp"

#include "../catalog/kept.hpp"
#include "../catalog/named_dependency.hpp"
#include "../catalog/owner.hpp"
#include "../error.hpp"
#include "fragment.hpp"

namespace queue_ext::definition {

using catalog::Identity;
using catalog::KeyColumn;
using statement::Access;

static bool any_grown = false;

void
note_growth(Definition *definition)
{
	definition->has_grown = true;
	any_grown = true;
}

bool
take_growth()
{
	const bool has_any = any_grown;
	any_grown = false;
	return has_any;
}

namespace {

// Compiles one fragment after the other of a definition, which depends on them then.
struct Compiler
{
	Definition *definition;
	Relation table;

	Compiled operator()(const char *text, FragmentKind kind, const char *label) const
	{
		if (text == nullptr)
			return {};
		const Fragment fragment{text, kind, label, definition->name, definition->is_managed};
		const Compiled compiled = compile(fragment, table, definition->search_path);
		depend_on_expression(&definition->dependent, compiled.expression);
		depend_on_expression(&definition->dependent, reinterpret_cast<Node *>(compiled.targets));
		depend_on_expression(&definition->dependent, reinterpret_cast<Node *>(compiled.order));
		return compiled;
	}
};

} // namespace

static const char *
copy(MemoryContext context, const char *text)
{
	return text == nullptr ? nullptr : MemoryContextStrdup(context, text);
}

static List *
copy_names(MemoryContext context, const List *names)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	List *copied = NIL;
	ListCell *cell;
	foreach (cell, names)
		copied = lappend(copied, pstrdup(static_cast<char *>(lfirst(cell))));
	MemoryContextSwitchTo(old);
	return copied;
}

static Identity
copy_identity(MemoryContext context, const Identity &identity)
{
	Identity copied = identity;
	copied.columns = static_cast<KeyColumn *>(
		MemoryContextAlloc(context, sizeof(KeyColumn) * Max(identity.length, 1)));
	for (int i = 0; i < identity.length; i++) {
		const KeyColumn &column = identity.columns[i];
		copied.columns[i] = column;
		copied.columns[i].name = copy(context, column.name);
		copied.columns[i].equality = copy(context, column.equality);
		copied.columns[i].at_least = copy(context, column.at_least);
		copied.columns[i].at_most = copy(context, column.at_most);
	}
	return copied;
}

// The names of its operators are part of statements.
static void
depend_on_key(catalog::Dependent *dependent, const Identity &key)
{
	for (int i = 0; i < key.length; i++)
		for (const Oid one : key.columns[i].operators)
			depend_on_operator(dependent, one);
}

// Whether an index could hold the rows that are pending: some part of the condition
// depends on nothing but the row.
static bool
has_constant_part(const List *conjuncts)
{
	ListCell *cell;
	foreach (cell, conjuncts)
		if (can_be_predicate(static_cast<Node *>(lfirst(cell))))
			return true;
	return false;
}

static Access
access_for(const Compiled &pending, const Compiled &order_by)
{
	if (has_constant_part(pending.conjuncts))
		return Access::restricted;
	return order_by.text != nullptr ? Access::in_order : Access::anywhere;
}

static void
compile_all(Definition *definition, Relation table, MemoryContext context)
{
	const Compiler compiler{definition, table};
	const Fragments &from = definition->fragments;
	Compiled pending{};
	Compiled order_by{};
	Compiled on_claim{};
	Compiled on_complete{};
	Compiled on_release{};
	Compiled on_fail{};
	Compiled on_extend{};
	// In the name of whoever wrote them, so that they mean the same to everybody.
	catalog::as_owner_of(definition->source, [&] {
		pending = compiler(from.pending, FragmentKind::condition, "pending");
		order_by = compiler(from.order_by, FragmentKind::order, "order_by");
		on_claim = compiler(from.on_claim, FragmentKind::assignments, "on_claim");
		on_complete = compiler(from.on_complete, FragmentKind::assignments, "on_complete");
		on_release = compiler(from.on_release, FragmentKind::assignments, "on_release");
		on_fail = compiler(from.on_fail, FragmentKind::assignments, "on_fail");
		on_extend = compiler(from.on_extend, FragmentKind::assignments, "on_extend");
	});
	definition->compiled = {
		copy(context, pending.text),    copy(context, order_by.text),
		copy(context, on_claim.text),   copy(context, on_complete.text),
		copy(context, on_release.text), copy(context, on_fail.text),
		copy(context, on_extend.text),  copy_names(context, on_claim.columns),
		access_for(pending, order_by),
	};
	definition->identity = copy_identity(context, catalog::find_identity(table));
	// A hold is of an identity. A write looks for the key, and then at what the claim wrote.
	// Where there is an identity, it is the key.
	definition->receipt_key = definition->identity;
	if (definition->claim_mode == ClaimMode::update && !definition->receipt_key.has_key())
		definition->receipt_key = copy_identity(context, catalog::find_nullable_key(table));
	depend_on_key(&definition->dependent, definition->receipt_key);
	if (!definition->receipt_key.has_key()) {
		const catalog::KeyAdvice advice = catalog::advise_key(table);
		definition->key_advice = {copy(context, advice.command), copy(context, advice.obstacle)};
	}
}

const CompiledFragments &
compiled_of(Definition *definition)
{
	if (!definition->is_compiled) {
		error::debug_compiling_queue(definition->source_name, definition->name);
		catalog::make_kept("queue_ext fragments", definition->context, [&](MemoryContext context) {
			make_dependent(&definition->dependent, [&] {
				Relation table = table_open(definition->source, AccessShareLock);
				compile_all(definition, table, context);
				table_close(table, AccessShareLock);
			});
		});
		definition->is_compiled = true;
		note_growth(definition);
	}
	return definition->compiled;
}

} // namespace queue_ext::definition
