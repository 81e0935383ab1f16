// ring.hpp - the candidates that all workers of one queue share.
//
// Invariant: nothing here is truth. A candidate is a hint: whoever takes one must
// fetch the row, check it and win the write. The cursor only says where the last
// candidate was read. A ring may be emptied, lost or given to another queue at any
// moment; whoever finds that the key is not its own asks for a ring anew. Nor are the
// bytes trusted: what leads to memory is checked before each use, the cursor's columns
// when they are read (cursor_row.hpp), and the place of a candidate when it is looked at.
//
// A ring of a managed queue is sorted: its candidates know their place in the order
// and stand in it, each once, so that a row that becomes claimable can be put where
// it belongs. What such a ring holds is all that was claimable up to the cursor when
// it was read, and what has been offered since. In any other ring candidates stand as
// they were read, and a row that comes back is found by a sweep.
//
// Locking: every field is read and written under the ring's spinlock, which is held
// for a few instructions, or for one pass over the candidates, and never while
// anything can raise. Functions that take a key do nothing and say so when the ring
// is not (or no longer) of that key.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// A digest (SHA-256) of all that a cursor's shape and a candidate's meaning depend on:
// the queue's definition, the table's columns and its file.
struct Stamp
{
	unsigned char bytes[32];
};

// What a ring is for. With another stamp, or sorted where it was not, it is made anew,
// so that no cursor, and no place, is read as one of another shape.
struct RingKey
{
	Oid database;
	Oid table;
	Stamp stamp;
	NameData queue; // in the table's schema
	bool is_sorted;

	bool is_of_queue(const RingKey &other) const
	{
		return database == other.database && table == other.table &&
			   strncmp(NameStr(queue), NameStr(other.queue), NAMEDATALEN) == 0;
	}
	bool operator==(const RingKey &other) const
	{
		return is_sorted == other.is_sorted &&
			   memcmp(stamp.bytes, other.stamp.bytes, sizeof(stamp.bytes)) == 0 &&
			   is_of_queue(other);
	}
};

// The place of a managed queue's job in its order.
struct SortKey
{
	int32 priority;
	TimestampTz run_at;
	int64 id;

	bool operator<(const SortKey &other) const
	{
		if (priority != other.priority)
			return priority < other.priority;
		if (run_at != other.run_at)
			return run_at < other.run_at;
		return id < other.id;
	}
	bool operator==(const SortKey &other) const
	{
		return priority == other.priority && run_at == other.run_at && id == other.id;
	}
};

// Where a row stands in the table, and what tells it from another row that is given its
// place: in a sorted ring the sort key, in any other one the transaction that wrote this
// version of it.
struct Candidate
{
	ItemPointerData tid;
	int16 priority;
	TimestampTz run_at;
	union
	{
		int64 id;
		TransactionId writer;
	};

	SortKey sort_key() const
	{
		return {priority, run_at, id};
	}
};

// Where in the queue's order the last candidate stood: its sort key, or its order
// columns (cursor_row.hpp).
constexpr int max_cursor_size = 256;
struct Cursor
{
	uint16 size; // 0: there is none
	SortKey sort_key;
	unsigned char bytes[max_cursor_size];
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
	Candidate candidates[ring_size];

	Cursor cursor;
	bool is_at_end;          // what is not in the ring is not claimable
	TimestampTz sweep_due;   // when to read from the head again
	uint32 wake_generation;  // of the table, as far as sweeps have gone (shared_memory.hpp)
	TimestampTz swept_at;    // when that was done last
	int64 sweep_cost_us;     // what that took, and what had to be passed by since
	int64 fill_cost_us;      // what the last read behind the cursor took
	TimestampTz row_due;     // when a row will become claimable, wherever it stands
	TimestampTz idle_until;  // until then nothing is claimable, if nobody says otherwise
	int32 filler;            // the process that is reading, or 0
	bool has_dropped;        // what was offered during the fill that is under way
	SortKey dropped;         // the first of those
	uint32 sweep_generation; // of the last sweep that began
	int32 in_flight;         // candidates that were taken since then and are being tried
	int64 claims_before;     // the counters when it did
	int64 gone_before;
	uint32 fill_generation;   // of the read that is under way, or was last
	bool is_sweeping;         // it is one from the head
	int32 takeovers;          // since a read was handed in
	uint32 change_generation; // of takings and fillings
	ConditionVariable filled;
	RingCounters counters;
};

