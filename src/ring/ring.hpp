// ring.hpp - the candidates that all workers of one queue share.
//
// Invariant: nothing here is authoritative. A candidate is a hint: the claimer must fetch the row,
// check it and win the write. The cursor only says how far fills have read. A ring may be emptied,
// lost or given to another queue at any moment; a caller that finds it foreign looks its ring up
// again (get_ring()). The bytes are not trusted either: indexes are kept within bounds on each
// access, the cursor's columns are checked when they are read (claim/cursor_row.hpp), and a candidate's
// TID before its page is read.
//
// A ring of a managed queue is sorted: each candidate has its sort key, and candidates stand in
// that order, as a rule each row once, so that a row that becomes claimable is inserted at its
// position. Such a ring holds what was claimable up to the cursor when it was read, and what has
// been offered since. In any other ring candidates stand as they were read; a row that becomes claimable again is
// entered by a pop that has read it (claim/news.hpp), or found by a sweep.
//
// Locking: every field is written and read under the ring's spinlock, except that key changes only
// under the LWLock of shared_memory.cpp as well, whose holders read it without the spinlock, and
// that hints are read without it, too: used_at, the numbers of waiters, seems_of() and
// seems_busy(). The spinlock is held for a few instructions, for one pass over the candidates of the
// ring or for one copy of it, however many candidates a caller has, and never while anything can
// raise. Every function below but those two and sort_candidates() takes it; none
// waits or raises. A function that takes a key does nothing when the ring is not (or no longer) of that key.

#pragma once

#include "../postgres.hpp"

#include "state.hpp"

