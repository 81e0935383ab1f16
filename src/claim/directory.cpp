// directory.cpp - see directory.hpp.
//
// Locking: the directory's LWLock is held shared to find a ring, exclusively to give
// its place away; a ring's spinlock is taken within it, never the other way round.

#include "../postgres.hpp"

#include "directory.hpp"

#include "../compat.hpp"
#include "../queue/subtransaction.hpp"

namespace queue_ext::claim {

// Changes with the layout of anything below, so that a new library does not read
// an old one's memory.
constexpr const char *segment_name = "queue_ext/3";

// A ring may be in any of the places of the set that its key's hash names.
constexpr int set_size = 8;
constexpr int wakes_count = 1024;

struct Set
{
	Ring rings[set_size];
};

struct Directory
{
	LWLock lock;
	int tranche;
	Wakes wakes[wakes_count]; // by the table's hash
	int set_count;
	Set sets[FLEXIBLE_ARRAY_MEMBER];
};

static int max_rings = 1024;

static Directory *directory = nullptr;

static size_t
size_for(int set_count)
{
	return offsetof(Directory, sets) + sizeof(Set) * set_count;
}

static void
initialize(void *memory, int set_count)
{
	auto *fresh = static_cast<Directory *>(memory);
	memset(memory, 0, size_for(set_count));
	fresh->tranche = compat::new_tranche("queue_ext");
	fresh->set_count = set_count;
	LWLockInitialize(&fresh->lock, fresh->tranche);
	for (Wakes &wakes : fresh->wakes) {
		pg_atomic_init_u32(&wakes.number, 0);
		pg_atomic_init_u32(&wakes.under_way, 0);
		pg_atomic_init_u32(&wakes.ranked, 0);
	}
	for (int i = 0; i < set_count; i++)
		for (Ring &ring : fresh->sets[i].rings) {
			SpinLockInit(&ring.mutex);
			ConditionVariableInit(&ring.filled);
		}
}

static int
wanted_sets()
{
	return (max_rings + set_size - 1) / set_size;
}

// What leads to the segment that the rings are in.
struct Anchor
{
	dsm_handle segment; // DSM_HANDLE_INVALID: none yet
	bool has_strays;    // backends that had no room for it
};

static Anchor *anchor = nullptr;
static bool is_local = false; // this backend's rings are its own

#if QUEUE_EXT_HAS_NAMED_SEGMENTS

static void
request_shared_memory()
{}

static Anchor *
find_anchor()
{
	bool is_found;
	return static_cast<Anchor *>(compat::named_segment(
		segment_name, sizeof(Anchor),
		[](void *memory) {
			*static_cast<Anchor *>(memory) = {DSM_HANDLE_INVALID, false};
		},
		&is_found));
}

#else

static shmem_request_hook_type previous_hook = nullptr;

static void
request_anchor()
{
	if (previous_hook != nullptr)
		previous_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Anchor)));
}

static void
request_shared_memory()
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_hook = shmem_request_hook;
	shmem_request_hook = request_anchor;
}

static Anchor *
find_anchor()
{
	bool is_found;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	auto *found = static_cast<Anchor *>(ShmemInitStruct(segment_name, sizeof(Anchor), &is_found));
	if (!is_found)
		*found = {DSM_HANDLE_INVALID, false};
	LWLockRelease(AddinShmemInitLock);
	return found;
}

#endif