// Makes the ring one of this key, empty.
void reset(Ring *ring, const RingKey &key);

// Whether the ring is of the key (still).
bool is_of(Ring *ring, const RingKey &key);

struct Taken
{
	int count;
	uint32 generation;       // of this and all other changes of the ring
	uint32 sweep_generation; // of the last sweep that had begun
	bool is_low;             // somebody should fill it
	bool is_foreign;         // the ring is of another queue now
	bool is_idle;            // nothing is claimable
};

// Takes up to max_count candidates, in order; none when a sweep is due. wake_generation:
// the table's, now.
Taken take(Ring *ring, const RingKey &key, TimestampTz now, uint32 wake_generation, int max_count,
		   Candidate *candidates);

// The number of the last sweep that began.
uint32 last_sweep(Ring *ring, const RingKey &key);

// Whether there was a moment since that sweep at which nothing was claimable: a later
// one has read the queue to its end, all of it has been tried in vain, and nobody has
// won a claim meanwhile whose lock may have been in the way. What was taken before that
// later sweep began it has seen like the rest: a backend that waits with candidates in
// hand, as on a unique index, keeps no other from an answer.
bool is_exhausted(Ring *ring, const RingKey &key, TimestampTz now, uint32 wake_generation,
				  uint32 sweep_generation);

// So many candidates have been tried that were taken after that sweep.
void let_go(Ring *ring, const RingKey &key, int count, uint32 sweep_generation);

// Puts candidates back to where they were: the claim for which they were taken was
// rolled back. If the ring is not sorted and has changed since, which was its change
// of that number, they may not be the first any more, and a sweep has to find their
// place.
void put_back(Ring *ring, const RingKey &key, const Candidate *candidates, int count,
			  uint32 generation);

// Says of rows of a sorted ring that they have become claimable, or will be at their
// run_at. What the ring has no use for it does not keep.
void offer(Ring *ring, const RingKey &key, const Candidate *candidates, int count);

// Says so of more rows, of which this is the first.
void offer_from(Ring *ring, const RingKey &key, const SortKey &first);

// Says that a row will be claimable at that time, wherever it stands.
void expect(Ring *ring, const RingKey &key, TimestampTz due);

// Says that nobody may rely on the queue being idle.
void distrust(Ring *ring, const RingKey &key);

// Says that rows have become claimable, wherever they stand.
void ask_for_sweep(Ring *ring, const RingKey &key);

// What to read for a fill.
struct FillOrder
{
	bool is_mine; // false: the filler is at it, or the ring is foreign
	int32 filler;
	uint32 generation; // of the fill, the filler's or one's own
	int most_waits;    // for the filler, in vain
	int takeovers;     // since a read was handed in
	bool is_sweep;     // from the head
	Cursor cursor;     // else behind this
};

constexpr int64 none_lost = -1;

// Takes on the filling of the ring, until finish_fill() or cancel_fill(). now: the moment
// by which rows will be judged pending. lost: the number of a fill that is to be taken over,
// as its filler has gone or stands still, or none_lost.
FillOrder begin_fill(Ring *ring, const RingKey &key, TimestampTz now, uint32 wake_generation,
					 int64 lost);

// What a fill has read.
struct Fill
{
	Candidate candidates[fill_size];
	int count;
	bool is_complete; // there was no more
	Cursor cursor;    // of the last
	TimestampTz began;
	TimestampTz ended;
	TimestampTz idle_until; // of a sweep that read nothing: 0 if that is not known
};

// Hands it in, and wakes those who wait. *added: by how many candidates the ring has grown;
// a sweep begins with an empty one. False if the fill is lost, as it was taken over or the
// ring given away.
bool finish_fill(Ring *ring, const RingKey &key, const FillOrder &order, const Fill &fill,
				 int *added);

// Gives up filling.
void cancel_fill(Ring *ring, const RingKey &key, const FillOrder &order);

// Waits a moment for somebody else's fill. False if that was in vain: it is under way still.
// May be interrupted by an error.
bool wait_for_fill(Ring *ring, const RingKey &key, const FillOrder &order);

// Adds to the counters. Claims are to be added before their candidates are let go.
void add(Ring *ring, const RingKey &key, const RingCounters &more);

} // namespace queue_ext::claim
