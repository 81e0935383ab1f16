// directory.cpp - see directory.hpp.
//
// Locking: the directory's LWLock is held exclusively to find or give away a place;
// a ring's spinlock is taken within it, never the other way round.

#include "../postgres.hpp"

#include "directory.hpp"

#include "../compat.hpp"

namespace queue_ext::claim {

// Changes with the layout of anything below, so that a new library does not read
// an old one's memory.
constexpr const char *segment_name = "queue_ext/1";

// A key may be in any of the places of the set that its hash names.
constexpr int set_count = 256;
constexpr int set_size = 4;
constexpr int place_count = set_count * set_size;

struct Directory
{
	LWLock lock;
	int tranche;
	Ring rings[place_count];
};

static Directory *directory = nullptr;

static void
initialize(void *memory)
{
	auto *fresh = static_cast<Directory *>(memory);
	memset(fresh, 0, sizeof(Directory));
	fresh->tranche = compat::new_tranche("queue_ext");
	LWLockInitialize(&fresh->lock, fresh->tranche);
	for (Ring &ring : fresh->rings) {
		SpinLockInit(&ring.mutex);
		ConditionVariableInit(&ring.filled);
	}
}

#if QUEUE_EXT_HAS_NAMED_SEGMENTS

void
register_shared_memory()
{}

static void *
attach_shared()
{
	bool is_found;
	return compat::named_segment(segment_name, sizeof(Directory), initialize, &is_found);
}

#else

// What stands in the main segment.
struct Anchor
{
	dsm_handle segment; // DSM_HANDLE_INVALID: none yet
};

static shmem_request_hook_type previous_hook = nullptr;

static void
request_anchor()
{
	if (previous_hook != nullptr)
		previous_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Anchor)));
}

void
register_shared_memory()
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	previous_hook = shmem_request_hook;
	shmem_request_hook = request_anchor;
}

// Runs body, which asks the server for memory. False when there is none, which the
// server would raise an error for; any other error goes on. An error forgets which
// interrupts were held off; the caller still holds a lock.
template <typename Body>
static bool
if_there_is_room(Body &&body)
{
	MemoryContext context = CurrentMemoryContext;
	const uint32 held_off = InterruptHoldoffCount;
	volatile bool is_done = true;
	PG_TRY();
	{
		body();
	}
	PG_CATCH();
	{
		InterruptHoldoffCount = held_off;
		MemoryContextSwitchTo(context);
		ErrorData *error = CopyErrorData();
		FlushErrorState();
		const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
		if (category != ERRCODE_INSUFFICIENT_RESOURCES && category != ERRCODE_SYSTEM_ERROR)
			ReThrowError(error);
		FreeErrorData(error);
		is_done = false;
	}
	PG_END_TRY();
	return is_done;
}

// The segment that the anchor leads to, made if there is none; null without room.
static void *
find_segment(Anchor *anchor)
{
	const bool is_new = anchor->segment == DSM_HANDLE_INVALID;
	dsm_segment *segment = is_new ? dsm_create(sizeof(Directory), DSM_CREATE_NULL_IF_MAXSEGMENTS)
								  : dsm_attach(anchor->segment);
	if (segment == nullptr)
		return nullptr;
	dsm_pin_mapping(segment);
	void *memory = dsm_segment_address(segment);
	if (is_new) {
		dsm_pin_segment(segment);
		initialize(memory);
		anchor->segment = dsm_segment_handle(segment);
	}
	return memory;
}

static void *
attach_shared()
{
	void *memory = nullptr;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	(void) if_there_is_room([&] {
		bool is_found;
		auto *anchor =
			static_cast<Anchor *>(ShmemInitStruct(segment_name, sizeof(Anchor), &is_found));
		if (!is_found)
			anchor->segment = DSM_HANDLE_INVALID;
		memory = find_segment(anchor);
	});
	LWLockRelease(AddinShmemInitLock);
	return memory;
}

#endif

static void
attach()
{
	void *memory = attach_shared();
	if (memory == nullptr) {
		memory = MemoryContextAlloc(TopMemoryContext, sizeof(Directory));
		initialize(memory);
	}
	directory = static_cast<Directory *>(memory);
	compat::register_tranche(directory->tranche, "queue_ext");
}

static Ring *
set_of(const RingKey &key)
{
	if (directory == nullptr)
		attach();
	const uint64 hash = key.stamp ^ (static_cast<uint64>(key.table) << 16) ^ key.database;
	return &directory->rings[(hash % set_count) * set_size];
}

// The key's ring within its set, or null. The directory must be locked.
static Ring *
find_in(Ring *set, const RingKey &key)
{
	for (int i = 0; i < set_size; i++)
		if (set[i].key == key)
			return &set[i];
	return nullptr;
}

Ring *
get_ring(const RingKey &key)
{
	Ring *set = set_of(key);
	LWLockAcquire(&directory->lock, LW_SHARED);
	Ring *ring = find_in(set, key);
	LWLockRelease(&directory->lock);
	if (ring != nullptr)
		return ring;
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	ring = find_in(set, key);
	if (ring == nullptr) {
		ring = &set[0];
		for (int i = 1; i < set_size; i++)
			if (set[i].used_at < ring->used_at)
				ring = &set[i];
		reset(ring, key);
		ring->used_at = GetCurrentTimestamp();
	}
	LWLockRelease(&directory->lock);
	return ring;
}

int
ring_count()
{
	return place_count;
}

bool
copy_ring(int place, Ring *copy)
{
	if (directory == nullptr)
		attach();
	Ring *ring = &directory->rings[place];
	SpinLockAcquire(&ring->mutex);
	*copy = *ring;
	SpinLockRelease(&ring->mutex);
	return copy->key.database == MyDatabaseId;
}

void
reset_counters(int place)
{
	if (directory == nullptr)
		attach();
	Ring *ring = &directory->rings[place];
	SpinLockAcquire(&ring->mutex);
	if (ring->key.database == MyDatabaseId)
		ring->counters = {};
	SpinLockRelease(&ring->mutex);
}

} // namespace queue_ext::claim