namespace queue_ext::ring {

// Empties the ring and gives it the key, and the kinds of its jobs (null: all); its waiters are woken, to look
// again. The LWLock of shared_memory.cpp must be held exclusively.
void reset(Ring *ring, const RingKey &key, const Kinds *kinds);

// Takes all waiters out of their list, and wakes them, to look again.
void dismiss(Ring *ring);

// Whether the ring seems to be (still) of the key. Read without the spinlock: a hint, which take() confirms.
inline bool
seems_of(const Ring *ring, const RingKey &key)
{
	return ring->key == key;
}

// Whether candidates seem to stand in the ring, or to be in flight. Read without the spinlock: a hint, which
// spares a look under it whether the queue is idle.
inline bool
seems_busy(const Ring *ring)
{
	return ring->candidates.count != 0 || ring->flight.count != 0;
}

// What take() found.
struct Taken
{
	int count;
	uint32 generation;       // the ring's flight.changes after this; 0 if none were taken
	uint32 sweep_generation; // of the last sweep that had begun; 0 if the ring is foreign
	bool is_low;             // a fill is due, and no backend is at it
	bool reads_again;        // the next fill reads what the last one has read
	bool is_foreign;         // the ring is of another queue now
	bool is_quiet;           // no row is claimable that is not in flight
	bool is_idle;            // no row is claimable
	uint64 nothing_at;       // nothing is pending while no more transactions than these have ended
	bool has_none_before;    // no row is claimable that comes before the caller's own
};

// Takes up to max_count candidates, in order, into candidates; none when a sweep is due. They are
// in flight until let_go().
// is_chosen: null, or whether the caller was woken for a candidate; reset when it has one.
// own: null, or the place in the order of a sorted ring up to which to take, as a row stands there that only the caller
// can see.
Taken take(Ring *ring, const RingKey &key, TimestampTz now, const Generations &generations,
		   bool *is_chosen, const SortKey *own, int max_count, Candidate *candidates);

// Whether there was a moment since sweep sweep_generation at which no row was claimable: a later
// sweep has read the queue to its end, all candidates have been tried in vain, and since it began
// no claim was won, whose lock others may have met, and no candidate found gone. Candidates in
// flight from before that sweep do not count, as it has read their rows, too: a backend that waits
// with candidates in flight, as on a unique index, keeps no other from an answer.
bool is_exhausted(Ring *ring, const RingKey &key, TimestampTz now, const Generations &generations,
				  uint32 sweep_generation);

// Takes count candidates off those in flight, if they were taken after sweep sweep_generation and
// it is the last: they have been tried.
void let_go(Ring *ring, const RingKey &key, int count, uint32 sweep_generation);

// Puts candidates back at their positions: the claim for which they were taken was rolled back, or
// was a lock that has ended. generation: the ring's flight.changes when they were taken. False if a ring
// that is not sorted has changed since, and so lost the positions. For
// a sorted ring they are in the order of their sort keys (sort_candidates()).
bool put_back(Ring *ring, const RingKey &key, const Candidate *candidates, int count,
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

// A row to come, and the hash of its kind (kinds.hpp).
struct DueJob
{
	DueRow row;
	uint64 kind;
};

// Enters rows that become claimable by the clock, once each, at their times. A ring for other kinds leaves them out;
// for one whose kind is not known it expects a sweep, as for those for which there is no room.
void expect_rows(Ring *ring, const RingKey &key, const DueJob *jobs, int count);

// How many rows that are due are taken at once.
constexpr int most_due_at_once = 16;

// Takes so many of the rows that are due at that time. They are in flight until admit().
Taken take_due(Ring *ring, const RingKey &key, TimestampTz now, Candidate *candidates);

// Inserts those of them that are still there, in the order of their sort keys, as candidates, and lets all go. The
// waiters are announced all but the one that the caller is about to take.
void admit(Ring *ring, const RingKey &key, const Candidate *candidates, int count,
		   const Taken &taken);

// What a ring that is not sorted has, for finding the places of rows in it.
struct Holding
{
	bool is_settled; // no fill is under way, and no sweep requested
	bool is_at_end;
	uint32 wake_generation;
	uint32 fill_generation;
	uint32 returns;
	Cursor cursor;
	int count;
	Candidate candidates[ring_size];
};

// Copies that. False if the ring is foreign.
bool copy_holding(Ring *ring, const RingKey &key, Holding *holding);

// A candidate, and the one before which it comes in the order.
struct Placed
{
	Candidate candidate;
	bool is_last; // it comes after all
	Candidate next;
};

// So many are entered in one stay, as each is looked for among all candidates.
constexpr int most_placed = 4;

enum class Entered {
	all,
	none,    // the ring was read, or candidates were put back, since it was copied
	no_room, // it is to be swept
};

// Enters these, in the order, which are all that has become claimable up to that wake-up generation, and that a fill
// will not read. A candidate whose next one is gone comes first, as do those before that one. keeps_quiet: what comes
// of each candidate is told, as it is written.
Entered enter_placed(Ring *ring, const RingKey &key, const Holding &holding, const Placed *placed,
					 int count, uint32 wake_generation, bool keeps_quiet);

// Begins to use the ring. Requests a sweep if the ring was notified by triggers of another version of the table:
// before the caller's, they may have been disabled for a while, or the table have been a child.
void begin_trust(Ring *ring, const RingKey &key, uint64 table_version);

// Has a quiet ring swept, for the statistics, if the sweep interval is over, and a second. Returns whether it is.
bool end_quiet(Ring *ring, const RingKey &key, TimestampTz now);

// Ends that a ring is sure, and told: rows were written that may become claimable at times that it does not know. The next
// sweep comes as early as where nobody tells.
void disquiet(Ring *ring, const RingKey &key);

// Whether a sweep that has taken so long to read the rows may ask for those to come: the last question was no dearer
// than all sweeps since then, which it would have spared, or twenty times as long as it took have passed.
bool may_ask_due(Ring *ring, const RingKey &key, TimestampTz now, int64 read_us);

// Marks the ring, until its next sweep, as one that may not have all that is ready: it is sure no longer.
void doubt_contents(Ring *ring, const RingKey &key);

// Requests a sweep: rows have become claimable, anywhere in the order.
void ask_for_sweep(Ring *ring, const RingKey &key);

// Notes how the caller's claims are made; the words are cut to their size.
void note_path(Ring *ring, const RingKey &key, const char *path);

// Adds claims, empty pops and candidates tried in vain to the counters; the latter put off the next
// sweep.
void add(Ring *ring, const RingKey &key, const RingCounters &more);

// Does add() and then let_go(), as is_exhausted() compares both. In one stay under the spinlock:
// each costs the ring's cache lines a way from core to core.
void settle(Ring *ring, const RingKey &key, const RingCounters &more, int tried,
			uint32 sweep_generation);

} // namespace queue_ext::ring
