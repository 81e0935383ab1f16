// cache.cpp - see cache.hpp.
//
// Two levels: what a name, as written, means under a search path (Meaning), and
// the definition of a queue, which several spellings and paths may share.
// Invalidation only marks definitions; they are freed at the end of the
// transaction, when no call can be using one.

#include "../postgres.hpp"

#include "cache.hpp"

#include "../compat.hpp"
#include "../error.hpp"
#include "kept.hpp"
#include "lock_found.hpp"
#include "name.hpp"
#include "owner.hpp"
#include "registry.hpp"
#include "rights.hpp"
#include "search_path.hpp"
#include "shape.hpp"

namespace queue_ext::queue {

constexpr int max_cached_path = 16;

// What a name means.
struct Meaning
{
	char text[max_name_text + 1]; // the hash key
	Definition *definition;
	uint64 change_count; // when it was found out
	Oid schema;          // that the name is qualified with, or InvalidOid
	int path_length;     // 0: the name is qualified, the path does not matter
	Oid path[max_cached_path];
};

static HTAB *meanings = nullptr;
static Definition *definitions = nullptr; // all, the invalid ones too
static bool any_invalid = false;
static uint64 change_count = 0; // of changes that this backend was told of

static void
invalidate(Definition *definition)
{
	definition->is_valid = false;
	any_invalid = true;
}

static void
on_relation_change(Datum, Oid relation)
{
	const bool is_general = !OidIsValid(relation) || forget_registry_if(relation);
	change_count++;
	for (Definition *definition = definitions; definition != nullptr; definition = definition->next)
		if (is_general || definition->source == relation || definition->archive == relation ||
			definition->has_children)
			invalidate(definition);
}

// Of a schema, or of a function: fragments may name it.
static void
on_catalog_change(Datum, compat::SysCacheId, uint32)
{
	change_count++;
	for (Definition *definition = definitions; definition != nullptr; definition = definition->next)
		invalidate(definition);
}

static void
forget_meanings_of_invalid()
{
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, meanings);
	while (auto *meaning = static_cast<Meaning *>(hash_seq_search(&scan)))
		if (!meaning->definition->is_valid)
			hash_search(meanings, meaning->text, HASH_REMOVE, nullptr);
}

static void
free_definition(Definition *definition)
{
	for (Statement &statement : definition->prepared)
		discard(&statement);
	for (PreparedClaim &claim : definition->claims)
		discard(&claim.statement);
	MemoryContextDelete(definition->context);
}

static void
free_invalid()
{
	if (!any_invalid)
		return;
	any_invalid = false;
	forget_meanings_of_invalid();
	for (Definition **link = &definitions; *link != nullptr;) {
		Definition *definition = *link;
		if (definition->is_valid) {
			link = &definition->next;
			continue;
		}
		*link = definition->next;
		free_definition(definition);
	}
}

static void
on_transaction_end(XactEvent event, void *)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) {
		free_discarded();
		free_invalid();
	}
}

void
register_invalidation()
{
	CacheRegisterRelcacheCallback(on_relation_change, static_cast<Datum>(0));
	CacheRegisterSyscacheCallback(NAMESPACEOID, on_catalog_change, static_cast<Datum>(0));
	CacheRegisterSyscacheCallback(PROCOID, on_catalog_change, static_cast<Datum>(0));
	RegisterXactCallback(on_transaction_end, nullptr);
}

static void
create_meanings()
{
	HASHCTL control{};
	control.keysize = sizeof(Meaning::text);
	control.entrysize = sizeof(Meaning);
	meanings = hash_create("queue_ext queue names", 64, &control, HASH_ELEM | HASH_STRINGS);
}

static bool
is_current(const Meaning *meaning)
{
	// Any table that changed may be another queue's that has come to stand in front.
	if (!meaning->definition->is_valid || meaning->change_count != change_count)
		return false;
	// The role may be another one by now. (In its path are only schemas that it may use.)
	if (OidIsValid(meaning->schema) &&
		compat::check_schema(meaning->schema, GetUserId(), ACL_USAGE) != ACLCHECK_OK)
		return false;
	if (meaning->path_length == 0)
		return true;
	Oid path[max_cached_path];
	const int length = search_path_schemas(path, max_cached_path);
	return length == meaning->path_length && memcmp(path, meaning->path, sizeof(Oid) * length) == 0;
}

// The names of the definition's tables, and what they are. False if the source is gone.
static bool
read_tables(Definition *definition)
{
	const auto copy = [&](const char *text) {
		return text == nullptr ? nullptr : MemoryContextStrdup(definition->context, text);
	};
	const Oid source = definition->source;
	definition->source_name = copy(qualified_name(source));
	definition->lock_name = copy(lock_name(get_rel_namespace(source), definition->name));
	definition->row_type = get_rel_type_id(source);
	definition->has_children = has_subclass(source);
	definition->is_partitioned = get_rel_relkind(source) == RELKIND_PARTITIONED_TABLE;
	if (OidIsValid(definition->archive))
		definition->archive_name = copy(qualified_name(definition->archive));
	return definition->source_name != nullptr;
}

