// dependency.cpp - see dependency.hpp.

#include "../postgres.hpp"

#include "dependency.hpp"

#include "relation_change.hpp"

namespace queue_ext::catalog {

using compat::SysCacheId;

namespace {

// The subject of a message: an object of a syscache, by its hash value, or a relation by its OID.
struct Subject
{
	int cache;
	uint32 value; // 0: all of the cache
};

} // namespace

// In Subject::cache: the relcache. Syscache identifiers are not negative.
constexpr int relations = -1;

// One dependency of one dependent, in both of their lists.
struct Dependency
{
	Links<Dependency> links; // of all with the same subject
	Dependent *of;
	Subject subject;
	Dependency *next; // of all with the same dependent
};

namespace {

// The hash entry of a subject.
struct Dependencies
{
	Subject subject; // the hash key
	Chain<Dependency, &Dependency::links> list;
};

} // namespace

// All dependents of this backend, for messages that concern all of them.
static Chain<Dependent, &Dependent::links> dependents;
static HTAB *subjects = nullptr;
static HTAB *watched = nullptr; // the entries are subjects

// The last messages, for dependents that were being made when they came.
constexpr uint64 recent_count = 64;
static Subject recent[recent_count];
static uint64 messages = 0;
static uint64 invalidations = 0;

// The hash table lives in TopMemoryContext. Subject is its key, and has no padding.
static HTAB *
create_table(const char *name, Size entry_size)
{
	HASHCTL control{};
	control.keysize = sizeof(Subject);
	control.entrysize = entry_size;
	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS);
}

// Searches the dependent's own list, which may be long: only for messages that came while it was
// being made.
static bool
depends(const Dependent *dependent, const Subject &subject)
{
	for (const Dependency *dependency = dependent->dependencies; dependency != nullptr;
		 dependency = dependency->next)
		if (dependency->subject.cache == subject.cache &&
			dependency->subject.value == subject.value)
			return true;
	return false;
}

// Whether a message about the subject makes all dependents invalid.
static bool
is_general(const Subject &subject)
{
	return subject.value == 0 ||
		   (watched != nullptr && hash_search(watched, &subject, HASH_FIND, nullptr) != nullptr);
}

// Only marks the dependent: a call further up the stack may be using it.
static void
invalidate(Dependent *dependent)
{
	dependent->is_valid = false;
	invalidations++;
}

// Called while invalidation messages are accepted, at any lock or catalog access: it must not read
// catalogs, and allocates nothing.
static void
on_message(const Subject &subject)
{
	recent[messages++ % recent_count] = subject;
	if (is_general(subject)) {
		for (Dependent *one = dependents.first; one != nullptr; one = one->links.next)
			invalidate(one);
		return;
	}
	if (subjects == nullptr)
		return;
	auto *found = static_cast<Dependencies *>(hash_search(subjects, &subject, HASH_FIND, nullptr));
	if (found == nullptr)
		return;
	for (Dependency *one = found->list.first; one != nullptr; one = one->links.next)
		invalidate(one->of);
}

// InvalidOid means all relations.
static void
on_relation_change(Oid relation)
{
	on_message({relations, relation});
}

// A hash value of 0 means the whole syscache.
static void
on_object_change(Datum, SysCacheId cache, uint32 hash)
{
	on_message({static_cast<int>(cache), hash});
}

void
register_dependencies()
{
	static constexpr SysCacheId caches[] = {PROCOID, NAMESPACEOID, TYPEOID,   OPEROID, COLLOID,
											ENUMOID, TSCONFIGOID,  TSDICTOID, AUTHOID};
	listen_to_relations(on_relation_change);
	for (const SysCacheId cache : caches)
		CacheRegisterSyscacheCallback(cache, on_object_change, static_cast<Datum>(0));
}

