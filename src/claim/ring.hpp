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
struct RingKey
{
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
struct Cursor
{
	uint16 size; // 0: there is none
	// Of a managed queue: what a sender can compare with.
	int32 priority;
	TimestampTz run_at;
	alignas(MAXIMUM_ALIGNOF) char bytes[max_cursor_size];
};

// What claims of a queue have met, since the ring was made.
struct RingCounters
{
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
// A fill reads so many rows, and is due when the ring has no more than this left.
constexpr int fill_size = 256;
constexpr int low_water = 128;
static_assert(low_water + fill_size <= ring_size);

struct Ring
{
	slock_t mutex;
	RingKey key;
	TimestampTz used_at; // the least recently used makes room

	uint32 first;
	uint32 count;
	ItemPointerData places[ring_size];

	Cursor cursor;
	bool is_at_end;        // the last read came to the queue's end
	TimestampTz sweep_due; // when to read from the head again
	TimestampTz lease_due; // when the first lease given since the last sweep runs out
	int32 filler;          // the process that is reading, or 0
	uint32 fill_number;    // of the read that is under way, or was last
	uint32 change_number;  // of takings and fillings
	ConditionVariable filled;
	RingCounters counters;
};

// Makes the ring one of this key, empty.
void reset(Ring *ring, const RingKey &key);

// Says that a row will be claimable at that time, wherever it stands.
void expect(Ring *ring, const RingKey &key, TimestampTz due);

// Whether the ring is of the key (still).
bool is_of(Ring *ring, const RingKey &key);

struct Taken
{
	int count;
	uint32 number;   // of this and all other changes of the ring
	bool is_low;     // somebody should fill it
	bool is_foreign; // the ring is of another queue now
};

// Takes up to max_places candidates, in order; none when a sweep is due.
Taken take(Ring *ring, const RingKey &key, TimestampTz now, int max_places, ItemPointer places);

// Puts candidates back to the front: the claim for which they were taken was rolled
// back. If the ring has changed since, which was its change of that number, they may
// not be the first any more, and a sweep has to find their place.
void put_back(Ring *ring, const RingKey &key, const ItemPointerData *places, int count,
			  uint32 number);

// Says that rows have become claimable behind the cursor.
void ask_for_sweep(Ring *ring, const RingKey &key);

// The same for a row of a managed queue, if it does stand behind the cursor.
void ask_for_sweep_before(Ring *ring, const RingKey &key, int32 priority, TimestampTz run_at);

// What to read for a fill.
struct FillOrder
{
	bool is_mine; // false: the filler is at it, or the ring is foreign
	int32 filler;
	uint32 number;
	bool is_sweep; // from the head
	Cursor cursor; // else behind this
};

// Takes on the filling of the ring, until finish_fill() or cancel_fill(). lost: a
// filler that is known to have gone, or 0.
FillOrder begin_fill(Ring *ring, const RingKey &key, TimestampTz now, int32 lost);

// What a fill has read.
struct Fill
{
	ItemPointerData places[fill_size];
	int count;
	bool is_complete; // there was no more
	Cursor cursor;    // of the last
	TimestampTz began;
	TimestampTz ended;
};

// Hands it in, and wakes those who wait. A fill that somebody has taken over is lost.
void finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const Fill &fill);

// Gives up filling.
void cancel_fill(Ring *ring, const RingKey &key, const FillOrder &order);

// Waits a moment for somebody else's fill. May be interrupted by an error.
void wait_for_fill(Ring *ring, const RingKey &key);

// Adds to the counters. leased_until: when a lease given now runs out; it has a row
// come back behind the cursor.
void add(Ring *ring, const RingKey &key, const RingCounters &more, TimestampTz leased_until);

} // namespace queue_ext::claim
