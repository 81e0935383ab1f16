// meaning.cpp - see meaning.hpp.

#include "../postgres.hpp"

#include "meaning.hpp"

#include "../compat.hpp"
#include "../statement/search_path.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// When there are more, all are forgotten: a session that uses so many names will hardly use one of
// them again soon.
constexpr long max_meanings = 1000;

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
forget(Remembered *entry)
{
	Meaning *meaning = entry->meaning;
	(void) hash_search(remembered, entry->text, HASH_REMOVE, nullptr);
	if (meaning != nullptr)
		MemoryContextDelete(meaning->dependent.context);
}

// Forgets the meanings for which are_meant(meaning) holds. dynahash allows the removal of the entry
// that a scan has just returned.
template <typename Choose>
static void
forget_if(Choose &&are_meant)
{
	if (remembered == nullptr)
		return;
	HASH_SEQ_STATUS scan;
	hash_seq_init(&scan, remembered);
	while (auto *entry = static_cast<Remembered *>(hash_seq_search(&scan)))
		if (entry->meaning == nullptr || are_meant(entry->meaning))
			forget(entry);
}

// The definition is not freed before forget_meanings_of_invalid(), so it can be looked at.
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
recall(const char *text)
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

void
end_meaning(const char *text, Meaning *meaning)
{
	// A schema may have been added to the path since begin_meaning().
	if (meaning->definition == nullptr || !is_valid(meaning) || !is_under_its_path(meaning)) {
		MemoryContextDelete(meaning->dependent.context);
		return;
	}
	if (remembered != nullptr && hash_get_num_entries(remembered) >= max_meanings)
		forget_if([](const Meaning *) { return true; });
	Remembered *entry = find(text, HASH_ENTER);
	if (entry->meaning != nullptr)
		MemoryContextDelete(entry->meaning->dependent.context);
	entry->meaning = meaning;
	MemoryContextSetParent(meaning->dependent.context, CacheMemoryContext);
}

void
forget_meanings_of_invalid()
{
	forget_if([](const Meaning *meaning) { return !is_valid(meaning); });
}

} // namespace queue_ext::definition
