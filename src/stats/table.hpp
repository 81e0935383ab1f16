// table.hpp - the statistics of queues in shared memory: a table of a fixed number of entries, in a
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

// Whose the entry is. A managed queue is found by its table alone, as the trigger that counts what
// is inserted knows no more of it.
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

// Since when jobs of a managed queue have been ready, and how many are in which state, as far as
// that is known: from what commits tell, and from looks at the table (look.hpp).
struct Outlook
{
	Marks marks;
	Marks recent;    // what has been added to them since the last look began
	TimestampTz due; // the earliest time at which a delayed job becomes ready; PG_INT64_MAX: none
	int64 delayed;   // jobs that were delayed since due was none
	bool is_whole;   // no job is missing from the marks
	bool has_left;   // some job that was told of may have left since
	uint64 looks;    // that have begun
	uint64 changes;  // that commits have made
	bool is_counted; // the numbers are known
	int64 scheduled; // unless due is over
	int64 leased;
	int64 unfinished; // all but the dead
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
	Outlook outlook;
};

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

// The same by the key. *is_new: whether it was made.
Place place_of(const Key &key, bool *is_new);

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

// The same for a queue that begins; is_empty: its table has no rows.
void begin(const Place &place, TimestampTz now, bool is_empty);

// The same for all queues of this database.
void reset_all();

} // namespace queue_ext::stats
