// shared_table.cpp - see shared_table.hpp.

#include "../postgres.hpp"

#include "shared_table.hpp"

#include "../compat.hpp"
#include "../memory/segment.hpp"

namespace queue_ext::stats {

using definition::Definition;

// A key's entry is fewer than this many places after the one to which it hashes.
constexpr int most_steps = 128;

namespace {

// The layout of the segment. The LWLock protects the first fields.
struct Table
{
	LWLock lock;
	int tranche;
	TimestampTz began;
	bool has_refused;   // some key has found no room
	uint64 last_number; // given to an entry
	uint64 freed;       // how many entries have been
	Entry entries[FLEXIBLE_ARRAY_MEMBER];
};

} // namespace

static bool is_tracking = true;
static int max_queues = 4096;

// The table that this backend has attached. Null, with is_attached true: there is no memory for it.
static Table *table = nullptr;
static bool is_attached = false;
static int count = 0; // of its entries

void
register_table()
{
	constexpr int least_queues = 128;
	constexpr int most_queues = 262144;
	DefineCustomBoolVariable("queue_ext.track_stats", "Counts what becomes of jobs.",
							 "The views queue_stats, queue_wait_histogram and queue_run_histogram "
							 "show what was counted.",
							 &is_tracking, is_tracking, PGC_SUSET, 0, nullptr, nullptr, nullptr);
	DefineCustomIntVariable(
		"queue_ext.max_tracked_queues", "Sets for how many queues the server keeps statistics.",
		"Takes effect when the memory is made: at its first use after the server has started.",
		&max_queues, max_queues, least_queues, most_queues, PGC_SIGHUP, 0, nullptr, nullptr,
		nullptr);
}

bool
is_on()
{
	return is_tracking;
}

static size_t
size_for(int entries)
{
	return offsetof(Table, entries) + sizeof(Entry) * static_cast<size_t>(entries);
}

// The size of the segment may have been rounded up to whole pages.
static int
entries_in(size_t size)
{
	return static_cast<int>((size - offsetof(Table, entries)) / sizeof(Entry));
}

static void
initialize(void *memory, size_t size)
{
	auto *fresh = static_cast<Table *>(memory);
	memset(memory, 0, size);
	fresh->tranche = compat::new_tranche("queue_ext_stats");
	LWLockInitialize(&fresh->lock, fresh->tranche);
	fresh->began = GetCurrentTimestamp();
	for (int i = 0; i < entries_in(size); i++)
		SpinLockInit(&fresh->entries[i].mutex);
}

// Attaches the table by the first call. False if there is no memory for it.
static bool
attach()
{
	if (is_attached)
		return table != nullptr;
	const memory::Segment segment =
		attach_segment(memory::Purpose::stats, size_for(max_queues), initialize, nullptr);
	is_attached = true;
	if (segment.memory == nullptr)
		return false;
	table = static_cast<Table *>(segment.memory);
	count = entries_in(segment.size);
	compat::register_tranche(table->tranche, "queue_ext_stats");
	return true;
}

Key
key_of_table(Oid source)
{
	Key key{};
	key.database = MyDatabaseId;
	key.table = source;
	key.is_managed = true;
	return key;
}

Key
key_of(Oid source, const char *queue, bool is_managed)
{
	Key key = key_of_table(source);
	key.is_managed = is_managed;
	if (!is_managed)
		namestrcpy(&key.queue, queue);
	return key;
}

static uint32
hash_of(const Key &key)
{
	const uint32 name =
		DatumGetUInt32(hash_any(reinterpret_cast<const unsigned char *>(NameStr(key.queue)),
								static_cast<int>(strlen(NameStr(key.queue)))));
	return hash_combine(hash_combine(murmurhash32(key.database), murmurhash32(key.table)), name);
}

static int
steps()
{
	return Min(most_steps, count);
}

static Entry *
entry_at(uint32 number)
{
	return &table->entries[number % static_cast<uint32>(count)];
}

// The key's entry, or null. The LWLock must be held.
static Entry *
find(const Key &key)
{
	const uint32 first = hash_of(key);
	for (int step = 0; step < steps(); step++) {
		Entry *entry = entry_at(first + step);
		if (entry->number != 0 && entry->key == key)
			return entry;
	}
	return nullptr;
}

static Entry *
find_free(const Key &key)
{
	const uint32 first = hash_of(key);
	for (int step = 0; step < steps(); step++)
		if (entry_at(first + step)->number == 0)
			return entry_at(first + step);
	return nullptr;
}

// Its spinlock must be held, as for the next one.
static void
reset(Entry *entry, TimestampTz since)
{
	entry->since = since;
	entry->counts = {};
	entry->failure = {};
}

void
forget(Told *told)
{
	clear(&told->marks);
	told->claimed = none_left;
	told->left = none_left;
	told->clock = no_clock;
}

static void
forget(Estimate *estimate)
{
	*estimate = {};
	clear(&estimate->marks);
	forget(&estimate->told);
	estimate->clock = unknown_clock;
	estimate->left = all_left;
	estimate->due = PG_INT64_MAX;
}

// Gives the entry to the key; number 0 frees it. The LWLock must be held exclusively.
static void
give(Entry *entry, const Key &key, uint64 number, TimestampTz since)
{
	SpinLockAcquire(&entry->mutex);
	entry->number = number;
	entry->key = key;
	entry->name = key.queue;
	entry->claims = Claims::unknown;
	reset(entry, since);
	forget(&entry->estimate);
	SpinLockRelease(&entry->mutex);
}

// Finds the key's entry, or gives it one that is free. Nothing of a queue without an entry has
// happened since the memory was made, unless there was no room for it.
static Place
find_or_give(const Key &key, bool *is_new)
{
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	Entry *entry = find(key);
	*is_new = entry == nullptr;
	if (entry == nullptr) {
		entry = find_free(key);
		if (entry != nullptr)
			give(entry, key, ++table->last_number,
				 table->has_refused ? GetCurrentTimestamp() : table->began);
		table->has_refused |= entry == nullptr;
	}
	const Place place{entry, entry == nullptr ? 0 : entry->number};
	LWLockRelease(&table->lock);
	return place;
}

// Whether a database, or a table of this one, has been dropped.
static bool
is_gone(const Key &key)
{
	if (key.database != MyDatabaseId)
		return !SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(key.database));
	return !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(key.table));
}

