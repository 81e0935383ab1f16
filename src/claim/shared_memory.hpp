// shared_memory.hpp - the shared memory of the claim engine: a fixed number of rings
// (queue_ext.max_rings), of which the least recently used makes room for a queue that
// has none.
//
// It is in a segment of its own (segment.hpp). A backend that cannot have that has rings
// of its own: it finds its own candidates, slower and just as right.

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
// A table keeps its wakes until the server stops. Tables that come when those where
// theirs could be are taken share another table's; then there are a few more sweeps.
struct Wakes
{
	pg_atomic_uint64 table; // and its database; 0: of none yet
	pg_atomic_uint32 generation;
	pg_atomic_uint32 under_way;
	pg_atomic_uint32 sorted; // the place of a sorted ring, perhaps of such a table
};

// Those of the table. Does not raise but for want of memory.
Wakes *get_wakes(Oid table);

// The sorted ring of the table, whose key is put into *key; null where there is none
// that is known of.
Ring *find_sorted_ring(Oid table, RingKey *key);

// The ring in that place, copied; false where there is none of this database.
bool copy_ring(int place, Ring *copy);

// Sets the counters of the ring in that place to zero, if it is of this database.
void reset_counters(int place);

// How many places there are.
int ring_count();

} // namespace queue_ext::claim
