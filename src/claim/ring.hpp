// ring.hpp - the candidates that all workers of one queue share.
//
// Invariant: nothing here is authoritative. A candidate is a hint: the claimer must fetch the row,
// check it and win the write. The cursor only says how far fills have read. A ring may be emptied,
// lost or given to another queue at any moment; a caller that finds it foreign looks its ring up
// again (get_ring()). The bytes are not trusted either: indexes are kept within bounds on each
// access, the cursor's columns are checked when they are read (cursor_row.hpp), and a candidate's
// TID before its page is read.
//
// A ring of a managed queue is sorted: each candidate has its sort key, and candidates stand in
// that order, as a rule each row once, so that a row that becomes claimable is inserted at its
// position. Such a ring holds what was claimable up to the cursor when it was read, and what has
// been offered since. In any other ring candidates stand as they were read, and a sweep finds a row
// that becomes claimable again.
//
// Locking: every field is written and read under the ring's spinlock, except that key changes only
// under the LWLock of shared_memory.cpp as well, whose holders read it without the spinlock, and
// that used_at is only a hint to them. The spinlock is held for a few instructions, for one pass
// over the candidates of the ring or for one copy of it, however many candidates a caller has, and
// never while anything can raise. Every
// function below takes it; only wait_for_fill() waits or raises. A function that takes a key does
// nothing when the ring is not (or no longer) of that key.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::claim {

// A digest (SHA-256) of all that a cursor's layout and a candidate's meaning depend on: the queue's
// definition, the table's columns and its relfilenode.
struct Stamp
{
	unsigned char bytes[32];
};

// What a ring is for. A ring with another stamp, or sorted where the key is not (or vice versa), is
// reset, so that no cursor and no candidate is read as one of another layout.
struct RingKey
{
	Oid database;
	Oid table;
	Stamp stamp;
	NameData queue; // in the table's schema
	bool is_sorted;
	uint64 variant; // of callers (caller.hpp); 0: all callers alike

	bool is_of_queue(const RingKey &other) const
	{
		return database == other.database && table == other.table &&
			   strncmp(NameStr(queue), NameStr(other.queue), NAMEDATALEN) == 0;
	}
	bool is_of_callers(const RingKey &other) const
	{
		return variant == other.variant && is_of_queue(other);
	}
	bool operator==(const RingKey &other) const
	{
		return is_sorted == other.is_sorted &&
			   memcmp(stamp.bytes, other.stamp.bytes, sizeof(stamp.bytes)) == 0 &&
			   is_of_callers(other);
	}
};

// A job's key in the order of its managed queue: priority, run_at, id.
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

// What identifies a row version in a ring that is not sorted.
struct RowVersion
{
	TransactionId writer; // xmin, the XID that wrote it
	Oid table;            // which has it: the queue's, a partition of it, or a child
};

// A row version's TID, and how to recognize another row that has reused the TID: in a sorted ring
// by the sort key, in any other by the XID that wrote the version.
struct Candidate
{
	ItemPointerData tid;
	int16 priority;
	TimestampTz run_at;
	union
	{
		int64 id;
		RowVersion version;
	};

	SortKey sort_key() const
	{
		return {priority, run_at, id};
	}
	bool is_at_place_of(const Candidate &other) const
	{
		return ItemPointerEquals(const_cast<ItemPointer>(&tid),
								 const_cast<ItemPointer>(&other.tid));
	}
};

// The largest cursor in bytes; rows whose order columns take more have none.
constexpr int max_cursor_size = 256;
// The position in the queue's order up to which fills have read: a sort key, or the order columns
// of a row (cursor_row.hpp).
struct Cursor
{
	uint16 size; // 0: there is none
	SortKey sort_key;
	unsigned char bytes[max_cursor_size];
};

