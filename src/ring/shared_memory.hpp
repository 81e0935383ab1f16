// shared_memory.hpp - the shared memory of the claim engine: a fixed number of rings
// (queue_ext.max_rings). A queue that has none gets the least recently used one of its set.
//
// It is in a segment of its own (memory/segment.hpp). A backend that cannot attach that has rings of its
// own, and finds its own candidates: slower, and with the same results.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::ring {

// Defines the setting and, when preloaded, requests shared memory for the anchor (memory/segment.hpp).
// Called once, by _PG_init.
void register_shared_memory();

// Has visit_tables called when the backend exits: the rows of the tables for which it calls visit
// are no longer locked, and may be claimed by others. It must not raise. Called once, by _PG_init.
void register_locked_tables(void (*visit_tables)(void (*visit)(Oid table)));

// The ring of the key, for jobs of the kinds (null: of all); if there is none, resets the least recently used one of
// its set at which no backend waits; null if there is no such. Takes the LWLock, and the ring's spinlock. Raises only
// for want of memory.
Ring *get_ring(const RingKey &key, const Kinds *kinds);

// Whether no backend has had to do without the rings in shared memory, so that these are notified of
// every change.
bool are_rings_shared();

// A queue's rings for kinds may be in so many sets, and so many of them in one.
constexpr uint64 kind_sets = 16;
constexpr int most_variants = 4;
constexpr int most_kind_rings = static_cast<int>(kind_sets) * most_variants;

// What all queues of a table share about wake-ups. A table keeps its wakes until the server stops.
// A table that finds all wakes taken that it may use shares one with another table, at the cost of
// a few more sweeps.
struct Wakes
{
	pg_atomic_uint64 table;     // with its database; 0: of no table yet
	pg_atomic_uint64 next_look; // when completions look for expired slots of its archive again
	pg_atomic_uint32
		generation; // counts events, for rings to read in the log or to sweep for; raised under the spinlock
	pg_atomic_uint32 under_way;     // transactions about to commit claimable rows
	pg_atomic_uint32 sorted;        // the index of a sorted ring, perhaps of this table
	pg_atomic_uint32 waiting;       // backends that wait for a job of it
	pg_atomic_uint32 has_kinds;     // 1: there is, or was, a sorted ring for some kinds of its jobs
	pg_atomic_uint32 is_partial;    // 1: a sorted ring may be neither at sorted nor in the list
	pg_atomic_uint32 ended;         // how many of its queues have been detached or dropped
	pg_atomic_uint32 awaiting_ends; // backends that wait for jobs of it to end
	pg_atomic_uint32 ends;          // commits that may have ended some, while there were such
	ConditionVariable ending;       // at which they sleep
	pg_atomic_uint32 of_kinds[most_kind_rings]; // the list: their indexes plus one; 0: none
	slock_t mutex;                              // of the log
	uint32 anywhere;       // the generation after the last event about rows that are not known
	Version log[log_size]; // the version that the event was about; no TID: one of those
};

// A sorted ring of the table for some kinds, and whether it is for that one; where the kind is not
// known it may be.
struct KindRing
{
	Ring *ring; // null: the place of the list has none
	RingKey key;
	bool is_for_kind;
};

// The table's wakes. Takes no lock once the segment is attached; raises only for want of memory.
Wakes *get_wakes(Oid table);

// When completions look for expired slots of the archive of the table again, a TimestampTz; null if the
// table shares its wakes with another one. Takes no lock once the segment is attached; raises only for want of
// memory.
pg_atomic_uint64 *next_look_of(Oid table);

// The table's sorted ring, and its key in *key; null if none is known. Takes the ring's spinlock.
Ring *find_sorted_ring(Oid table, RingKey *key);

// The ring for kinds at this place in the table's list, from 0 to most_kind_rings - 1; its ring is null if
// there is none. Takes the ring's spinlock.
KindRing kind_ring_of(Oid table, Wakes *wakes, int place, uint64 kind);

// Raises the wake-up generation, so that all rings of the table are swept, and wakes a backend at
// each at which some wait. Takes the spinlocks of the log and of these rings. Never raises.
void wake_table(Oid table, Wakes *wakes);

// Puts these versions, which may be claimable, into the table's log, so that the rings that read it
// (claim/news.hpp) are not swept; wakes a backend at each ring of the table at which some wait. If the log
// cannot hold them, it does what wake_table() does. Takes the spinlocks of the log and of these rings. Never
// raises.
void tell_versions(Oid table, Wakes *wakes, const Version *versions, int count);

// Copies what the log has from that generation on, at most log_size. Returns
// how many, or one of these. Takes a spinlock.
constexpr int unknown_rows = -1;    // some of these events were about rows anywhere
constexpr int too_many_events = -2; // none was, but they were more than it holds
int read_log(Oid table, Wakes *wakes, uint32 from, Version *versions);

// Wakes the backends that wait for a job of the table to end, as one may have. Takes a spinlock if there are some.
// Never raises.
void tell_ends(Wakes *wakes);

// Wakes all waiters of the table's rings, since a queue of it has ended. Takes the spinlocks of the rings
// that have some, one after the other. Never raises.
void dismiss_waiting(Oid table);

// The ring of that index, and its key in *key; null if it is not of this database. Takes the ring's
// spinlock.
Ring *find_ring(int place, RingKey *key);

// Copies the ring of that index; false if it is not of this database. Takes the ring's spinlock.
bool copy_ring(int place, Ring *copy);

// Sets the counters of the ring of that index to zero, if it is of this database. Takes the ring's
// spinlock.
void reset_counters(int place);

// The number of rings, in use or not; indexes count from 0.
int ring_count();

} // namespace queue_ext::ring