void
register_shared_memory()
{
	constexpr int most_rings = 65536;
	DefineCustomIntVariable(
		"queue_ext.max_rings", "Sets how many queues have candidates for claims at hand.",
		"Takes effect when the rings are made: at their first use after the server has started.",
		&max_rings, max_rings, set_size, most_rings, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
	request_shared_memory();
}

// Whether the server raises the error where it has no memory to give.
static bool
is_for_want_of_room(const ErrorData *error)
{
	const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
	return category == ERRCODE_INSUFFICIENT_RESOURCES || category == ERRCODE_SYSTEM_ERROR;
}

// The segment that the anchor leads to, made if there is none; null without room.
static void *
find_segment()
{
	const bool is_new = anchor->segment == DSM_HANDLE_INVALID;
	dsm_segment *segment = is_new
							   ? dsm_create(size_for(wanted_sets()), DSM_CREATE_NULL_IF_MAXSEGMENTS)
							   : dsm_attach(anchor->segment);
	if (segment == nullptr)
		return nullptr;
	dsm_pin_mapping(segment);
	void *memory = dsm_segment_address(segment);
	if (is_new) {
		dsm_pin_segment(segment);
		initialize(memory, wanted_sets());
		anchor->segment = dsm_segment_handle(segment);
	}
	return memory;
}

static void *
attach_shared()
{
	void *memory = nullptr;
	const auto find = [&] {
		anchor = find_anchor();
		LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
		memory = find_segment();
		LWLockRelease(AddinShmemInitLock);
	};
	(void) queue::in_subtransaction(find, is_for_want_of_room);
	return memory;
}

static Directory *
attached()
{
	if (directory != nullptr)
		return directory;
	void *memory = attach_shared();
	if (memory == nullptr) {
		is_local = true;
		if (anchor != nullptr)
			anchor->has_strays = true;
		memory = MemoryContextAllocHuge(TopMemoryContext, size_for(wanted_sets()));
		initialize(memory, wanted_sets());
	}
	directory = static_cast<Directory *>(memory);
	compat::register_tranche(directory->tranche, "queue_ext");
	return directory;
}

static uint32
hash_of(Oid database, Oid table)
{
	return hash_combine(murmurhash32(database), murmurhash32(table));
}

static Set *
set_of(const RingKey &key)
{
	Directory *all = attached();
	const uint32 name =
		DatumGetUInt32(hash_any(reinterpret_cast<const unsigned char *>(NameStr(key.queue)),
								static_cast<int>(strlen(NameStr(key.queue)))));
	const uint32 hash = hash_combine(hash_of(key.database, key.table), name);
	return &all->sets[hash % all->set_count];
}

// The queue's ring within its set, or null. The directory must be locked.
static Ring *
find_in(Set *set, const RingKey &key)
{
	for (Ring &ring : set->rings)
		if (ring.key.is_of_queue(key))
			return &ring;
	return nullptr;
}

static Ring *
least_recently_used(Set *set)
{
	Ring *oldest = &set->rings[0];
	for (Ring &ring : set->rings)
		if (ring.used_at < oldest->used_at)
			oldest = &ring;
	return oldest;
}

Ring *
get_ring(const RingKey &key)
{
	Set *set = set_of(key);
	LWLockAcquire(&directory->lock, LW_SHARED);
	Ring *ring = find_in(set, key);
	const bool is_there = ring != nullptr && ring->key == key;
	LWLockRelease(&directory->lock);
	if (is_there)
		return ring;
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	ring = find_in(set, key);
	if (ring == nullptr)
		ring = least_recently_used(set);
	if (!(ring->key == key)) {
		reset(ring, key);
		ring->used_at = GetCurrentTimestamp();
	}
	LWLockRelease(&directory->lock);
	if (key.is_ranked) {
		const auto place = (set - directory->sets) * set_size + (ring - set->rings);
		pg_atomic_write_u32(&get_wakes(key.table)->ranked, static_cast<uint32>(place));
	}
	return ring;
}

bool
is_shared_by_all()
{
	return !is_local && !anchor->has_strays;
}

Wakes *
get_wakes(Oid table)
{
	return &attached()->wakes[hash_of(MyDatabaseId, table) % wakes_count];
}

int
ring_count()
{
	return attached()->set_count * set_size;
}

static Ring *
ring_at(int place)
{
	return &attached()->sets[place / set_size].rings[place % set_size];
}

Ring *
find_ranked_ring(Oid table, RingKey *key)
{
	const uint32 place = pg_atomic_read_u32(&get_wakes(table)->ranked);
	if (place >= static_cast<uint32>(ring_count()))
		return nullptr;
	Ring *ring = ring_at(static_cast<int>(place));
	SpinLockAcquire(&ring->mutex);
	*key = ring->key;
	SpinLockRelease(&ring->mutex);
	const bool is_right = key->is_ranked && key->table == table && key->database == MyDatabaseId;
	return is_right ? ring : nullptr;
}

bool
copy_ring(int place, Ring *copy)
{
	Ring *ring = ring_at(place);
	SpinLockAcquire(&ring->mutex);
	*copy = *ring;
	SpinLockRelease(&ring->mutex);
	NameStr(copy->key.queue)[NAMEDATALEN - 1] = '\0';
	return copy->key.database == MyDatabaseId;
}

void
reset_counters(int place)
{
	Ring *ring = ring_at(place);
	SpinLockAcquire(&ring->mutex);
	if (ring->key.database == MyDatabaseId)
		ring->counters = {};
	SpinLockRelease(&ring->mutex);
}

} // namespace queue_ext::claim