// Statistics of a queue's claims, since its ring was made or the counters were reset.
struct RingCounters
{
	int64 claims;       // rows claimed
	int64 empty_pops;   // calls that claimed none
	int64 fills;        // reads behind the cursor
	int64 sweeps;       // reads from the head of the order
	int64 locked;       // candidates locked by others, or known to the claimer's session
	int64 gone;         // candidates whose row version was replaced or removed
	int64 not_pending;  // candidates that were no longer pending
	int64 fill_time_us; // spent reading candidates
};

// How long the words are, with a zero at the end, that say how claims from a ring are made.
constexpr int path_size = 128;

// How many candidates a ring holds.
constexpr int ring_size = 512;
// How many rows a fill reads at most; it is due when no more candidates than low_water are left.
constexpr int fill_size = 256;
constexpr int low_water = 128;
static_assert(low_water + fill_size <= ring_size);

// One queue's ring, in shared memory; without the segment, in a backend's own.
struct Ring
{
	slock_t mutex;
	RingKey key;
	TimestampTz used_at; // of the last take(); the least recently used ring makes room

	uint32 first; // index of the first candidate
	uint32 count;
	Candidate candidates[ring_size];

	Cursor cursor;
	bool is_at_end;           // fills have read to the end of the queue
	TimestampTz sweep_due;    // when to sweep; 0: requested; PG_INT64_MAX: under way
	uint32 wake_generation;   // the table's (shared_memory.hpp) when the last sweep began
	TimestampTz swept_at;     // when the last sweep ended
	int64 sweep_cost_us;      // its duration, plus the cost of candidates tried in vain since
	int64 fill_cost_us;       // the duration of the last read behind the cursor
	TimestampTz row_due;      // the earliest time known at which a row becomes claimable
	TimestampTz idle_until;   // no row is claimable before, unless a wake-up comes
	uint64 nothing_at;        // nothing was pending after so many transactions; 0: unknown
	int32 filler;             // PID of the backend that is filling the ring, or 0
	bool has_dropped;         // the fill under way may miss candidates that were let go
	SortKey dropped;          // the lowest sort key of those
	uint32 sweep_generation;  // of the last sweep that began
	int32 in_flight;          // candidates taken since then and still being tried
	int64 claims_before;      // counters.claims when it began
	int64 gone_before;        // counters.gone when it began
	uint32 fill_generation;   // of the fill under way, or the last one
	bool is_sweeping;         // that fill is a sweep
	int32 takeovers;          // of fills, since one was finished
	uint32 change_generation; // counts takes, fills and put-backs
	ConditionVariable filled; // broadcast when a fill ends
	RingCounters counters;
	char path[path_size]; // how claims are made by the backend that came last
};

// Empties the ring and gives it the key. The LWLock of shared_memory.cpp must be held exclusively.
void reset(Ring *ring, const RingKey &key);

// Whether the ring is (still) of the key.
bool is_of(Ring *ring, const RingKey &key);

// What take() found.
struct Taken
{
	int count;
	uint32 generation;       // the ring's change_generation after this; 0 if none were taken
	uint32 sweep_generation; // of the last sweep that had begun; 0 if the ring is foreign
	bool is_low;             // a fill is due, and no backend is at it
	bool is_foreign;         // the ring is of another queue now
	bool is_idle;            // no row is claimable
	uint64 nothing_at;       // nothing is pending while no more transactions than these have ended
};

// Takes up to max_count candidates, in order, into candidates; none when a sweep is due. They are
// in flight until let_go(). wake_generation: the table's current one.
Taken take(Ring *ring, const RingKey &key, TimestampTz now, uint32 wake_generation, int max_count,
		   Candidate *candidates);

// Whether there was a moment since sweep sweep_generation at which no row was claimable: a later
// sweep has read the queue to its end, all candidates have been tried in vain, and since it began
// no claim was won, whose lock others may have met, and no candidate found gone. Candidates in
// flight from before that sweep do not count, as it has read their rows, too: a backend that waits
// with candidates in flight, as on a unique index, keeps no other from an answer.
bool is_exhausted(Ring *ring, const RingKey &key, TimestampTz now, uint32 wake_generation,
				  uint32 sweep_generation);

