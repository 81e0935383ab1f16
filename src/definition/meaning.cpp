// meaning.cpp - see meaning.hpp.

#include "../postgres.hpp"

#include "meaning.hpp"

#include "../compat.hpp"
#include "../statement/search_path.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// The spellings of a queue's name of which the meaning is remembered.
constexpr int most_spellings = 8;

namespace {

// A hash entry: a name as written, and its meaning.
struct Remembered
{
	char text[max_name_text + 1]; // the hash key
	Meaning *meaning;             // null if find() has just made the entry
};

} // namespace

static HTAB *remembered = nullptr;

// The text is a fixed-size key: callers keep to max_name_text.
static Remembered *
find(const char *text, HASHACTION action)
{
	if (remembered == nullptr) {
		HASHCTL control{};
		control.keysize = sizeof(Remembered::text);
		control.entrysize = sizeof(Remembered);
		remembered = hash_create("queue_ext queue names", 64, &control, HASH_ELEM | HASH_STRINGS);
	}
	bool is_found;
	auto *entry = static_cast<Remembered *>(hash_search(remembered, text, action, &is_found));
	if (entry != nullptr && !is_found)
		entry->meaning = nullptr;
	return entry;
}

// Deleting the context ends the meaning's dependencies.
static void
remove(Meaning *meaning)
{
	Meaning **link = &meaning->definition->meanings;
	while (*link != meaning)
		link = &(*link)->next;
	*link = meaning->next;
	MemoryContextDelete(meaning->dependent.context);
}

static void
forget(Remembered *entry)
{
	Meaning *meaning = entry->meaning;
	(void) hash_search(remembered, entry->text, HASH_REMOVE, nullptr);
	if (meaning != nullptr)
		remove(meaning);
}

static void
forget(const Meaning *meaning)
{
	forget(find(meaning->text, HASH_FIND));
}

// The definition is not freed before forget_meanings_of(), so it can be looked at.
static bool
is_valid(const Meaning *meaning)
{
	return meaning->dependent.is_valid && meaning->definition->dependent.is_valid;
}

// Compares the schemas of the path, since equal settings may mean other schemas for another role.
static bool
is_under_its_path(const Meaning *meaning)
{
	if (meaning->is_path_free)
		return true;
	Oid path[max_remembered_path];
	const int length = statement::search_path_schemas(path, max_remembered_path);
	return length <= max_remembered_path && length == meaning->path_length &&
		   memcmp(path, meaning->path, sizeof(Oid) * length) == 0;
}

static bool
is_current(const Meaning *meaning)
{
	if (!is_valid(meaning))
		return false;
	// The role may have changed since. (The search path has only schemas that the role may use.)
	if (OidIsValid(meaning->schema) &&
		compat::check_schema(meaning->schema, GetUserId(), ACL_USAGE) != ACLCHECK_OK)
		return false;
	return is_under_its_path(meaning);
}

// Does not touch the definition: the caller does, once the table is locked.
Definition *
known_meaning(const char *text)
{
	const Remembered *entry = find(text, HASH_FIND);
	return entry != nullptr && entry->meaning != nullptr && is_current(entry->meaning)
			   ? entry->meaning->definition
			   : nullptr;
}

// The path is read first, and compared again in end_meaning().
Meaning *
begin_meaning()
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "queue_ext queue name", ALLOCSET_SMALL_SIZES);
	auto *meaning = static_cast<Meaning *>(MemoryContextAllocZero(context, sizeof(Meaning)));
	begin_dependent(&meaning->dependent, context);
	meaning->path_length = statement::search_path_schemas(meaning->path, max_remembered_path);
	return meaning;
}

// Of too many the oldest is forgotten.
static void
add(Definition *definition, Meaning *meaning)
{
	meaning->next = definition->meanings;
	definition->meanings = meaning;
	note_growth(definition);
	int count = 1;
	while (meaning->next != nullptr) {
		meaning = meaning->next;
		count++;
	}
	if (count > most_spellings)
		forget(meaning);
}

void
end_meaning(const char *text, Meaning *meaning)
{
	// A schema may have been added to the path since begin_meaning().
	if (meaning->definition == nullptr || !is_valid(meaning) || !is_under_its_path(meaning)) {
		MemoryContextDelete(meaning->dependent.context);
		return;
	}
	meaning->text = MemoryContextStrdup(meaning->dependent.context, text);
	Remembered *entry = find(text, HASH_ENTER);
	if (entry->meaning != nullptr)
		remove(entry->meaning);
	entry->meaning = meaning;
	MemoryContextSetParent(meaning->dependent.context, CacheMemoryContext);
	add(meaning->definition, meaning);
}

Size
size_of_meanings(const Definition *definition)
{
	Size size = 0;
	for (const Meaning *one = definition->meanings; one != nullptr; one = one->next)
		size += MemoryContextMemAllocated(one->dependent.context, true) + sizeof(Remembered);
	return size;
}

// dynahash allows the removal of the entry that a scan has just returned.
void
forget_invalid_meanings()
{
	if (remembered == nullptr)
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, remembered);
	while (auto *entry = static_cast<Remembered *>(hash_seq_search(&scan)))
		if (entry->meaning == nullptr || !is_valid(entry->meaning))
			forget(entry);
}

void
forget_meanings_of(Definition *definition)
{
	while (definition->meanings != nullptr)
		forget(definition->meanings);
}

} // namespace queue_ext::definition
