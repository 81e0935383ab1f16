// note.hpp - what a transaction has done with rings and tables, until it ends; for the files of this folder.
//
// Invariant: the notes of the current transaction stand in a list, those of the innermost subtransaction first; each is of
// one subtransaction and one ring, or one table and one kind of rows. What a note says is in TopTransactionContext, and so
// are the notes. When a subtransaction commits, its notes become its parent's. Where a note has no place for more, it says
// that there is more.
//
// Functions that make a note, or add to one, raise 53200 for want of memory. None takes a ring's spinlock.

#pragma once

#include "../postgres.hpp"

#include "../ring/ring.hpp"
#include "../ring/shared_memory.hpp"

namespace queue_ext::wake {

// How many candidates are remembered for one ring, or table, and subtransaction.
constexpr int most_candidates = 1024;

// A growing array, in TopTransactionContext.
template <typename Element>
struct NoteList
{
	int count;
	int capacity;
	Element *elements;
};

using CandidateList = NoteList<ring::Candidate>;
using VersionList = NoteList<ring::Version>;

// What one (sub)transaction has done with one ring, or with one table.
struct Note
{
	Note *next;
	ring::Ring *ring; // null: the note is of the table
	ring::RingKey key;
	ring::Wakes *shared; // the table's
	SubTransactionId made_in;

	bool has_own_fill;   // the ring may lack rows if this is rolled back
	bool is_until_end;   // its claims end with the transaction, even if it commits
	int in_flight;       // candidates taken and not yet all tried
	uint32 flight_sweep; // the sweep after which these were taken; earlier ones no longer count
	CandidateList taken;
	bool has_more_taken; // than most_candidates
	bool is_scattered;   // other backends took candidates in between, so positions are unknown
	uint32 generation;   // the ring's flight.changes after this transaction's last take
	CandidateList left;  // those taken that this transaction has locked, and leaves as they are

	CandidateList offered;
	bool is_in_order;               // the offers are, and each is due
	bool has_more_offered;          // than most_candidates
	ring::SortKey more_offered;     // the lowest of those
	bool wakes;                     // rows have become claimable anywhere in the order
	VersionList versions;           // or these have, of a queue that is not sorted
	VersionList replaced;           // and these do, if this is rolled back
	TimestampTz due;                // the earliest time at which a row becomes claimable
	NoteList<ring::DueJob> to_come; // the rows that do so at such times, as far as they are known
	TimestampTz unlisted;           // the earliest such time of the others
	const ring::Ring *seen_by;      // the last ring for which this transaction has swept,
	TimestampTz seen_until; // and seen those of its own claims whose leases had ended by then
	TimestampTz sweep_from; // it does so again from then on, at the earliest
	bool leaves_own;        // since then it has put rows into the ring that only it can see
	TimestampTz death;      // the earliest at which a row would have died
	bool is_under_way;      // counted in the wakes as such
	TimestampTz undone_due; // when what it has written is claimable, if it is rolled back
	bool has_moved;         // rows that can be claimed after the commit are at other TIDs
	bool ends;              // a queue of the table has ended
	bool claims;            // it has been prepared for claims:
	uint32 ended;           // when so many queues of the table had ended
	bool is_beside;         // and there was another one
};

// The first of the current transaction's notes, or null; the next one is behind it.
extern Note *notes;

// The note of the current subtransaction for the ring; made if there is none.
Note *note_of_ring(ring::Ring *ring, const ring::RingKey &key);

// The same for the table's rows of that kind, which is the variant of its key.
Note *note_of_table(Oid table, uint64 kind = ring::unknown_kind);

// The same for the table's rows of that kind, which are told apart by their kinds only where there are rings for kinds.
Note *note_of_rows(Oid table, uint64 kind);

// False when most_candidates are in it. Raises 53200.
template <typename Element>
bool
push(NoteList<Element> *list, const Element &element)
{
	constexpr int first_capacity = 4;
	if (list->count == most_candidates)
		return false;
	if (list->count == list->capacity) {
		const int capacity = Max(first_capacity, list->capacity * 2);
		const size_t size = sizeof(Element) * capacity;
		list->elements = static_cast<Element *>(
			list->elements == nullptr ? MemoryContextAlloc(TopTransactionContext, size)
									  : repalloc(list->elements, size));
		list->capacity = capacity;
	}
	list->elements[list->count++] = element;
	return true;
}

// Adds a row to come, or the time of one that has no place.
void add_to_come(Note *note, const ring::DueJob &job);

// More than a log holds are rows anywhere.
void add_version(Note *note, const ring::Version &version);
void add_replaced(Note *note, const ring::Version &version);

// Adds the time of a row to come that is not listed.
void add_due(Note *note, TimestampTz due);

// Of the offers beyond the limit only the lowest sort key is kept (offer_from()).
void add_offer(Note *note, const ring::Candidate &candidate);

// Reads the clock only where there is a time.
inline bool
is_over(TimestampTz time)
{
	return time != PG_INT64_MAX && time <= GetCurrentTimestamp();
}

// Calls visit(Note *) for the notes of the table.
template <typename Visit>
void
visit_table(Oid table, Visit &&visit)
{
	for (Note *note = notes; note != nullptr; note = note->next)
		if (note->ring == nullptr && note->key.table == table)
			visit(note);
}

// Hands the notes of a subtransaction that is about to commit to its parent's for the same rings and tables; otherwise
// notes would pile up in a loop of subtransactions. Raises 53200, and so runs before the subtransaction commits.
void hand_to_parent(SubTransactionId ended, SubTransactionId parent);

// Takes the first note off the list and frees it.
void drop_first();

} // namespace queue_ext::wake
