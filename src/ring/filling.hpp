// filling.hpp - who reads candidates into a ring, and what becomes of what was read.
//
// Invariant: one backend at a time fills a ring; another may take the fill over, after which what the first has read is lost.
// Every function takes the ring's spinlock; only wait_for_fill() waits or raises. A function that takes a key
// does nothing when the ring is not (or no longer) of that key.

#pragma once

#include "../postgres.hpp"

#include "ring.hpp"

namespace queue_ext::ring {

// What to read for a fill.
struct FillOrder
{
	bool is_mine; // false: another backend is filling the ring, or has done so, or it is foreign
	bool is_needless;  // another backend has filled it
	int32 filler;      // PID of the filler found; 0: none, or the ring is foreign
	uint32 generation; // of the fill: the caller's, or that filler's
	int most_waits;    // in vain, after which that filler has lost the fill
	int takeovers;     // of fills, since one was finished
	TimestampTz now;   // of a sweep: the time by which rows are judged pending
	bool is_sweep;     // read from the head of the order
	Cursor cursor;     // else behind this
};

// For begin_fill(): no fill is to be taken over.
constexpr int64 none_lost = -1;

// Makes the caller the filler of the ring, until finish_fill() or cancel_fill(); not if the ring is
// no longer low and no sweep is due, as there would be no room for a fill. now: the time by
// which rows will be judged pending. lost: the generation of a fill to take over, as its filler has
// exited or makes no progress, or none_lost.
FillOrder begin_fill(Ring *ring, const RingKey &key, TimestampTz now,
					 const Generations &generations, int64 lost);

// What a fill has read.
struct Fill
{
	Candidate candidates[fill_size];
	int count;
	bool is_complete; // the end of the queue was reached
	Cursor cursor;    // of the last row
	bool reads_again; // no cursor can be put behind a row of the fill
	TimestampTz began;
	TimestampTz ended;
	bool is_told;            // of a sweep: the ring will be notified of all that becomes claimable
	bool has_own;            // some rows are as this transaction has written them
	TimestampTz quiet_until; // of a sweep: until then the ring is sure; 0: it is not
	bool knows_due;          // of a sweep: the ring knows all rows to come before next_due
	TimestampTz next_due;    // PG_INT64_MAX: it knows all of them
	int64 ask_due_cost_us;   // may_ask_due(); 0: not asked
	uint64
		nothing_at; // of a sweep that read nothing: how many transactions had ended before it; 0: unknown
};

// Merges the fill into the ring and wakes the backends that wait for it. *added: by how many
// candidates the ring has grown; a sweep counts all that it then holds. False, with *added not set,
// if the fill was taken over or the ring has been given away.
bool finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const Fill &fill,
				 int *added);

// Ends the fill with nothing read, requests a sweep and wakes the backends that wait.
void cancel_fill(Ring *ring, const RingKey &key, const FillOrder &order);

// Waits for another backend's fill, 10 ms at most. False if it is still under way then. Raises what
// an interrupt raises.
bool wait_for_fill(Ring *ring, const RingKey &key, const FillOrder &order);

} // namespace queue_ext::ring
