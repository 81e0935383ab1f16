// shared_memory.cpp - see shared_memory.hpp.
//
// Locking: the LWLock is held shared to find a ring, exclusively to give one to another queue; a
// ring's spinlock may be taken under it, never the other way round. A table takes its wakes, once,
// by an atomic compare-and-exchange.

#include "../postgres.hpp"

#include "shared_memory.hpp"

#include "../compat.hpp"
#include "../memory/segment.hpp"
#include "waiting.hpp"

namespace queue_ext::ring {

// The number of rings in a set; a key may have any ring of the set to which it hashes.
constexpr int set_size = 8;

// More than rings: tables whose queues are never popped have wakes, too.
constexpr int wakes_per_set = 4 * set_size;

// A table's wakes are fewer than this many places after the one to which it hashes.
constexpr int most_steps = 16;

// The most sets of a backend that has rings of its own.
constexpr int most_local_sets = 16;

namespace {

// One hash bucket of rings, and its share of the wakes.
struct Set
{
	Ring rings[set_size];
	Wakes wakes[wakes_per_set];
};

// The layout of the segment; after the sets come the entries of the waiters (waiters.hpp).
struct SharedMemory
{
	LWLock lock;
	int tranche;
	Set sets[FLEXIBLE_ARRAY_MEMBER];
};

} // namespace

static int max_rings = 1024;

// The memory that this backend has attached; null before the first use.
static SharedMemory *shared = nullptr;
static int set_count = 0; // in the memory attached

static size_t
sets_size(int sets)
{
	return MAXALIGN(offsetof(SharedMemory, sets) + sizeof(Set) * sets);
}

static size_t
size_for(int sets)
{
	return sets_size(sets) + waiters_size(sets * set_size);
}

// How many sets there are in so much memory. Its size may have been rounded up to whole pages,
// which adds no set.
static int
sets_in(size_t size)
{
	int sets = static_cast<int>(size / sizeof(Set));
	while (size_for(sets) > size)
		sets--;
	return sets;
}
static_assert(sizeof(Set) > FPM_PAGE_SIZE);

static void
initialize(Set *set)
{
	for (Ring &ring : set->rings) {
		SpinLockInit(&ring.mutex);
		ConditionVariableInit(&ring.fill.ended);
	}
	for (Wakes &wakes : set->wakes) {
		pg_atomic_init_u64(&wakes.table, 0);
		pg_atomic_init_u64(&wakes.next_look, 0);
		pg_atomic_init_u32(&wakes.generation, 0);
		pg_atomic_init_u32(&wakes.under_way, 0);
		pg_atomic_init_u32(&wakes.sorted, 0);
		pg_atomic_init_u32(&wakes.waiting, 0);
		pg_atomic_init_u32(&wakes.has_kinds, 0);
		pg_atomic_init_u32(&wakes.is_partial, 0);
		pg_atomic_init_u32(&wakes.ended, 0);
		pg_atomic_init_u32(&wakes.awaiting_ends, 0);
		pg_atomic_init_u32(&wakes.ends, 0);
		ConditionVariableInit(&wakes.ending);
		for (pg_atomic_uint32 &place : wakes.of_kinds)
			pg_atomic_init_u32(&place, 0);
		SpinLockInit(&wakes.mutex);
	}
}

static void
initialize(void *memory, size_t size, int tranche)
{
	auto *fresh = static_cast<SharedMemory *>(memory);
	memset(memory, 0, size);
	fresh->tranche = tranche;
	LWLockInitialize(&fresh->lock, fresh->tranche);
	const int sets = sets_in(size);
	for (int i = 0; i < sets; i++)
		initialize(&fresh->sets[i]);
	for (int i = 0; i < sets * set_size; i++)
		fresh->sets[i / set_size].rings[i % set_size].waiters.place = i;
	use_waiters(reinterpret_cast<char *>(memory) + sets_size(sets), sets * set_size, true);
}

// Runs once for a server, so that it uses up one LWLock tranche.
static void
initialize_shared(void *memory, size_t size)
{
	initialize(memory, size, compat::new_tranche("queue_ext"));
}

// Rounded up, so that there are at least as many rings as were set.
static int
wanted_sets()
{
	return (max_rings + set_size - 1) / set_size;
}

void
register_shared_memory()
{
	constexpr int most_rings = 65536;
	DefineCustomIntVariable(
		"queue_ext.max_rings", "Sets how many queues have candidates for claims at hand.",
		"Takes effect when the rings are made: at their first use after the server has started.",
		&max_rings, max_rings, set_size, most_rings, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
	memory::request_anchor();
}

// Calls a function for each table with rows that this backend holds by locks.
static void (*visit_locked_tables)(void (*visit)(Oid table)) = nullptr;

void
register_locked_tables(void (*visit_tables)(void (*visit)(Oid table)))
{
	visit_locked_tables = visit_tables;
}

// The backend exits, and its locks are released.
static void
tell_of_locks()
{
	visit_locked_tables([](Oid table) { wake_table(table, get_wakes(table)); });
}

// The shared memory, attached by the first call, or else this backend's own. Raises only for want
// of memory.
static SharedMemory *
attached()
{
	if (shared != nullptr)
		return shared;
	memory::Segment segment = attach_segment(memory::Purpose::rings, size_for(wanted_sets()),
											 initialize_shared, tell_of_locks);
	if (segment.memory != nullptr)
		compat::register_tranche(static_cast<SharedMemory *>(segment.memory)->tranche, "queue_ext");
	else {
		segment.size = size_for(Min(wanted_sets(), most_local_sets));
		segment.memory = MemoryContextAllocHuge(TopMemoryContext, segment.size);
		// Not a new tranche: no other backend takes this lock, and PostgreSQL 19 has 256 for a
		// server.
		initialize(segment.memory, segment.size, LWTRANCHE_PER_SESSION_DSA);
	}
	shared = static_cast<SharedMemory *>(segment.memory);
	set_count = sets_in(segment.size);
	use_waiters(reinterpret_cast<char *>(shared) + sets_size(set_count), set_count * set_size,
				false);
	return shared;
}

static uint32
hash_of(Oid database, Oid table)
{
	return hash_combine(murmurhash32(database), murmurhash32(table));
}

// How many sets the rings of a queue's variants may be in, those for kinds apart; of one set they may
// have most_variants: others take the place of the least recently used.
constexpr uint64 variant_sets = 8;

// The set to which the key hashes; its stamp does not count, so that an altered queue finds its
// former ring.
static Set *
set_of(const RingKey &key, const Kinds *kinds)
{
	SharedMemory *all = attached();
	const uint32 name =
		DatumGetUInt32(hash_any(reinterpret_cast<const unsigned char *>(NameStr(key.queue)),
								static_cast<int>(strlen(NameStr(key.queue)))));
	const uint32 hash = hash_combine(hash_of(key.database, key.table), name);
	return &all->sets[(hash + key.variant % (kinds == nullptr ? variant_sets : kind_sets)) %
					  set_count];
}

// The queue's ring within its set, whatever its stamp, or null. The LWLock must be held, which
// keeps the keys as they are.
static Ring *
find_in(Set *set, const RingKey &key)
{
	for (Ring &ring : set->rings)
		if (ring.key.is_of_callers(key))
			return &ring;
	return nullptr;
}

static bool
is_older(const Ring &ring, const Ring *other)
{
	return ring.waiters.count == 0 && (other == nullptr || ring.used_at < other->used_at);
}

// The ring of the set that makes room: the least recently used, but one of the queue itself if it
// has too many; null if there are backends waiting at each. Reads used_at and the number of these
// without spinlocks, as hints: one that comes to wait now is woken by the reset.
static Ring *
least_recently_used(Set *set, const RingKey &key)
{
	Ring *oldest = nullptr;
	Ring *own = nullptr;
	int own_count = 0;
	for (Ring &ring : set->rings) {
		if (is_older(ring, oldest))
			oldest = &ring;
		if (!ring.key.is_of_queue(key))
			continue;
		own_count++;
		if (is_older(ring, own))
			own = &ring;
	}
	return own_count < most_variants || own == nullptr ? oldest : own;
}

static uint64
owner_of(Oid table)
{
	constexpr int oid_bits = 32;
	return (static_cast<uint64>(MyDatabaseId) << oid_bits) | table;
}

// The wakes at that place of all sets, wrapping around.
static Wakes *
wakes_at(uint32 number)
{
	const uint32 place = number % (static_cast<uint32>(set_count) * wakes_per_set);
	return &shared->sets[place / wakes_per_set].wakes[place % wakes_per_set];
}

// Whether the wakes are the table's; takes them for it if they are of no table yet.
static bool
is_of(Wakes *wakes, uint64 table)
{
	uint64 owner = pg_atomic_read_u64(&wakes->table);
	return owner == table ||
		   (owner == 0 &&
			(pg_atomic_compare_exchange_u64(&wakes->table, &owner, table) || owner == table));
}

Wakes *
get_wakes(Oid table)
{
	(void) attached();
	const uint64 owner = owner_of(table);
	const uint32 first = hash_of(MyDatabaseId, table);
	// Wakes are never given up, so all backends stop at the same ones.
	for (uint32 step = 0; step < most_steps; step++)
		if (is_of(wakes_at(first + step), owner))
			return wakes_at(first + step);
	return wakes_at(first);
}

pg_atomic_uint64 *
next_look_of(Oid table)
{
	Wakes *wakes = get_wakes(table);
	return pg_atomic_read_u64(&wakes->table) == owner_of(table) ? &wakes->next_look : nullptr;
}

bool
are_rings_shared()
{
	return memory::is_shared_by_all(memory::Purpose::rings);
}

int
ring_count()
{
	(void) attached();
	return set_count * set_size;
}

static Ring *
ring_at(int place)
{
	return &attached()->sets[place / set_size].rings[place % set_size];
}

// Checks the key: the ring may have been given to another queue, or another table may share the
// wakes.
Ring *
find_sorted_ring(Oid table, RingKey *key)
{
	const uint32 place = pg_atomic_read_u32(&get_wakes(table)->sorted);
	if (place >= static_cast<uint32>(ring_count()))
		return nullptr;
	Ring *ring = ring_at(static_cast<int>(place));
	SpinLockAcquire(&ring->mutex);
	*key = ring->key;
	const bool is_for_all = ring->kind_count == 0;
	SpinLockRelease(&ring->mutex);
	const bool is_right =
		is_for_all && key->is_sorted && key->table == table && key->database == MyDatabaseId;
	return is_right ? ring : nullptr;
}

KindRing
kind_ring_of(Oid table, Wakes *wakes, int place, uint64 kind)
{
	KindRing found{};
	const uint32 listed = pg_atomic_read_u32(&wakes->of_kinds[place]);
	if (listed == 0 || listed > static_cast<uint32>(ring_count()))
		return found;
	Ring *ring = ring_at(static_cast<int>(listed - 1));
	SpinLockAcquire(&ring->mutex);
	found.key = ring->key;
	const bool is_right = ring->kind_count > 0;
	found.is_for_kind = is_for(ring, kind);
	SpinLockRelease(&ring->mutex);
	if (is_right && found.key.is_sorted && found.key.table == table &&
		found.key.database == MyDatabaseId)
		found.ring = ring;
	return found;
}

// Enters a ring for kinds into the list of the table, unless it is there, over one that is no such
// ring of the table any more. Of tables that share their wakes only one may have a list.
static void
list_kind_ring(Wakes *wakes, Oid table, uint32 place)
{
	pg_atomic_write_u32(&wakes->has_kinds, 1);
	int vacant = -1;
	for (int i = 0; i < most_kind_rings; i++) {
		const uint32 listed = pg_atomic_read_u32(&wakes->of_kinds[i]);
		if (listed == place + 1)
			return;
		const KindRing other = kind_ring_of(table, wakes, i, unknown_kind);
		if (other.ring == nullptr && vacant < 0)
			vacant = i;
	}
	if (vacant < 0 || pg_atomic_read_u64(&wakes->table) != owner_of(table))
		pg_atomic_write_u32(&wakes->is_partial, 1);
	else
		pg_atomic_write_u32(&wakes->of_kinds[vacant], place + 1);
}

// Has the table's commits find the ring, which stands at that index. The LWLock must be held
// exclusively: no backend uses the ring before that.
static void
list_ring(const RingKey &key, const Kinds *kinds, uint32 place)
{
	Wakes *wakes = get_wakes(key.table);
	if (kinds != nullptr) {
		list_kind_ring(wakes, key.table, place);
		return;
	}
	pg_atomic_write_u32(&wakes->sorted, place);
	if (pg_atomic_read_u64(&wakes->table) != owner_of(key.table))
		pg_atomic_write_u32(&wakes->is_partial, 1);
}

// Looks for the ring again under the exclusive lock, as another backend may have made it in
// between.
Ring *
get_ring(const RingKey &key, const Kinds *kinds)
{
	Set *set = set_of(key, kinds);
	LWLockAcquire(&shared->lock, LW_SHARED);
	Ring *ring = find_in(set, key);
	const bool is_there = ring != nullptr && ring->key == key;
	LWLockRelease(&shared->lock);
	if (is_there)
		return ring;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	ring = find_in(set, key);
	if (ring == nullptr)
		ring = least_recently_used(set, key);
	if (ring != nullptr && !(ring->key == key)) {
		reset(ring, key, kinds);
		ring->used_at = GetCurrentTimestamp();
	}
	if (ring != nullptr && key.is_sorted)
		list_ring(key, kinds,
				  static_cast<uint32>((set - shared->sets) * set_size + (ring - set->rings)));
	LWLockRelease(&shared->lock);
	return ring;
}

// Calls visit(Ring *) for the rings at which backends wait.
template <typename Visit>
static void
visit_waiting(Visit &&visit)
{
	for (int place = 0; place < ring_count(); place += rings_in_word)
		for (uint32 left = waiting_rings(place); left != 0; left &= left - 1) {
			const int found = place + pg_rightmost_one_pos32(left);
			if (found < ring_count())
				visit(ring_at(found));
		}
}

// Raises the generation by an event for each of the versions. One of the waiters looks which of them are claimable,
// and announces the rest.
static void
add_events(Oid table, Wakes *wakes, const Version *versions, int count)
{
	SpinLockAcquire(&wakes->mutex);
	const uint32 former = pg_atomic_read_u32(&wakes->generation);
	for (int i = 0; i < count; i++)
		wakes->log[(former + i) % log_size] = versions[i];
	const uint32 generation = pg_atomic_add_fetch_u32(&wakes->generation, count);
	if (!ItemPointerIsValid(&versions[0].tid))
		wakes->anywhere = generation;
	SpinLockRelease(&wakes->mutex);
	if (pg_atomic_read_u32(&wakes->waiting) > 0)
		visit_waiting([&](Ring *ring) { announce_at(ring, MyDatabaseId, table, generation); });
}

void
wake_table(Oid table, Wakes *wakes)
{
	const Version anywhere{};
	add_events(table, wakes, &anywhere, 1);
}

// Of tables that share their wakes only one may have a log.
void
tell_versions(Oid table, Wakes *wakes, const Version *versions, int count)
{
	if (count == 0)
		return;
	if (count > log_size || pg_atomic_read_u64(&wakes->table) != owner_of(table))
		wake_table(table, wakes);
	else
		add_events(table, wakes, versions, count);
}

int
read_log(Oid table, Wakes *wakes, uint32 from, Version *versions)
{
	if (pg_atomic_read_u64(&wakes->table) != owner_of(table))
		return unknown_rows;
	SpinLockAcquire(&wakes->mutex);
	const uint32 generation = pg_atomic_read_u32(&wakes->generation);
	const uint32 passed = generation - from;
	int count = unknown_rows;
	if (generation - wakes->anywhere >= passed)
		count = passed > static_cast<uint32>(log_size) ? too_many_events : static_cast<int>(passed);
	for (int i = 0; i < count; i++)
		versions[i] = wakes->log[(from + i) % log_size];
	SpinLockRelease(&wakes->mutex);
	return count;
}

void
tell_ends(Wakes *wakes)
{
	if (pg_atomic_read_u32(&wakes->awaiting_ends) == 0)
		return;
	pg_atomic_fetch_add_u32(&wakes->ends, 1);
	ConditionVariableBroadcast(&wakes->ending);
}

void
dismiss_waiting(Oid table)
{
	visit_waiting([&](Ring *ring) { dismiss_at(ring, MyDatabaseId, table); });
}

// Most rings of a server with few queues have never been used: these are passed by without their
// spinlocks.
Ring *
find_ring(int place, RingKey *key)
{
	Ring *ring = ring_at(place);
	if (ring->key.database != MyDatabaseId)
		return nullptr;
	SpinLockAcquire(&ring->mutex);
	*key = ring->key;
	SpinLockRelease(&ring->mutex);
	return key->database == MyDatabaseId ? ring : nullptr;
}

// The bytes are not trusted: ends the texts with a zero.
bool
copy_ring(int place, Ring *copy)
{
	Ring *ring = ring_at(place);
	SpinLockAcquire(&ring->mutex);
	*copy = *ring;
	SpinLockRelease(&ring->mutex);
	NameStr(copy->key.queue)[NAMEDATALEN - 1] = '\0';
	copy->path[path_size - 1] = '\0';
	return copy->key.database == MyDatabaseId;
}

// is_exhausted() compares the counters with those before the sweep, so these are reduced by as
// much.
void
reset_counters(int place)
{
	Ring *ring = ring_at(place);
	SpinLockAcquire(&ring->mutex);
	if (ring->key.database == MyDatabaseId) {
		ring->flight.claims_before -= ring->counters.claims;
		ring->flight.gone_before -= ring->counters.gone;
		ring->counters = {};
	}
	SpinLockRelease(&ring->mutex);
}

} // namespace queue_ext::ring
