// ring.hpp - the candidates that all workers of one queue share.
//
// Invariant: nothing here is truth. A candidate is a hint: whoever takes one must
// fetch the row, check it and win the write. The cursor only says where the last
// candidate was read. A ring may be emptied, lost or given to another queue at any
// moment; whoever finds that the key is not its own asks for a ring anew.
//
// Locking: every field is read and written under the ring's spinlock, which is held
// for a few instructions and never while anything can raise. Functions that take a
// key do nothing and say so when the ring is not (or no longer) of that key.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// What a ring is for. The stamp changes with the queue's definition, so that nobody
// reads a cursor of another shape.
struct RingKey {
	Oid database;
	Oid table;
	uint64 stamp;

	bool operator==(const RingKey &other) const
	{
		return database == other.database && table == other.table && stamp == other.stamp;
	}
};

// Where in the queue's order the last candidate stood: its order columns, flat.
constexpr int max_cursor_size = 256;
struct Cursor {
	uint16 size; // 0: at the head
	alignas(MAXIMUM_ALIGNOF) char bytes[max_cursor_size];
};

// What claims of a queue have met, since the ring was made.
struct RingCounters {
	int64 claims;       // rows handed out
	int64 empty_pops;   // calls that handed out none
	int64 fills;        // reads behind the cursor
	int64 sweeps;       // reads from the head
	int64 locked;       // candidates that others had locked
	int64 gone;         // candidates that had been changed or removed
	int64 not_pending;  // candidates that were no longer pending
	int64 fill_time_us; // spent reading candidates
};

constexpr int ring_size = 512;

struct Ring {
	slock_t mutex;
	RingKey key;
	uint64 used_at; // the directory's clock: the least recently used makes room

	uint32 first;
	uint32 count;
	ItemPointerData places[ring_size];

	Cursor cursor;
	bool is_at_end;        // the last read came to the queue's end
	TimestampTz sweep_due; // when to read from the head again
	int32 filler;          // the process that is reading, or 0
	TimestampTz filler_until; // after that, it is presumed lost
	RingCounters counters;
};

// Makes the ring one of this key, empty.
void reset(Ring *ring, const RingKey &key);

enum class Taken {
	some,   // here are candidates
	none,   // the ring is empty, or a sweep is due: somebody has to fill it
	foreign // the ring is of another queue now
};

// Takes up to max_places candidates, in order; *count says how many.
Taken take(Ring *ring, const RingKey &key, TimestampTz now, int max_places, ItemPointer places,
		   int *count);

// Puts candidates back to the front: a claim of theirs was rolled back.
void put_back(Ring *ring, const RingKey &key, const ItemPointerData *places, int count);

// Says that a row has become claimable behind the cursor.
void ask_for_sweep(Ring *ring, const RingKey &key);

// What to read for a fill.
struct FillOrder {
	bool is_mine;  // false: somebody else is at it, or the ring is foreign
	bool is_sweep; // from the head
	Cursor cursor; // else behind this
};

// Takes on the filling of the ring, until finish_fill().
FillOrder begin_fill(Ring *ring, const RingKey &key, TimestampTz now);

// Hands in what was read, which took so long. is_complete: there was no more.
void finish_fill(Ring *ring, const RingKey &key, const FillOrder &order,
				 const ItemPointerData *places, int count, const Cursor &cursor, bool is_complete,
				 TimestampTz began, TimestampTz ended);

// Gives up filling.
void cancel_fill(Ring *ring, const RingKey &key);

// Adds to the counters.
void add(Ring *ring, const RingKey &key, const RingCounters &more);

} // namespace queue_ext::claim