// Takes count candidates off those in flight, if they were taken after sweep sweep_generation and
// it is the last: they have been tried.
void let_go(Ring *ring, const RingKey &key, int count, uint32 sweep_generation);

// Puts candidates back at their positions: the claim for which they were taken was rolled back, or
// was a lock that has ended. generation: the ring's change_generation when they were taken. A ring
// that is not sorted and has changed since has lost the positions; it requests a sweep instead. For
// a sorted ring they are in the order of their sort keys (sort_candidates()).
void put_back(Ring *ring, const RingKey &key, const Candidate *candidates, int count,
			  uint32 generation);

// Puts candidates back at the front of a ring that is not sorted, unless it has changed since.
void put_back_unchanged(Ring *ring, const RingKey &key, const Candidate *candidates, int count,
						uint32 generation);

// Sorts candidates by their sort keys. Allocates nothing, so that it can be called after the end of
// a transaction; takes no lock, as it is the long part of giving a ring many candidates.
void sort_candidates(Candidate *candidates, int count);

// Inserts candidates whose rows have become claimable into a sorted ring, which are in the order of
// their sort keys, none twice. It keeps those up to its cursor; while a fill is under way, the
// others, too, if there is room.
void offer(Ring *ring, const RingKey &key, const Candidate *candidates, int count);

// Like offer(), for a set too large to list; first is its lowest key.
void offer_from(Ring *ring, const RingKey &key, const SortKey &first);

// Makes a sweep due at that time: a row becomes claimable then, anywhere in the order.
void expect(Ring *ring, const RingKey &key, TimestampTz due);

// Marks the ring not idle.
void distrust(Ring *ring, const RingKey &key);

// Requests a sweep: rows have become claimable, anywhere in the order.
void ask_for_sweep(Ring *ring, const RingKey &key);

// What to read for a fill.
struct FillOrder
{
	bool is_mine;      // false: another backend is filling the ring, or it is foreign
	int32 filler;      // PID of the filler found; 0: none, or the ring is foreign
	uint32 generation; // of the fill: the caller's, or that filler's
	int most_waits;    // in vain, after which that filler has lost the fill
	int takeovers;     // of fills, since one was finished
	bool is_sweep;     // read from the head of the order
	Cursor cursor;     // else behind this
};

// For begin_fill(): no fill is to be taken over.
constexpr int64 none_lost = -1;

// Makes the caller the filler of the ring, until finish_fill() or cancel_fill(). now: the time by
// which rows will be judged pending. lost: the generation of a fill to take over, as its filler has
// exited or makes no progress, or none_lost.
FillOrder begin_fill(Ring *ring, const RingKey &key, TimestampTz now, uint32 wake_generation,
					 int64 lost);

// What a fill has read.
struct Fill
{
	Candidate candidates[fill_size];
	int count;
	bool is_complete; // the end of the queue was reached
	Cursor cursor;    // of the last row
	TimestampTz began;
	TimestampTz ended;
	TimestampTz idle_until; // of a sweep that read nothing; 0: unknown
	uint64 nothing_at;      // likewise: how many transactions had ended before it; 0: unknown
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

// Notes how the caller's claims are made; the words are cut to their size.
void note_path(Ring *ring, const RingKey &key, const char *path);

// Adds claims, empty pops and candidates tried in vain to the counters; the latter put off the next
// sweep.
void add(Ring *ring, const RingKey &key, const RingCounters &more);

// Does add() and then let_go(), as is_exhausted() compares both. In one stay under the spinlock:
// each costs the ring's cache lines a way from core to core.
void settle(Ring *ring, const RingKey &key, const RingCounters &more, int tried,
			uint32 sweep_generation);

} // namespace queue_ext::claim
