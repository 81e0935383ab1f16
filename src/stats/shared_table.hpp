// shared_table.hpp - the statistics of queues in shared memory: a table of a fixed number of entries, in a
// segment of its own (memory/segment.hpp), apart from the rings, which queues take from each other.
//
// Invariant: an entry is of the key under which it was found while its number is the one found with
// it. A queue whose entry is taken from it, or that finds none, goes on without statistics: nothing
// else depends on them.
//
// Locking: keys and numbers are written under the table's LWLock, held exclusively, and the entry's
// spinlock, all else under the spinlock. The spinlock is held for one pass over an entry, and never
// while anything can raise.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"
#include "counts.hpp"
#include "marks.hpp"

namespace queue_ext::stats {

// Whose the entry is. A managed queue is found by its table alone, as the trigger that counts inserted
// rows knows no more of it.
struct Key
{
	Oid database;
	Oid table;
	bool is_managed;
	NameData queue; // of an attached queue, else empty

	bool operator==(const Key &other) const
	{
		return database == other.database && table == other.table &&
			   is_managed == other.is_managed &&
			   strncmp(NameStr(queue), NameStr(other.queue), NAMEDATALEN) == 0;
	}
};

// The next moment at which a job that is not in the marks may become ready by the clock, as its lease ends
// or its run_at comes. No job of a larger priority does.
struct Clock
{
	TimestampTz at; // PG_INT64_MAX: none does
	int32 to;
};
constexpr Clock no_clock = {PG_INT64_MAX, PG_INT32_MIN};
constexpr Clock unknown_clock = {PG_INT64_MIN, PG_INT32_MAX};

inline void
lower(Clock *clock, const Clock &more)
{
	clock->at = Min(clock->at, more.at);
	clock->to = Max(clock->to, more.to);
}

// Jobs that have left: their priorities, and since when they were ready.
struct Left
{
	Priorities priorities;
	Span times;
};
constexpr Left none_left = {no_priorities, no_times};
constexpr Left all_left = {{PG_INT32_MIN, PG_INT32_MAX}, {PG_INT64_MIN, PG_INT64_MAX}};

inline void
widen(Left *left, const Left &more)
{
	widen(&left->priorities, more.priorities);
	widen(&left->times, more.times);
}

inline void
doubt(Marks *marks, const Left &left)
{
	doubt(marks, left.priorities, left.times);
}

// What commits have told since the last look began.
struct Told
{
	Marks marks;
	Left claimed;
	Left left; // in another way than by a claim from the ring, which may still have them
	Clock clock;
};

// Since when jobs of a managed queue have been ready, and how many are in which state, as far as
// that is known: from what commits tell, and from looks at the table (look.hpp).
struct Estimate
{
	Marks marks;
	bool is_whole; // no job is missing from the marks, but for the clock
	Clock clock;
	Left left; // as told, since the ring had nothing else than what a look has read
	Told told;
	bool is_doubted;        // what the ring has may be gone
	uint64 looks;           // that have begun
	uint64 changes;         // that commits have made
	bool is_counted;        // the numbers are known
	TimestampTz counted_at; // when the jobs were counted last
	int64 scheduled;        // unless due is over
	TimestampTz
		due; // when the first of these becomes ready, or before; PG_INT64_MAX: there is none
	bool is_due_sure;       // that job is there
	TimestampTz claimed_at; // when claims were committed last
	int64 leased;
	int64 unfinished; // all but the dead
};

// How claims of a queue went when a session compiled them last.
enum class Claims : uint8 {
	unknown,
	from_ring,
	by_statement, // each is a statement of its own
	broken,       // they do not compile
};

// The last error that a claim of the queue has raised, at once, whatever became of its transaction.
struct Failure
{
	TimestampTz at; // 0: none has
	int code;
	bool is_last; // no claim has ended without one since
};

// One queue's statistics. Two queues' do not share a cache line.
struct alignas(PG_CACHE_LINE_SIZE) Entry
{
	slock_t mutex;
	uint64 number; // of those given out; 0: the entry is free
	Key key;
	NameData name;     // of the queue; empty for a managed queue that only the trigger has met
	TimestampTz since; // from when on it counts
	Counts counts;
	Estimate estimate;
	Claims claims;
	Failure failure;
};

// Empties it.
void forget(Told *told);

// An entry, and the number that it had when it was found.
struct Place
{
	Entry *entry; // null: there is none
	uint64 number;
};

// Defines the setting. Called once, by _PG_init.
void register_table();

// Whether this session counts.
bool is_on();

// The key of a managed queue's table in this database.
Key key_of_table(Oid table);

// The key of the queue.
Key key_of(Oid table, const char *queue, bool is_managed);

// The queue's entry, made if there is none; none where there is no memory or no room, or if the
// setting is off. The definition remembers it. Takes the LWLock. Raises only for want of the
// backend's own memory.
Place place_of(definition::Definition *definition);

// The queue's entry as place_of() has found it last; it may be another's by now. Takes no lock. Never raises.
Place seen_place_of(const definition::Definition *definition);

// The entry of the key, made if there is none; none where there is no memory or no room, or if the setting is
// off. *is_new: whether it was made. Nothing is remembered. Takes the LWLock. Raises only for want of the
// backend's own memory.
Place place_of(const Key &key, bool *is_new);

// The entry of the managed queue of the table, made if there is none; none where there is no memory or no
// room, or if the setting is off. This session remembers it. Takes the LWLock. Raises only for want of the
// backend's own memory.
Place place_of_table(Oid table);

// The entry of the queue, or of the key, in a session that does not count, so that what others know can be
// doubted; none in a session that counts, and none is made. The definition remembers it. Takes the LWLock.
// Raises only for want of the backend's own memory.
Place untracked_place_of(definition::Definition *definition);
Place untracked_place_of(const Key &key);

// Copies the entry of the key into *copy; false if there is none. Attaches the segment; takes the LWLock and
// the spinlock. Raises as place_of().
bool find_entry(const Key &key, Entry *copy);

// Notes how the queue's claims were compiled. Takes the spinlock if that is new. Never raises.
void note_claims(const Place &place, Claims claims);

// Notes that a claim has raised that error, or has ended without one. Takes the spinlock; note_success() only
// if the last claim had failed. Never raises.
void note_failure(const Place &place, int code);
void note_success(const Place &place);

// Frees the entry. Takes the LWLock. Never raises.
void give_up(const Place &place);

// Runs body(Entry *) under the entry's spinlock if the entry is still that of the place. Body must
// not raise.
template <typename Body>
void
with_entry(const Place &place, Body &&body)
{
	Entry *entry = place.entry;
	SpinLockAcquire(&entry->mutex);
	if (entry->number == place.number)
		body(entry);
	SpinLockRelease(&entry->mutex);
}

// Copies the entry of that index into *copy; false if it is free or of another database. Takes the
// entry's spinlock.
bool copy_entry(int index, Entry *copy);

// The number of entries, in use or not; 0: there is no memory for any, or the setting is off.
int entry_count();

// Has the entry count anew from now on. Takes its spinlock. Never raises.
void reset(const Place &place, TimestampTz now);

// Has the entry count anew from now on, for a queue that begins, and forget what it knew of jobs; is_empty:
// the queue's table has no rows. Takes its spinlock. Never raises.
void begin(const Place &place, TimestampTz now, bool is_empty);

// Has the entries of all queues of this database count anew from now on. Takes their spinlocks, one after
// the other. Raises only for want of the backend's own memory.
void reset_all();

} // namespace queue_ext::stats
