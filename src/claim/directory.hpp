// directory.hpp - the shared memory of the claim engine: a fixed number of rings
// (queue_ext.max_rings), of which the least recently used makes room for a queue that
// has none.
//
// It needs no shared_preload_libraries: a few bytes of the main segment's slack, or
// from 17 on a named segment, lead to a dynamic one. Where neither can be had, rings
// are local to the backend: each then finds its own candidates, slower and just as
// right.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::claim {

// Registers what preloading allows to ask for, and the setting. Called once, by
// _PG_init.
void register_shared_memory();

// The ring of the key, made or taken over if there is none. Takes an LWLock; does not
// raise but for want of memory.
Ring *get_ring(const RingKey &key);

// What all queues of a table share: how often rows of it have become claimable in a
// way that no ring was told of, and how many backends are about to commit such rows.
// Several tables may share them; then there are a few more sweeps.
struct Wakes
{
	pg_atomic_uint32 number;
	pg_atomic_uint32 under_way;
	pg_atomic_uint32 ranked; // the place of a ranked ring, perhaps of such a table
};

// Those of the table. Does not raise but for want of memory.
Wakes *get_wakes(Oid table);

// Whether all backends have these rings and wakes, so that what is not told here does
// not happen.
bool is_shared_by_all();

// The ranked ring of the table, whose key is put into *key; null where there is none
// that is known of.
Ring *find_ranked_ring(Oid table, RingKey *key);

// The ring in that place, copied; false where there is none of this database.
bool copy_ring(int place, Ring *copy);

// Sets the counters of the ring in that place to zero, if it is of this database.
void reset_counters(int place);

// How many places there are.
int ring_count();

} // namespace queue_ext::claim
