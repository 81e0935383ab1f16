// upgrade.cpp - queue_upgrade: brings the tables of managed queues to the present layout.
//
// Checks and locks come in the order that create.cpp describes. Several queues come in the order of
// their tables, so that two calls cannot deadlock with each other.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../compat.hpp"
#include "../definition/managed.hpp"
#include "../definition/open.hpp"
#include "../definition/queue_indexes.hpp"
#include "../definition/registry.hpp"
#include "../result.hpp"
#include "upgrade_table.hpp"

namespace queue_ext::queue {

using definition::Definition;
using definition::Layout;
using definition::Registered;
using definition::Use;

QUEUE_EXT_FUNCTION(queue_ext_queue_upgrade);

// From the first ALTER TABLE on the table is locked ACCESS EXCLUSIVE, which the index does not raise.
// The columns come before the fragments, which name them. Returns whether anything was changed.
static bool
upgrade(const Definition *definition)
{
	const statement::Named &table = definition->tables[0];
	bool is_changed = add_missing_columns(table);
	is_changed |= definition::make_missing_dead_index(table.table);
	if (definition->on_expire != definition::OnExpire::none)
		is_changed |= definition::make_missing_expiry_index(table.table);
	if (definition::has_own_archive(definition))
		is_changed |= add_missing_archive_columns(definition->tables[1]);
	definition::Options options{};
	const definition::Fragments fragments = definition::managed_fragments(Layout::second);
	if (strcmp(definition->fragments.on_claim, fragments.on_claim) != 0)
		options.on_claim = fragments.on_claim;
	if (strcmp(definition->fragments.on_release, fragments.on_release) != 0)
		options.on_release = fragments.on_release;
	Oid archive = InvalidOid;
	if (definition::has_own_archive(definition) && can_get_slots(definition)) {
		archive = give_slots(definition);
		options.archive = &archive;
	}
	if (options.on_claim == nullptr && options.on_release == nullptr && options.archive == nullptr)
		return is_changed;
	update_definition(definition->name, definition->source, options);
	return true;
}

// As the view "queues" has it.
static void
put_name(ReturnSetInfo *result, const Definition *definition)
{
	const char *schema = get_namespace_name(get_rel_namespace(definition->source));
	Datum name = CStringGetTextDatum(quote_qualified_identifier(schema, definition->name));
	bool is_null = false;
	tuplestore_putvalues(result->setResult, result->setDesc, &name, &is_null);
}

static void
upgrade_one(ReturnSetInfo *result, const text *name)
{
	const Definition *definition =
		open_managed_queue(name, Use::own, "Only managed queues have tables made by queue_ext.");
	if (upgrade(definition))
		put_name(result, definition);
}

// Whether the caller may alter the queue's table. Another session's temporary table it may not.
static bool
may_upgrade(const Registered *registered)
{
	return registered->is_managed &&
		   SearchSysCacheExists1(RELOID, ObjectIdGetDatum(registered->source)) &&
		   compat::owns_relation(registered->source, GetUserId()) &&
		   !isOtherTempNamespace(get_rel_namespace(registered->source));
}

// A table has one managed queue.
static int
by_source(const ListCell *left, const ListCell *right)
{
	const Oid left_source = static_cast<const Registered *>(lfirst(left))->source;
	const Oid right_source = static_cast<const Registered *>(lfirst(right))->source;
	return left_source < right_source ? -1 : left_source > right_source;
}

// A queue may be dropped before its turn has come.
static void
upgrade_all(ReturnSetInfo *result)
{
	List *all = definition::find_all();
	list_sort(all, by_source);
	ListCell *cell;
	foreach (cell, all) {
		CHECK_FOR_INTERRUPTS();
		const auto *registered = static_cast<const Registered *>(lfirst(cell));
		if (!may_upgrade(registered))
			continue;
		const Definition *definition =
			definition::open_queue_of_name(registered->source, registered->name, Use::own);
		if (definition != nullptr && definition->is_managed && upgrade(definition))
			put_name(result, definition);
	}
}

Datum
queue_ext_queue_upgrade(PG_FUNCTION_ARGS)
{
	argument::check_may_write("queue_upgrade()");
	ReturnSetInfo *result = result::begin_set(fcinfo);
	if (PG_ARGISNULL(0))
		upgrade_all(result);
	else
		upgrade_one(result, PG_GETARG_TEXT_PP(0));
	return static_cast<Datum>(0);
}

} // namespace queue_ext::queue