// Makes the definition of (source, name), or returns null if there is none now.
static Definition *
build(Oid source, const char *name)
{
	Definition *definition = nullptr;
	const uint64 changes_before = change_count;
	bool is_found = false;
	make_kept("queue_ext definition", CacheMemoryContext, [&](MemoryContext context) {
		definition = static_cast<Definition *>(MemoryContextAllocZero(context, sizeof(Definition)));
		definition->context = context;
		is_found = read_definition(source, name, context, definition) && read_tables(definition);
	});
	if (!is_found) {
		MemoryContextDelete(definition->context);
		return nullptr;
	}
	// A change that came while the catalogs were read may have come too late for
	// some of what was read: then it is good for this call alone.
	if (changes_before == change_count)
		definition->is_valid = true;
	else
		any_invalid = true;
	definition->next = definitions;
	definitions = definition;
	return definition;
}

static Definition *
find_cached(Oid source, const char *name)
{
	for (Definition *definition = definitions; definition != nullptr; definition = definition->next)
		if (definition->is_valid && definition->source == source &&
			strcmp(definition->name, name) == 0)
			return definition;
	return nullptr;
}

// The definition of (source, name); null when there is none now.
static Definition *
find_or_build(Oid source, const char *name)
{
	Definition *definition = find_cached(source, name);
	return definition != nullptr ? definition : build(source, name);
}

// schema: that the name is qualified with; no_path: so the search path does not matter.
static void
remember(const char *text, Definition *definition, uint64 changes_before, Oid schema, bool no_path)
{
	Oid path[max_cached_path];
	const int length = no_path ? 0 : search_path_schemas(path, max_cached_path);
	if (length > max_cached_path)
		return;
	auto *meaning = static_cast<Meaning *>(hash_search(meanings, text, HASH_ENTER, nullptr));
	meaning->definition = definition;
	meaning->change_count = changes_before;
	meaning->schema = schema;
	meaning->path_length = length;
	memcpy(meaning->path, path, sizeof(Oid) * length);
}

// What the text meant when it was last looked up, if that still holds.
static Definition *
recall(const char *text)
{
	if (meanings == nullptr)
		create_meanings();
	const auto *meaning = static_cast<Meaning *>(hash_search(meanings, text, HASH_FIND, nullptr));
	return meaning != nullptr && is_current(meaning) ? meaning->definition : nullptr;
}

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
			return use == Use::write;
	}
}

// The lock for the use. Raises 42501 unless the caller has the rights for it.
static LOCKMODE
checked_lock(const Definition *definition, Use use)
{
	const Oid source = definition->source;
	if (use == Use::own) {
		check_owner(source);
		lock_queues_of(source);
		return AccessShareLock;
	}
	if (use == Use::insert || writes(definition, use)) {
		check_any_right(source, use == Use::insert ? ACL_INSERT : ACL_UPDATE | ACL_DELETE);
		return RowExclusiveLock;
	}
	check_any_right(source, ACL_SELECT);
	return AccessShareLock;
}

// Locks the table of the queue that find() finds, as the use wants it.
template <typename Find>
static Definition *
open(Use use, Find &&find)
{
	Definition *definition = nullptr;
	lock_found([&]() -> Wanted {
		definition = find();
		if (definition == nullptr || use == Use::name)
			return {};
		return {definition->source, checked_lock(definition, use)};
	});
	return definition;
}

static Definition *
find_by_name(const char *text)
{
	Definition *definition = recall(text);
	if (definition != nullptr)
		return definition;
	const Name name = parse_name(text);
	const uint64 changes_before = change_count;
	const Oid source = find_source(name, text);
	definition = OidIsValid(source) ? find_or_build(source, name.name) : nullptr;
	if (definition != nullptr)
		remember(text, definition, changes_before,
				 name.is_qualified() ? get_rel_namespace(source) : InvalidOid, name.is_qualified());
	return definition;
}

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
	if (is_left_behind(find_table(parse_name(text))))
		error::queue_left_behind(text);
	error::no_such_queue(text);
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

static Definition *
find_by_table(Oid table)
{
	char text[max_name_text + 1];
	snprintf(text, sizeof(text), "\1%u", table); // no name begins so
	Definition *definition = recall(text);
	if (definition != nullptr)
		return definition;
	const uint64 changes_before = change_count;
	const char *name = find_only_name(table);
	definition = name != nullptr ? find_or_build(table, name) : nullptr;
	if (definition != nullptr)
		remember(text, definition, changes_before, InvalidOid, true);
	return definition;
}

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

} // namespace queue_ext::queue
