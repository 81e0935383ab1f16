// archive_table.cpp - see archive_table.hpp.

#include "../postgres.hpp"

#include "archive_table.hpp"

#include "../error.hpp"
#include "keep.hpp"
#include "managed.hpp"
#include "name.hpp"
#include "shape.hpp"
#include "table_command.hpp"

namespace queue_ext::definition {

using statement::Named;

// Raises 42622 instead of truncating, which could hit another table.
static const char *
archive_name(Oid table)
{
	const char *name = psprintf("%s_archive", get_rel_name(table));
	if (strlen(name) >= NAMEDATALEN)
		error::name_too_long(name);
	return name;
}

// The table must still have its name and schema after the command, and the archive must exist. A
// superuser may be the caller, or a member of the role that owns the table.
Oid
make_archive(Oid table, const Interval &keep)
{
	const Oid schema = get_rel_namespace(table);
	const char *name = archive_name(table);
	const char *qualified = quote_qualified_identifier(get_namespace_name(schema), name);
	const bool is_slotted = !is_for_ever(keep);
	run_command_on(
		{table, qualified_name(table)},
		psprintf(is_slotted ? create_slotted_archive_text : create_archive_text, qualified));
	const Oid archive = get_relname_relid(name, schema);
	statement::check_named({archive, qualified});
	give_to_owner_of(table, {archive, qualified});
	if (is_slotted)
		make_slots(archive);
	return archive;
}

void
make_slots(Oid archive)
{
	const Named named{archive, qualified_name(archive)};
	const char *schema = get_namespace_name(get_rel_namespace(archive));
	for (int i = 0; i < slot_count; i++) {
		const char *name = psprintf("%s_%d", get_rel_name(archive), i);
		if (strlen(name) >= NAMEDATALEN)
			error::name_too_long(name);
		const char *qualified = quote_qualified_identifier(schema, name);
		run_command_on(named, psprintf(create_slot_text, qualified, named.name, i));
		const Named slot{get_relname_relid(name, get_rel_namespace(archive)), qualified};
		statement::check_named(slot);
		give_to_owner_of(archive, slot);
	}
	run_command_on(named, psprintf(create_slots_index_text, named.name));
}

// Another role's table of that name is ignored: its owner could read the jobs.
Oid
find_archive(Oid table)
{
	const Oid archive = get_relname_relid(archive_name(table), get_rel_namespace(table));
	const bool is_one = OidIsValid(archive) && fault_of_archive(archive) == nullptr &&
						compat::owns_relation(archive, GetUserId());
	return is_one ? archive : InvalidOid;
}

} // namespace queue_ext::definition