// Frees entries near the key's whose table was dropped by plain SQL; returns whether there were any.
// The catalogs are read without the LWLock.
static bool
make_room(const Key &key)
{
	const uint32 first = hash_of(key);
	bool is_any = false;
	for (int step = 0; step < steps(); step++) {
		Entry *entry = entry_at(first + step);
		SpinLockAcquire(&entry->mutex);
		const Key other = entry->key;
		const Place place{entry, entry->number};
		SpinLockRelease(&entry->mutex);
		if (place.number == 0 || !is_gone(other))
			continue;
		give_up(place);
		is_any = true;
	}
	return is_any;
}

// Without making one.
static Place
look_up(const Key &key)
{
	LWLockAcquire(&table->lock, LW_SHARED);
	Entry *entry = find(key);
	const Place place{entry, entry == nullptr ? 0 : entry->number};
	LWLockRelease(&table->lock);
	return place;
}

Place
place_of(const Key &key, bool *is_new)
{
	*is_new = false;
	if (!is_tracking || !attach())
		return {};
	Place place = look_up(key);
	if (place.entry == nullptr)
		place = find_or_give(key, is_new);
	if (place.entry == nullptr && make_room(key))
		place = find_or_give(key, is_new);
	return place;
}

// Changes when a queue that has none may get an entry: when one is freed, or for a session that makes none,
// when one is given. Read as a hint. Never 0 where there is a table.
static uint64
stage()
{
	if (table == nullptr)
		return 0;
	return is_tracking ? 2 * (table->freed + 1) : 2 * table->last_number + 1;
}

// Whether it is known which entry a queue has, or that it has none: as found, with its number, or with the stage
// if there was none. An entry that was given to another queue meanwhile is noticed by its number, read as a hint.
static bool
is_known(const Entry *entry, uint64 number)
{
	return entry != nullptr ? entry->number == number : table != nullptr && number == stage();
}

// The place that was remembered, if it is known still; else the one that find() finds, which is remembered.
template <typename Find>
static Place
remembered(Entry **entry, uint64 *number, Find &&find)
{
	if (!is_known(*entry, *number)) {
		const uint64 before = stage();
		const Place place = find();
		*entry = place.entry;
		*number = place.entry != nullptr ? place.number : before;
	}
	return {*entry, *entry != nullptr ? *number : 0};
}

static Key
key_of(const Definition *definition)
{
	return key_of(definition->source, definition->name, definition->is_managed);
}

// The name is for the readers of a managed queue's entry, whose key has none.
static Place
named(const Place &place, const Definition *definition)
{
	if (place.entry != nullptr)
		with_entry(place, [&](Entry *entry) { namestrcpy(&entry->name, definition->name); });
	return place;
}

namespace {

// Where a queue's entry was found last.
struct PlaceKept
{
	static constexpr definition::Layer layer = definition::Layer::stats;
	Entry *entry;
	uint64 number;
};

} // namespace

Place
seen_place_of(const Definition *definition)
{
	const auto *kept = definition::known_beside<PlaceKept>(definition);
	return kept == nullptr ? Place{} : Place{kept->entry, kept->number};
}

