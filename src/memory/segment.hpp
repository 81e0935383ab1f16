// segment.hpp - segments of dynamic shared memory that every backend finds again, one for each
// purpose.
//
// They need no shared_preload_libraries: an anchor of a few bytes in the main segment leads to them,
// which preloading requests, and which is allocated from its slack otherwise. Where there is no
// slack left, PostgreSQL 17 and later have a named segment for the anchor.
//
// A backend may fail to attach what others have: the operating system has no memory or no file
// descriptor, or denies permission. Such a stray sets a flag in the anchor, and other backends no
// longer rely on every change reaching the segment.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::memory {

// What a segment is for.
enum class Purpose {
	rings, // of claims
	stats, // of queues
};
constexpr int purpose_count = static_cast<int>(Purpose::stats) + 1;

// Requests memory for the anchor in the main segment, when preloaded. Called by _PG_init.
void request_anchor();

// A segment as this backend has attached it.
struct Segment
{
	void *memory; // null: there is none for this backend
	size_t size;  // may have been rounded up
};

// Attaches the segment; creates it with that size and initializes it if there is none yet. Takes
// AddinShmemInitLock, in a subtransaction; raises only for want of the backend's own memory. Must
// be called once in a backend for each purpose. at_exit, unless null, is called when the backend
// exits, after its locks have been released, with the segment still attached.
Segment attach_segment(Purpose purpose, size_t size, void (*initialize)(void *memory, size_t size),
					   void (*at_exit)());

// Whether there is such a segment already. Until it has found the anchor, or that there is none, it takes
// AddinShmemInitLock, in a subtransaction; raises only for want of the backend's own memory. May be called
// again.
bool is_there(Purpose purpose);

// Whether no backend has had to do without the segment, so that every change reaches it.
bool is_shared_by_all(Purpose purpose);

} // namespace queue_ext::memory
