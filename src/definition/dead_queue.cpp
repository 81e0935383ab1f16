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

} // namespace queue_ext::definition