Place
place_of(Definition *definition)
{
	if (!is_tracking)
		return {};
	auto *kept = definition::beside<PlaceKept>(definition);
	return remembered(&kept->entry, &kept->number, [&] {
		bool is_new;
		return named(place_of(key_of(definition), &is_new), definition);
	});
}

namespace {

// What place_of_table() has found.
struct FoundTable
{
	Oid table; // 0: nothing
	Entry *entry;
	uint64 number;
};

} // namespace

// The trigger asks for a row's table, and for the next row's again, so a table remembers itself until another one
// takes its place.
Place
place_of_table(Oid source)
{
	constexpr int most_found = 64;
	static FoundTable all_found[most_found];
	if (!is_tracking)
		return {};
	FoundTable *found = &all_found[source % most_found];
	if (found->table != source)
		*found = {source, nullptr, 0};
	return remembered(&found->entry, &found->number, [&] {
		bool is_new;
		return place_of(key_of_table(source), &is_new);
	});
}

// What this session does is not counted, but others count.
static bool
attach_if_there()
{
	return is_attached ? table != nullptr : memory::is_there(memory::Purpose::stats) && attach();
}

Place
untracked_place_of(const Key &key)
{
	return is_tracking || !attach_if_there() ? Place{} : look_up(key);
}

Place
untracked_place_of(Definition *definition)
{
	if (is_tracking || !attach_if_there())
		return {};
	auto *kept = definition::beside<PlaceKept>(definition);
	return remembered(&kept->entry, &kept->number,
					  [&] { return named(look_up(key_of(definition)), definition); });
}

bool
find_entry(const Key &key, Entry *copy)
{
	if (!is_tracking || !attach())
		return false;
	LWLockAcquire(&table->lock, LW_SHARED);
	Entry *entry = find(key);
	if (entry != nullptr) {
		SpinLockAcquire(&entry->mutex);
		*copy = *entry;
		SpinLockRelease(&entry->mutex);
	}
	LWLockRelease(&table->lock);
	return entry != nullptr;
}

// Read as a hint before.
void
note_claims(const Place &place, Claims claims)
{
	if (place.entry != nullptr && place.entry->claims != claims)
		with_entry(place, [&](Entry *entry) { entry->claims = claims; });
}

// Where the claim does not compile, that has been noted.
void
note_failure(const Place &place, int code)
{
	const TimestampTz now = GetCurrentTimestamp();
	if (place.entry == nullptr)
		return;
	with_entry(place, [&](Entry *entry) {
		if (entry->claims != Claims::broken)
			entry->failure = {now, code, true};
	});
}

// Read as a hint before.
void
note_success(const Place &place)
{
	if (place.entry != nullptr && place.entry->failure.is_last)
		with_entry(place, [&](Entry *entry) { entry->failure.is_last = false; });
}

void
give_up(const Place &place)
{
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	if (place.entry->number == place.number) {
		give(place.entry, {}, 0, 0);
		table->freed++;
	}
	LWLockRelease(&table->lock);
}

int
entry_count()
{
	return is_tracking && attach() ? count : 0;
}

bool
copy_entry(int index, Entry *copy)
{
	Entry *entry = &table->entries[index];
	// A hint, to pass by most entries without their spinlocks.
	if (entry->number == 0)
		return false;
	SpinLockAcquire(&entry->mutex);
	*copy = *entry;
	SpinLockRelease(&entry->mutex);
	NameStr(copy->key.queue)[NAMEDATALEN - 1] = '\0';
	return copy->number != 0 && copy->key.database == MyDatabaseId;
}

void
reset(const Place &place, TimestampTz now)
{
	with_entry(place, [&](Entry *entry) { reset(entry, now); });
}

// A look that is under way does not belong to the queue that begins.
void
begin(const Place &place, TimestampTz now, bool is_empty)
{
	with_entry(place, [&](Entry *entry) {
		const uint64 looks = entry->estimate.looks;
		entry->claims = Claims::unknown;
		reset(entry, now);
		forget(&entry->estimate);
		entry->estimate.looks = looks + 1;
		if (!is_empty)
			return;
		entry->estimate.is_whole = true;
		entry->estimate.is_counted = true;
		entry->estimate.clock = no_clock;
		entry->estimate.left = none_left;
	});
}

void
reset_all()
{
	const TimestampTz now = GetCurrentTimestamp();
	for (int i = 0; i < entry_count(); i++) {
		Entry *entry = &table->entries[i];
		SpinLockAcquire(&entry->mutex);
		if (entry->number != 0 && entry->key.database == MyDatabaseId)
			reset(entry, now);
		SpinLockRelease(&entry->mutex);
	}
}

} // namespace queue_ext::stats
