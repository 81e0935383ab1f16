// definition.cpp - see definition.hpp.

#include "../postgres.hpp"

#include "definition.hpp"

#include "fragment.hpp"
#include "owner.hpp"

namespace queue_ext::queue {

// Compiles one fragment after the other of a definition.
struct Compiler
{
	const Definition *definition;
	Relation table;

	Compiled operator()(const char *text, FragmentKind kind, const char *label) const
	{
		if (text == nullptr)
			return {};
		const Fragment fragment{text, kind, label, definition->name, definition->is_managed};
		return compile(fragment, table, definition->search_path);
	}
};

static const char *
copy(const char *text)
{
	return text == nullptr ? nullptr : pstrdup(text);
}

static List *
copy_names(const List *names)
{
	List *copied = NIL;
	ListCell *cell;
	foreach (cell, names)
		copied = lappend(copied, pstrdup(static_cast<char *>(lfirst(cell))));
	return copied;
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

const CompiledFragments &
compiled_of(Definition *definition)
{
	if (definition->is_compiled)
		return definition->compiled;

	// The parser leaves much behind that need not live as long as the definition.
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext compile", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	Relation table = table_open(definition->source, AccessShareLock);
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
	as_owner_of(definition->source, [&] {
		pending = compiler(from.pending, FragmentKind::condition, "pending");
		order_by = compiler(from.order_by, FragmentKind::order, "order_by");
		on_claim = compiler(from.on_claim, FragmentKind::assignments, "on_claim");
		on_complete = compiler(from.on_complete, FragmentKind::assignments, "on_complete");
		on_release = compiler(from.on_release, FragmentKind::assignments, "on_release");
		on_fail = compiler(from.on_fail, FragmentKind::assignments, "on_fail");
		on_extend = compiler(from.on_extend, FragmentKind::assignments, "on_extend");
	});

	MemoryContextSwitchTo(definition->context);
	definition->compiled = {
		copy(pending.text),     copy(order_by.text),          copy(on_claim.text),
		copy(on_complete.text), copy(on_release.text),        copy(on_fail.text),
		copy(on_extend.text),   copy_names(on_claim.columns), access_for(pending, order_by),
	};
	definition->identity = find_identity(table);
	MemoryContextSwitchTo(old);
	table_close(table, AccessShareLock);
	MemoryContextDelete(scratch);
	definition->is_compiled = true;
	return definition->compiled;
}

} // namespace queue_ext::queue
