// dependency.cpp - see dependency.hpp.

#include "../postgres.hpp"

#include "dependency.hpp"

namespace queue_ext::catalog {

using compat::SysCacheId;

namespace {

// What a message is about: an object of a syscache, by its hash value, or a relation.
struct Subject
{
	int cache;
	uint32 value; // 0: all
};

} // namespace

constexpr int relations = -1;

struct Dependency
{
	Links<Dependency> links; // of the same subject
	Dependent *of;
	Subject subject;
	Dependency *next; // of the same dependent
};

namespace {

struct Dependencies
{
	Subject subject; // the hash key
	Chain<Dependency, &Dependency::links> list;
};

} // namespace

static Chain<Dependent, &Dependent::links> dependents;
static HTAB *subjects = nullptr;
static HTAB *watched = nullptr; // the keys alone

// The last messages, for those who were reading catalogs when they came.
constexpr uint64 recent_count = 64;
static Subject recent[recent_count];
static uint64 messages = 0;
static uint64 invalidations = 0;

static HTAB *
create_table(const char *name, Size entry_size)
{
	HASHCTL control{};
	control.keysize = sizeof(Subject);
	control.entrysize = entry_size;
	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS);
}

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

// Whether everything depends on it.
static bool
is_general(const Subject &subject)
{
	return subject.value == 0 ||
		   (watched != nullptr && hash_search(watched, &subject, HASH_FIND, nullptr) != nullptr);
}

static void
invalidate(Dependent *dependent)
{
	dependent->is_valid = false;
	invalidations++;
}

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

static void
on_relation_change(Datum, Oid relation)
{
	on_message({relations, relation});
}

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
	CacheRegisterRelcacheCallback(on_relation_change, static_cast<Datum>(0));
	for (const SysCacheId cache : caches)
		CacheRegisterSyscacheCallback(cache, on_object_change, static_cast<Datum>(0));
}

static void
forget(Dependency *dependency)
{
	auto *found = static_cast<Dependencies *>(
		hash_search(subjects, &dependency->subject, HASH_FIND, nullptr));
	found->list.remove(dependency);
	if (found->list.is_empty())
		(void) hash_search(subjects, &dependency->subject, HASH_REMOVE, nullptr);
}

// The memory of all this goes with the context.
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

static void
depend_on(Dependent *dependent, const Subject &subject)
{
	if (subjects == nullptr)
		subjects = create_table("queue_ext dependencies", sizeof(Dependencies));
	bool is_found;
	auto *found = static_cast<Dependencies *>(hash_search(subjects, &subject, HASH_FIND, nullptr));
	// It is there twice where another has come between, and no harm done: a thing may depend on
	// too many others for its own list to be searched each time.
	if (found != nullptr && found->list.first->of == dependent)
		return;
	// Before it is in the table there must be nothing left that could fail.
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

void
depend_on_object(Dependent *dependent, SysCacheId cache, Oid object)
{
	if (!OidIsValid(object))
		return;
	const Subject subject{static_cast<int>(cache),
						  GetSysCacheHashValue1(cache, ObjectIdGetDatum(object))};
	// The schema "public" and its like have low numbers, and may be renamed.
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
