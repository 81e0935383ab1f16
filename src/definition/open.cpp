// open.cpp - see open.hpp.
//
// There are two caches: which definition a name, as written, leads to under a search path (name_cache.hpp), and the
// definition of a queue (definition_cache.hpp).

#include "../postgres.hpp"

#include "open.hpp"

#include "../catalog/any_right.hpp"
#include "../catalog/lock_found.hpp"
#include "../catalog/owner.hpp"
#include "../error.hpp"
#include "../missing_rights.hpp"
#include "definition_cache.hpp"
#include "name_cache.hpp"
#include "name.hpp"
#include "registry.hpp"
#include "shape.hpp"
#include "similar.hpp"

namespace queue_ext::definition {

// Without its fragment a release or a failure writes nothing.
static bool
writes(const Definition *definition, Use use)
{
	switch (use) {
		case Use::claim:
			return definition->claim_mode != ClaimMode::session;
		case Use::release:
			return definition->fragments.on_release != nullptr;
		case Use::fail:
			return definition->fragments.on_fail != nullptr;
		default:
			return use == Use::write || use == Use::remove || use == Use::purge;
	}
}

// What INSERT and SELECT are needed on to add a job.
static missing_rights::Need *
insert_need(const Definition *definition, Use use)
{
	static constexpr const char *inserted[] = {"payload", "priority", "run_at", "max_attempts",
											   "unique_key"};
	static constexpr const char *selected[] = {"id",      "run_at",  "leased_until",
											   "dead_at", "payload", "unique_key"};
	const bool is_unique = use == Use::insert_unique;
	const Oid source = definition->source;
	missing_rights::Need *need = missing_rights::need_of(source, ACL_SELECT | ACL_INSERT);
	need->inserted = missing_rights::column_set(source, inserted, is_unique ? 5 : 4);
	need->selected = missing_rights::column_set(source, selected, is_unique ? 6 : 1);
	return need;
}

// What the caller needs on the archive to remove a job.
static missing_rights::Need *
archive_need(const Definition *definition)
{
	static constexpr const char *selected[] = {"id"};
	missing_rights::Need *need =
		missing_rights::need_of(definition->archive, ACL_SELECT | ACL_INSERT);
	need->selected = missing_rights::column_set(definition->archive, selected, lengthof(selected));
	return need;
}

// What the caller needs for the use, on the queue's table and its archive. The fragments may need
// less, such as UPDATE on some columns, or more.
static List *
needs_of(const Definition *definition, Use use)
{
	const Oid source = definition->source;
	if (use == Use::insert || use == Use::insert_unique)
		return list_make1(insert_need(definition, use));
	if (!writes(definition, use))
		return list_make1(missing_rights::need_of(source, ACL_SELECT));
	const bool deletes =
		use == Use::purge || (use == Use::remove && definition->fragments.on_complete == nullptr);
	if (!deletes)
		return list_make1(missing_rights::need_of(source, ACL_SELECT | ACL_UPDATE));
	List *needs = list_make1(missing_rights::need_of(source, ACL_SELECT | ACL_DELETE));
	if (use == Use::remove && definition->is_archived && definition->archive_name != nullptr)
		needs = lappend(needs, archive_need(definition));
	return needs;
}

// The lock mode for the use. Raises 42501 unless the caller has the rights for it. For Use::own,
// takes lock_queues_of() as well, before the table is locked.
static LOCKMODE
checked_lock(const Definition *definition, Use use)
{
	const Oid source = definition->source;
	if (use == Use::own) {
		catalog::check_owner(source);
		lock_queues_of(source);
		return AccessShareLock;
	}
	const bool inserts = use == Use::insert || use == Use::insert_unique;
	const bool is_written = inserts || writes(definition, use);
	AclMode rights = ACL_SELECT;
	if (is_written)
		rights = inserts ? ACL_INSERT : ACL_UPDATE | ACL_DELETE;
	catalog::check_any_right(source, rights, [&] { return needs_of(definition, use); });
	return is_written ? RowExclusiveLock : AccessShareLock;
}

// Locks the table of the queue that find() returns, in the mode of the use. find() is called again
// if messages came while it waited for the lock.
template <typename Find>
static Definition *
open(Use use, Find &&find)
{
	begin_call();
	Definition *definition = nullptr;
	catalog::lock_found([&]() -> catalog::Wanted {
		definition = find();
		if (definition == nullptr || use == Use::name)
			return {};
		return {definition->source, checked_lock(definition, use)};
	});
	if (definition != nullptr)
		touch(definition);
	return definition;
}

// Looks the name up unless it is cached.
static Definition *
find_by_name(const char *text)
{
	if (*text == table_mark) // the key of a table
		error::invalid_name(text);
	return definition_named(text, [&](CachedName *cached) {
		const Name name = parse_name(text);
		const Oid source = find_source(name, text, &cached->dependent);
		if (OidIsValid(source))
			cached->definition = find_definition(source, name.name);
		cached->schema = name.is_qualified() ? get_rel_namespace(source) : InvalidOid;
		cached->is_path_free = name.is_qualified();
	});
}

// Copies the text to the stack, since a cached name needs no allocation.
Definition *
open_queue_if_exists(const text *name, Use use)
{
	char text[max_name_text + 1];
	const size_t length = VARSIZE_ANY_EXHDR(name);
	if (length > max_name_text)
		error::name_too_long(text_to_cstring(name));
	memcpy(text, VARDATA_ANY(name), length);
	text[length] = '\0';
	return open(use, [&] { return find_by_name(text); });
}

bool
is_left_behind(Oid table)
{
	return OidIsValid(table) && fault_of_table(table) == nullptr &&
		   find_managed_name(table) == nullptr;
}

void
raise_no_such_queue(const char *text)
{
	const Name name = parse_name(text);
	if (is_left_behind(find_table(name)))
		error::queue_left_behind(text);
	raise_unknown(name, text);
}

Definition *
open_queue(const text *name, Use use)
{
	Definition *definition = open_queue_if_exists(name, use);
	if (definition == nullptr)
		raise_no_such_queue(text_to_cstring(name));
	return definition;
}

Definition *
open_managed_queue(const text *name, Use use, const char *hint)
{
	Definition *definition = open_queue(name, use);
	if (!definition->is_managed)
		error::not_managed(definition->name, hint);
	return definition;
}

// Past the cache of names: the definition cache has (table, name) as its key.
Definition *
open_queue_of_name(Oid table, const char *name, Use use)
{
	return open(use, [&] { return find_definition(table, name); });
}

// Remembers the queue of a table under table_mark and its OID, in the same cache as names.
static Definition *
find_by_table(Oid table)
{
	char text[max_name_text + 1];
	snprintf(text, sizeof(text), "%c%u", table_mark, table);
	return definition_named(text, [&](CachedName *cached) {
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)))
			error::no_such_table(table);
		const char *name = find_only_name(table, &cached->dependent);
		if (name != nullptr)
			cached->definition = find_definition(table, name);
		cached->is_path_free = true;
	});
}

// The hint for a table that was left behind is the one of open_queue().
Definition *
open_queue_of_table(Oid table, Use use)
{
	Definition *definition = open(use, [&] { return find_by_table(table); });
	if (definition == nullptr && is_left_behind(table))
		error::queue_left_behind(qualified_name(table));
	if (definition == nullptr)
		error::no_queue_on_table(table);
	return definition;
}

} // namespace queue_ext::definition
