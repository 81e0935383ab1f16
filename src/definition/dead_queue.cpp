// dead_queue.cpp - see dead_queue.hpp.

#include "../postgres.hpp"

#include "dead_queue.hpp"

#include "../catalog/owner.hpp"
#include "../error.hpp"
#include "open.hpp"
#include "registry.hpp"
#include "shape.hpp"
#include "similar.hpp"

namespace queue_ext::definition {

DeadQueue
dead_queue_of(const Definition *definition)
{
	const Oid table = definition->dead_queue;
	if (!OidIsValid(table))
		return DeadQueue::none;
	// A dump has the OID of a table that was dropped as a number, which may be the source's after a restore.
	if (table == definition->source || definition->dead_queue_name == nullptr ||
		find_managed_name(table) == nullptr)
		return DeadQueue::gone;
	if (catalog::find_owner(table) != catalog::find_owner(definition->source))
		return DeadQueue::foreign;
	return has_origin(table) ? DeadQueue::there : DeadQueue::old;
}

// Another session could not move jobs into a temporary table.
static bool
is_temporary(Oid table)
{
	return get_rel_persistence(table) == RELPERSISTENCE_TEMP;
}

Oid
find_dead_queue(const char *written, const TakenQueue &from)
{
	if (*written == '\0')
		return InvalidOid;
	const Name name = parse_name(written);
	const Oid table = find_source(name, written, nullptr);
	if (!OidIsValid(table)) {
		// One that is yet to be made is not there, but making it would not help.
		if (from.name != nullptr && strcmp(name.name, from.name) == 0 &&
			is_searched(name, from.schema))
			error::own_dead_queue(from.name);
		raise_no_such_queue(written);
	}
	const char *managed = find_managed_name(table);
	if (managed == nullptr || strcmp(managed, name.name) != 0)
		error::not_managed(name.name, "Make one with queue_create().");
	if (table == from.source)
		error::own_dead_queue(name.name);
	if (catalog::find_owner(table) != from.owner)
		error::dead_queue_of_other(name.name, qualified_name(table), from.owner);
	if (is_temporary(table) && !from.is_temporary)
		error::dead_queue_temporary(name.name);
	if (!has_origin(table))
		error::column_missing(name.name, "origin", written);
	return table;
}

Oid
find_kept_dead_queue(const char *written, Oid source)
{
	const Oid table = find_table(parse_name(written));
	const bool can_take = OidIsValid(table) && table != source &&
						  fault_of_table(table) == nullptr && has_origin(table) &&
						  catalog::find_owner(table) == catalog::find_owner(source) &&
						  (!is_temporary(table) || is_temporary(source));
	return can_take ? table : InvalidOid;
}

static int
by_text(const ListCell *a, const ListCell *b)
{
	return strcmp(static_cast<const char *>(lfirst(a)), static_cast<const char *>(lfirst(b)));
}

// The names of the queues that have the table for a dead queue, in their order; those whose table was dropped have none.
static List *
names_of_taken(Oid table)
{
	List *names = NIL;
	ListCell *cell;
	foreach (cell, find_all()) {
		CHECK_FOR_INTERRUPTS();
		const auto *other = static_cast<const Registered *>(lfirst(cell));
		char *name = other->dead_queue == table && other->source != table
						 ? lock_name(get_rel_namespace(other->source), other->name)
						 : nullptr;
		if (name != nullptr)
			names = lappend(names, name);
	}
	list_sort(names, by_text);
	return names;
}

void
notice_end_of_dead_queue(const Definition *definition)
{
	StringInfoData text;
	initStringInfo(&text);
	ListCell *cell;
	foreach (cell, names_of_taken(definition->source))
		appendStringInfo(&text, "%s%s", text.len == 0 ? "" : ", ",
						 static_cast<const char *>(lfirst(cell)));
	if (text.len > 0)
		error::notice_takes_no_dead(definition->name, text.data);
}

} // namespace queue_ext::definition