// Removes the subject's entry with its last dependency.
static void
forget(Dependency *dependency)
{
	auto *found = static_cast<Dependencies *>(
		hash_search(subjects, &dependency->subject, HASH_FIND, nullptr));
	found->list.remove(dependency);
	if (found->list.is_empty())
		(void) hash_search(subjects, &dependency->subject, HASH_REMOVE, nullptr);
}

// Context callback: removes the dependencies from the lists. Their memory is freed with the
// context.
static void
end_dependent(void *argument)
{
	auto *dependent = static_cast<Dependent *>(argument);
	for (Dependency *dependency = dependent->dependencies; dependency != nullptr;
		 dependency = dependency->next)
		forget(dependency);
	dependents.remove(dependent);
	*dependent = {};
}

// The callback is registered last, and cannot fail: it uses memory within the dependent.
void
begin_dependent(Dependent *dependent, MemoryContext context)
{
	*dependent = {};
	dependent->is_valid = true;
	dependent->context = context;
	dependent->end.func = end_dependent;
	dependent->end.arg = dependent;
	dependents.push_front(dependent);
	MemoryContextRegisterResetCallback(context, &dependent->end);
}

// Raises 53200 when out of memory, with the lists unchanged.
static void
depend_on(Dependent *dependent, const Subject &subject)
{
	if (subjects == nullptr)
		subjects = create_table("queue_ext dependencies", sizeof(Dependencies));
	bool is_found;
	auto *found = static_cast<Dependencies *>(hash_search(subjects, &subject, HASH_FIND, nullptr));
	// An entry may be made twice where another dependent's comes in between, which does no harm:
	// the dependent's own list is too long to be searched each time.
	if (found != nullptr && found->list.first->of == dependent)
		return;
	// Allocates before the lists change, so that an error leaves them as they were.
	auto *dependency =
		static_cast<Dependency *>(MemoryContextAllocZero(dependent->context, sizeof(Dependency)));
	found = static_cast<Dependencies *>(hash_search(subjects, &subject, HASH_ENTER, &is_found));
	if (!is_found)
		found->list = {};
	dependency->of = dependent;
	dependency->subject = subject;
	dependency->next = dependent->dependencies;
	dependent->dependencies = dependency;
	found->list.push_front(dependency);
}

// Entries are never removed: there are at most as many as objects of PostgreSQL's own.
static void
watch(const Subject &subject)
{
	if (watched == nullptr)
		watched = create_table("queue_ext watched objects", sizeof(Subject));
	(void) hash_search(watched, &subject, HASH_ENTER, nullptr);
}

void
depend_on_relation(Dependent *dependent, Oid relation)
{
	if (OidIsValid(relation))
		depend_on(dependent, {relations, relation});
}

// Only hashes the OID, so the object need not exist.
void
depend_on_object(Dependent *dependent, SysCacheId cache, Oid object)
{
	if (!OidIsValid(object))
		return;
	const Subject subject{static_cast<int>(cache),
						  GetSysCacheHashValue1(cache, ObjectIdGetDatum(object))};
	// Schemas such as "public" have an OID below FirstNormalObjectId, and can be renamed.
	if (object >= FirstNormalObjectId || (cache == NAMESPACEOID && object != PG_CATALOG_NAMESPACE))
		depend_on(dependent, subject);
	else
		watch(subject);
}

void
watch_function(Oid function)
{
	watch({PROCOID, GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(function))});
}

uint64
message_count()
{
	return messages;
}

uint64
invalidation_count()
{
	return invalidations;
}

// A dependent whose catalogs took longer than recent_count messages to read counts as changed.
void
catch_up(Dependent *dependent, uint64 messages_before)
{
	if (messages - messages_before > recent_count)
		invalidate(dependent);
	for (uint64 i = messages_before; i < messages && dependent->is_valid; i++) {
		const Subject &subject = recent[i % recent_count];
		if (is_general(subject) || depends(dependent, subject))
			invalidate(dependent);
	}
}

} // namespace queue_ext::catalog
