// state.hpp - what a ring is made of (ring.hpp), and what a call asks of it.

#pragma once

#include "../postgres.hpp"

#include "kinds.hpp"
#include "waiters.hpp"

namespace queue_ext::ring {

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
	uint64 variant; // of callers (claim/caller.hpp); 0: all callers alike

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

// A row version of an attached queue's table that was written, and may be claimable.
struct Version
{
	ItemPointerData tid;
	TransactionId writer;
};

// So many of the last of these are kept in a table's log (shared_memory.hpp).
constexpr int log_size = 64;

// A row version's TID, and how to recognize another row that has reused the TID: in a sorted ring
// by the sort key, in any other by the XID that wrote the version.
struct Candidate
{
	ItemPointerData tid;
	int16 priority;
	TimestampTz
		run_at; // in a ring that is not sorted: as the queue's column ready_at; DT_NOBEGIN: not known
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
	// Whether both are of one row version, in a ring that is not sorted; in a sorted one, of one row at one place: the
	// id shares its bytes with the version.
	bool is_same_as(const Candidate &other) const
	{
		return id == other.id && is_at_place_of(other);
	}
};
static_assert(sizeof(RowVersion) == sizeof(int64));

// The candidate for an attached queue's row, where nothing else is known.
inline Candidate
attached_candidate(const ItemPointerData &tid, TransactionId writer, Oid table)
{
	Candidate candidate{};
	candidate.tid = tid;
	candidate.run_at = DT_NOBEGIN;
	candidate.version = {writer, table};
	return candidate;
}

// The largest cursor in bytes; rows whose order columns take more have none.
constexpr int max_cursor_size = 256;
// The position in the queue's order up to which fills have read: a sort key, or the order columns
// of a row (claim/cursor_row.hpp).
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
	int64 passing_us;   // spent trying these three in vain
	int64 fill_time_us; // spent reading candidates
	int64 wakes;        // of backends that waited
};

// How long the words are, with a zero at the end, that say how claims from a ring are made.
constexpr int path_size = 128;

// How many candidates a ring holds.
constexpr int ring_size = 512;
// How many rows a fill reads at most; it is due when no more candidates than low_water are left.
constexpr int fill_size = 256;
constexpr int low_water = 128;
static_assert(low_water + fill_size <= ring_size);

// A row that becomes claimable at a known time by the clock alone.
struct DueRow
{
	Candidate candidate;
	TimestampTz due;
};

// How many of these a ring holds.
constexpr int due_size = 512;

// Those of a ring, the earliest first (due_rows.hpp).
struct DueRows
{
	uint32 first; // index of the first
	uint32 count;
	DueRow rows[due_size];
};

// What stands in a ring: rows that looked claimable, in a circle.
struct Candidates
{
	uint32 first; // index of the first
	uint32 count;
	Candidate elements[ring_size];
};

// How far fills have read.
struct Reading
{
	Cursor cursor;
	bool is_at_end;   // to the end of the queue
	bool reads_again; // the next fill begins where the last one did (Fill)
};

// A sweep may begin when so many times the cost of the last one is over.
constexpr int64 sweep_interval_factor = 20;

// When to read from the head of the order again.
struct SweepClock
{
	TimestampTz due;            // 0: requested; PG_INT64_MAX: under way
	uint32 generation;          // of the last sweep that began
	uint32 wake_generation;     // the table's (shared_memory.hpp) up to which the ring knows all
	TimestampTz ended_at;       // when the last sweep ended
	int64 cost_us;              // its duration, plus the cost of candidates tried in vain since
	TimestampTz row_due;        // the earliest time known of a row that is not among those to come
	TimestampTz row_due_before; // row_due when the sweep began that is under way
	bool has_passed;            // candidates were tried in vain since then
};

// When a sweep of an attached queue asks the table for the rows to come (may_ask_due()).
struct DueQuestion
{
	TimestampTz asked_at; // the last time
	int64 cost_us;        // how long that took
	int64 read_us;        // how long sweeps have read since then
};

// Whether the ring needs no sweep: it is sure of all that comes before its cursor, in the order. Sure, and read to the end:
// quiet. Quiet and empty, with none in flight: idle.
struct Idleness
{
	bool is_told; // since the last sweep of all that has become claimable by a write
	// What that sweep has passed by, and the fills since, is among the rows to come, and the ring is told of all else.
	bool is_sure;
	TimestampTz quiet_until; // when that is not believed any more
	uint64 nothing_at;       // nothing was pending after so many transactions; 0: unknown
};

// The fill under way, or the last one.
struct FillUnderWay
{
	int32 filler; // PID of the backend that is filling the ring, or 0
	uint32 generation;
	bool is_sweep;
	int32 takeovers;         // of fills, since one was finished
	bool has_dropped;        // it may miss candidates that were let go
	SortKey dropped;         // the lowest sort key of those
	int64 cost_us;           // the duration of the last read behind the cursor
	ConditionVariable ended; // broadcast when a fill ends
};

// Candidates that were taken since the last sweep began, and what has come of them.
struct InFlight
{
	int32 count;         // still being tried
	bool has_locked;     // a candidate was locked, and let go
	int64 claims_before; // counters.claims when the sweep began
	int64 gone_before;   // counters.gone then
	uint32 changes;      // counts takes, fills, put-backs, and entries of rows (enter_placed())
	uint32 returns;      // counts put-backs alone
};

// One queue's ring, in shared memory; without the segment, in a backend's own.
struct Ring
{
	slock_t mutex;
	RingKey key;
	int32 kind_count;         // of the jobs that it is for; 0: of all
	uint64 kinds[most_kinds]; // their hashes
	uint64 table_version;     // begin_trust()
	TimestampTz used_at;      // of the last take(); the least recently used ring makes room
	Candidates candidates;
	DueRows due_rows;
	Reading reading;
	SweepClock sweep;
	DueQuestion due_question;
	Idleness idleness;
	FillUnderWay fill;
	InFlight flight;
	Waiters waiters;
	RingCounters counters;
	char path[path_size]; // how claims are made by the backend that came last
};

// The table's wake-up generation, and what a call asks of the ring: to know all up to the generation with which the
// call began. Later events may wait for the next call, as each may be followed by another.
struct Generations
{
	// Read under the ring's spinlock, as a row that was in flight before may stand in the log since. Null: 0.
	pg_atomic_uint32 *current;
	uint32 least;
	// There was more than is known: the next sweep, in its time, is early enough while there are candidates.
	bool may_lag;
};

// Whether the ring has jobs of that kind, as one for all kinds has. Its count is not trusted.
inline bool
is_for(const Ring *ring, uint64 kind)
{
	bool is_it = kind == unknown_kind || ring->kind_count == 0;
	for (int i = 0; i < Min(ring->kind_count, most_kinds) && !is_it; i++)
		is_it = ring->kinds[i] == kind;
	return is_it;
}

} // namespace queue_ext::ring
