// segment.hpp - one segment of dynamic shared memory that every backend finds again.
//
// It needs no shared_preload_libraries: a few bytes of the main segment lead to it, which
// preloading asks for, and which are taken from its slack otherwise. From 17 on a named
// segment serves where there is no slack left.
//
// A backend may fail to get at what others have: the operating system has no memory, no
// file descriptor, or forbids it. Such a stray says so in the main segment, and others
// cease to rely on being told of everything.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// Asks for the bytes in the main segment. For preloading.
void request_anchor();

struct Segment
{
	void *memory; // null: there is none for this backend
	size_t size;  // may have been rounded up
};

// The segment, made of that size, and initialised, if there is none yet. Takes an LWLock;
// does not raise but for want of this backend's own memory. To be called once.
Segment attach_segment(size_t size, void (*initialize)(void *memory, size_t size));

// Whether all backends have the segment, so that what is not told there does not happen.
bool is_shared_by_all();

} // namespace queue_ext::claim
