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
constexpr int place_count = 1024;

struct Directory {
	LWLock lock;
	int tranche;
	uint64 clock;
	Ring rings[place_count];
};

static Directory *directory = nullptr;
static bool is_shared = false;

static void
initialize(void *memory)
{
	auto *fresh = static_cast<Directory *>(memory);
	memset(fresh, 0, sizeof(Directory));
	fresh->tranche = compat::new_tranche("queue_ext");
	LWLockInitialize(&fresh->lock, fresh->tranche);
	for (Ring &ring : fresh->rings)
		SpinLockInit(&ring.mutex);
}

#if QUEUE_EXT_HAS_NAMED_SEGMENTS

void
register_shared_memory()
{
}

static void *
attach_shared()
{
	bool is_found;
	return compat::named_segment(segment_name, sizeof(Directory), initialize, &is_found);
}

#else

// What stands in the main segment.
struct Anchor {
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

// Null when the slack is used up; the server raises an error for that.
static Anchor *
find_anchor(bool *is_found)
{
	Anchor *anchor = nullptr;
	MemoryContext context = CurrentMemoryContext;
	PG_TRY();
	{
		anchor = static_cast<Anchor *>(ShmemInitStruct(segment_name, sizeof(Anchor), is_found));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		anchor = nullptr;
	}
	PG_END_TRY();
	return anchor;
}

static void *
attach_shared()
{
	void *memory = nullptr;
	bool is_found = false;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	Anchor *anchor = find_anchor(&is_found);
	if (anchor != nullptr && !is_found)
		anchor->segment = DSM_HANDLE_INVALID;
	if (anchor != nullptr)
	{
		const bool is_new = anchor->segment == DSM_HANDLE_INVALID;
		dsm_segment *segment = is_new ? dsm_create(sizeof(Directory), DSM_CREATE_NULL_IF_MAXSEGMENTS)
									  : dsm_attach(anchor->segment);
		if (segment != nullptr)
		{
			dsm_pin_mapping(segment);
			memory = dsm_segment_address(segment);
			if (is_new)
			{
				dsm_pin_segment(segment);
				initialize(memory);
				anchor->segment = dsm_segment_handle(segment);
			}
		}
	}
	LWLockRelease(AddinShmemInitLock);
	return memory;
}

#endif

static void
attach()
{
	void *memory = attach_shared();
	is_shared = memory != nullptr;
	if (!is_shared)
	{
		memory = MemoryContextAlloc(TopMemoryContext, sizeof(Directory));
		initialize(memory);
	}
	directory = static_cast<Directory *>(memory);
	compat::register_tranche(directory->tranche, "queue_ext");
}

Ring *
find_ring(const RingKey &key)
{
	if (directory == nullptr)
		attach();
	LWLockAcquire(&directory->lock, LW_EXCLUSIVE);
	Ring *oldest = &directory->rings[0];
	Ring *found = nullptr;
	for (Ring &ring : directory->rings)
	{
		if (ring.key == key)
		{
			found = &ring;
			break;
		}
		if (ring.used_at < oldest->used_at)
			oldest = &ring;
	}
	if (found == nullptr)
	{
		found = oldest;
		reset(found, key);
	}
	found->used_at = ++directory->clock;
	LWLockRelease(&directory->lock);
	return found;
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

} // namespace queue_ext::claim
