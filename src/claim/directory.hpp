// directory.hpp - the shared memory of the claim engine: a fixed number of rings, of
// which the least recently used makes room for a queue that has none.
//
// It needs no shared_preload_libraries. From 17 on the server keeps named segments;
// before that, a few bytes of the main segment's slack lead to a dynamic one. Where
// neither can be had, rings are local to the backend: each then finds its own
// candidates, slower and just as right.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// Registers what preloading allows to ask for. Called once, by _PG_init.
void register_shared_memory();

// The ring of the key, made or taken over if there is none. Takes an LWLock; does not
// raise but for want of memory.
Ring *get_ring(const RingKey &key);

// The ring in that place, copied; false where there is none of this database.
bool copy_ring(int place, Ring *copy);

// Sets the counters of the ring in that place to zero, if it is of this database.
void reset_counters(int place);

// How many places there are.
int ring_count();

} // namespace queue_ext::claim
