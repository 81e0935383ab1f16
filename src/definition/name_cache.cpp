// name_cache.cpp - see name_cache.hpp.

#include "../postgres.hpp"

#include "name_cache.hpp"

#include "../compat.hpp"
#include "../statement/search_path.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// So many spellings of a queue's name are cached.
constexpr int most_spellings = 8;

namespace {

// A hash entry: a name as written, and where it leads to.
struct NameEntry
{
	char text[max_name_text + 1]; // the hash key
	CachedName *cached;           // null if find() has just made the entry
};

} // namespace

static HTAB *names = nullptr;

// The text is a fixed-size key: callers keep to max_name_text.
static NameEntry *
find(const char *text, HASHACTION action)
{
	if (names == nullptr) {
		HASHCTL control{};
		control.keysize = sizeof(NameEntry::text);
		control.entrysize = sizeof(NameEntry);
		names = hash_create("queue_ext queue names", 64, &control, HASH_ELEM | HASH_STRINGS);
	}
	bool is_found;
	auto *entry = static_cast<NameEntry *>(hash_search(names, text, action, &is_found));
	if (entry != nullptr && !is_found)
		entry->cached = nullptr;
	return entry;
}

// Deleting the context ends its dependencies.
static void
unlink_and_free(CachedName *cached)
{
	CachedName **link = &cached->definition->cached_names;
	while (*link != cached)
		link = &(*link)->next;
	*link = cached->next;
	MemoryContextDelete(cached->dependent.context);
}

static void
remove(NameEntry *entry)
{
	CachedName *cached = entry->cached;
	(void) hash_search(names, entry->text, HASH_REMOVE, nullptr);
	if (cached != nullptr)
		unlink_and_free(cached);
}

static void
remove(const CachedName *cached)
{
	remove(find(cached->text, HASH_FIND));
}

// The definition is not freed before remove_names_of(), so it can be looked at.
static bool
is_valid(const CachedName *cached)
{
	return cached->dependent.is_valid && cached->definition->dependent.is_valid;
}

// Compares the schemas of the path, since equal settings may mean other schemas for another role.
static bool
is_under_its_path(const CachedName *cached)
{
	if (cached->is_path_free)
		return true;
	Oid path[max_cached_path];
	const int length = statement::search_path_schemas(path, max_cached_path);
	return length <= max_cached_path && length == cached->path_length &&
		   memcmp(path, cached->path, sizeof(Oid) * length) == 0;
}

static bool
is_current(const CachedName *cached)
{
	if (!is_valid(cached))
		return false;
	// The role may have changed since. (The search path has only schemas that the role may use.)
	if (OidIsValid(cached->schema) &&
		compat::check_schema(cached->schema, GetUserId(), ACL_USAGE) != ACLCHECK_OK)
		return false;
	return is_under_its_path(cached);
}

// Does not touch the definition: the caller does, once the table is locked.
Definition *
cached_definition(const char *text)
{
	const NameEntry *entry = find(text, HASH_FIND);
	return entry != nullptr && entry->cached != nullptr && is_current(entry->cached)
			   ? entry->cached->definition
			   : nullptr;
}

// The path is read first, and compared again in end_cached_name().
CachedName *
begin_cached_name()
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext queue name", ALLOCSET_SMALL_SIZES);
	auto *cached = static_cast<CachedName *>(MemoryContextAllocZero(context, sizeof(CachedName)));
	begin_dependent(&cached->dependent, context);
	cached->path_length = statement::search_path_schemas(cached->path, max_cached_path);
	return cached;
}

// Of too many the oldest is removed.
static void
add(Definition *definition, CachedName *cached)
{
	cached->next = definition->cached_names;
	definition->cached_names = cached;
	note_growth(definition);
	int count = 1;
	while (cached->next != nullptr) {
		cached = cached->next;
		count++;
	}
	if (count > most_spellings)
		remove(cached);
}

void
end_cached_name(const char *text, CachedName *cached)
{
	// A schema may have been added to the path since begin_cached_name().
	if (cached->definition == nullptr || !is_valid(cached) || !is_under_its_path(cached)) {
		MemoryContextDelete(cached->dependent.context);
		return;
	}
	cached->text = MemoryContextStrdup(cached->dependent.context, text);
	NameEntry *entry = find(text, HASH_ENTER);
	if (entry->cached != nullptr)
		unlink_and_free(entry->cached);
	entry->cached = cached;
	MemoryContextSetParent(cached->dependent.context, CacheMemoryContext);
	add(cached->definition, cached);
}

Size
size_of_cached_names(const Definition *definition)
{
	Size size = 0;
	for (const CachedName *one = definition->cached_names; one != nullptr; one = one->next)
		size += MemoryContextMemAllocated(one->dependent.context, true) + sizeof(NameEntry);
	return size;
}

// dynahash allows the removal of the entry that a scan has just returned.
void
remove_invalid_names()
{
	if (names == nullptr)
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, names);
	while (auto *entry = static_cast<NameEntry *>(hash_seq_search(&scan)))
		if (entry->cached == nullptr || !is_valid(entry->cached))
			remove(entry);
}

void
remove_names_of(Definition *definition)
{
	while (definition->cached_names != nullptr)
		remove(definition->cached_names);
}

} // namespace queue_ext::definition
