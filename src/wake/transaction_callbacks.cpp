// transaction_callbacks.cpp - see transaction_callbacks.hpp.

#include "../postgres.hpp"

#include "transaction_callbacks.hpp"

#include "../ring/shared_memory.hpp"
#include "unfinished.hpp"

namespace queue_ext::wake {

using ring::Candidate;
using ring::DueJob;
using ring::DueRow;
using ring::KindRing;
using ring::Kinds;
using ring::Ring;
using ring::RingCounters;
using ring::RingKey;
using ring::SortKey;
using ring::Taken;
using ring::Version;
using ring::Wakes;
using ring::log_size;
using ring::most_kind_rings;
using ring::sweep_interval_factor;
using ring::unknown_kind;

// How many candidates are remembered for one ring, or table, and subtransaction.
constexpr int most_candidates = 1024;
// Of so many kinds the rows of one (sub)transaction are noted apart.
constexpr int most_kinds_apart = 64;

namespace {

// A growing array, in TopTransactionContext.
template <typename Element>
struct List
{
	int count;
	int capacity;
	Element *elements;
};

using Candidates = List<Candidate>;
using Versions = List<Version>;

// What one (sub)transaction has done with one ring, or with one table.
struct Note
{
	Note *next;
	Ring *ring; // null: the note is of the table
	RingKey key;
	Wakes *shared; // the table's
	SubTransactionId made_in;

	bool has_own_fill;   // the ring may lack rows if this is rolled back
	bool is_until_end;   // its claims end with the transaction, even if it commits
	int in_flight;       // candidates taken and not yet all tried
	uint32 flight_sweep; // the sweep after which these were taken; earlier ones no longer count
	Candidates taken;
	bool has_more_taken; // than most_candidates
	bool is_scattered;   // other backends took candidates in between, so positions are unknown
	uint32 generation;   // the ring's flight.changes after this transaction's last take
	Candidates left;     // those taken that this transaction has locked, and leaves as they are

	Candidates offered;
	bool is_in_order;       // the offers are, and each is due
	bool has_more_offered;  // than most_candidates
	SortKey more_offered;   // the lowest of those
	bool wakes;             // rows have become claimable anywhere in the order
	Versions versions;      // or these have, of a queue that is not sorted
	Versions replaced;      // and these do, if this is rolled back
	TimestampTz due;        // the earliest time at which a row becomes claimable
	List<DueJob> to_come;   // the rows that do so at such times, as far as they are known
	TimestampTz unlisted;   // the earliest such time of the others
	const Ring *seen_by;    // the last ring for which this transaction has swept,
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

} // namespace

// The notes of the current transaction, those of the innermost subtransaction first, in
// TopTransactionContext.
static Note *notes = nullptr;

// The note of the current subtransaction for which is_it() returns true, or null.
template <typename IsIt>
static Note *
find_note(IsIt &&is_it)
{
	const SubTransactionId current = GetCurrentSubTransactionId();
	// Those of the innermost subtransaction come first.
	for (Note *note = notes; note != nullptr && note->made_in == current; note = note->next)
		if (is_it(note))
			return note;
	return nullptr;
}

// Enters the note when it is complete, so that an ERROR for want of memory leaves none half made.
static Note *
add_note(Ring *ring, const RingKey &key)
{
	auto *note = static_cast<Note *>(MemoryContextAllocZero(TopTransactionContext, sizeof(Note)));
	note->ring = ring;
	note->key = key;
	note->made_in = GetCurrentSubTransactionId();
	note->due = PG_INT64_MAX;
	note->unlisted = PG_INT64_MAX;
	note->death = PG_INT64_MAX;
	note->undone_due = PG_INT64_MAX;
	note->shared = ring::get_wakes(key.table);
	note->next = notes;
	notes = note;
	return note;
}

static void
free_note(Note *note)
{
	if (note->taken.elements != nullptr)
		pfree(note->taken.elements);
	if (note->offered.elements != nullptr)
		pfree(note->offered.elements);
	if (note->to_come.elements != nullptr)
		pfree(note->to_come.elements);
	if (note->versions.elements != nullptr)
		pfree(note->versions.elements);
	if (note->replaced.elements != nullptr)
		pfree(note->replaced.elements);
	pfree(note);
}

static Note *
note_of_ring(Ring *ring, const RingKey &key)
{
	Note *note =
		find_note([&](const Note *other) { return other->ring == ring && other->key == key; });
	return note != nullptr ? note : add_note(ring, key);
}

// The note of the table for rows of that kind, which is the variant of its key.
static Note *
note_of_table(Oid table, uint64 kind = unknown_kind)
{
	int count = 0;
	Note *note = find_note([&](const Note *other) {
		const bool is_of_table = other->ring == nullptr && other->key.table == table;
		count += is_of_table;
		return is_of_table && other->key.variant == kind;
	});
	if (note != nullptr)
		return note;
	if (kind != unknown_kind && count > most_kinds_apart)
		return note_of_table(table);
	RingKey key{};
	key.table = table;
	key.variant = kind;
	return add_note(nullptr, key);
}

// The note of the table for rows of that kind, which are told apart by their kinds only where there are
// rings for kinds.
static Note *
note_of_rows(Oid table, uint64 kind)
{
	const bool has_kinds = pg_atomic_read_u32(&ring::get_wakes(table)->has_kinds) != 0;
	return note_of_table(table, has_kinds ? kind : unknown_kind);
}

// False when most_candidates are in it. Raises 53200.
template <typename Element>
static bool
push(List<Element> *list, const Element &element)
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

static void
add_to_come(Note *note, const DueJob &job)
{
	if (!push(&note->to_come, job))
		note->unlisted = Min(note->unlisted, job.row.due);
}

void
prepare_note(Ring *ring, const RingKey &key, uint32 ended, bool is_beside)
{
	Note *note = note_of_ring(ring, key);
	if (!note->claims)
		note->ended = ended;
	note->claims = true;
	note->is_beside |= is_beside;
}

// Counts the candidates as in flight before it remembers them, as that may raise.
int
note_taken(Ring *ring, const RingKey &key, const Candidate *candidates, const Taken &taken,
		   bool is_until_end)
{
	Note *note = note_of_ring(ring, key);
	note->is_until_end = is_until_end;
	if (note->flight_sweep != taken.sweep_generation)
		note->in_flight = 0;
	note->flight_sweep = taken.sweep_generation;
	note->in_flight += taken.count;
	if (note->taken.count > 0 && taken.generation != note->generation + 1)
		note->is_scattered |= !key.is_sorted;
	note->generation = taken.generation;
	const int place = note->taken.count;
	for (int i = 0; i < taken.count; i++)
		if (!push(&note->taken, candidates[i]))
			note->has_more_taken = true;
	return place;
}

// Forgets some of the candidates that were noted at that place. Those that did not fit are not
// there; what has been noted since, by a call within the try, comes after them.
static void
forget(Note *note, int place, int count, uint64 which)
{
	Candidates *taken = &note->taken;
	int kept = place;
	for (int i = place; i < taken->count; i++)
		if (i >= place + count || (which & (UINT64CONST(1) << (i - place))) == 0)
			taken->elements[kept++] = taken->elements[i];
	taken->count = kept;
	if (kept == 0)
		note->is_scattered = false;
}

// Whether the transaction has taken that candidate for the note's ring before those at that place of the note.
static bool
has_taken(const Note *note, int place, const Candidate &candidate)
{
	for (const Note *other = note; other != nullptr; other = other->next) {
		if (other->ring != note->ring || !(other->key == note->key))
			continue;
		const int count = other == note ? place : other->taken.count;
		for (int i = 0; i < count; i++)
			if (other->taken.elements[i].is_same_as(candidate))
				return true;
	}
	return false;
}

// Those among candidates of the note that the transaction has taken before: as it had locked their rows, a sweep has read
// these again. They are given back with what was taken first; twice would be too many for others to be told of.
static uint64
taken_before(const Note *note, int place, int count, uint64 which)
{
	uint64 found = 0;
	for (int i = 0; i < count && place + i < note->taken.count; i++) {
		const uint64 bit = UINT64CONST(1) << i;
		if ((which & bit) != 0 && has_taken(note, place, note->taken.elements[place + i]))
			found |= bit;
	}
	return found;
}

void
note_tried(Ring *ring, const RingKey &key, const Taken &taken, int place, uint64 locked,
		   uint64 passed, const RingCounters &counters)
{
	Note *note = note_of_ring(ring, key);
	settle(ring, key, counters, taken.count, taken.sweep_generation);
	if (note->flight_sweep == taken.sweep_generation)
		note->in_flight -= taken.count;
	locked |= taken_before(note, place, taken.count, passed);
	if (locked != 0)
		forget(note, place, taken.count, locked);
}

void
note_own_fill(Ring *ring, const RingKey &key)
{
	note_of_ring(ring, key)->has_own_fill = true;
}

static Note *
note_of_lease(Ring *ring, const RingKey &key, TimestampTz end)
{
	Note *note = note_of_ring(ring, key);
	if (end <= note->seen_until)
		note->seen_by = nullptr;
	note->due = Min(note->due, end);
	return note;
}

void
note_lease(Ring *ring, const RingKey &key, TimestampTz end)
{
	Note *note = note_of_lease(ring, key, end);
	note->unlisted = Min(note->unlisted, end);
}

void
note_leased(Ring *ring, const RingKey &key, const DueJob &job)
{
	add_to_come(note_of_lease(ring, key, job.row.due), job);
}

// When the next of the note's leases ends that no sweep of this transaction has seen end. Of those that are not listed
// only the first end is known: after that it sweeps each tenth of a second.
static TimestampTz
next_end(const Note *note, const Ring *ring)
{
	constexpr int64 interval_us = USECS_PER_SEC / 10;
	if (note->seen_by != ring)
		return note->due;
	TimestampTz next = note->unlisted;
	if (next <= note->seen_until)
		next = note->seen_until + interval_us;
	for (int i = 0; i < note->to_come.count; i++) {
		const TimestampTz end = note->to_come.elements[i].row.due;
		if (end > note->seen_until)
			next = Min(next, end);
	}
	return next;
}

static bool
owes(Ring *ring, const RingKey &key, TimestampTz now, bool is_empty)
{
	bool owes = false;
	for (Note *note = notes; note != nullptr; note = note->next) {
		if (note->ring == nullptr || note->key.table != key.table || note->due > now)
			continue;
		// The clock has been set back.
		if (note->seen_until > now)
			note->seen_by = nullptr;
		const TimestampTz end = next_end(note, ring);
		const bool is_lost = is_empty && note->seen_by == ring && note->leaves_own;
		if (!is_lost && (end > now || (note->seen_by == ring && now < note->sweep_from)))
			continue;
		expect(ring, key, Min(end, now));
		owes = true;
	}
	return owes;
}

bool
owes_sweep(Ring *ring, const RingKey &key, TimestampTz now)
{
	return owes(ring, key, now, false);
}

bool
owes_sweep_of_empty(Ring *ring, const RingKey &key, TimestampTz now)
{
	return owes(ring, key, now, true);
}

void
note_own_sweep(const Ring *ring, const RingKey &key, TimestampTz call_time, TimestampTz ended)
{
	for (Note *note = notes; note != nullptr; note = note->next) {
		if (note->ring == nullptr || note->key.table != key.table || note->due > call_time)
			continue;
		note->seen_by = ring;
		note->seen_until = call_time;
		note->leaves_own = false;
		note->sweep_from = ended + sweep_interval_factor * Max(ended - call_time, 0);
	}
}

void
note_own_left(const Ring *ring, const RingKey &key)
{
	for (Note *note = notes; note != nullptr; note = note->next)
		if (note->ring != nullptr && note->key.table == key.table && note->seen_by == ring)
			note->leaves_own = true;
}

void
note_writes(Oid table, TimestampTz due)
{
	Note *note = note_of_table(table);
	note->undone_due = Min(note->undone_due, due);
}

void
note_moved(Oid table)
{
	note_of_table(table)->has_moved = true;
}

void
note_queue_end(Oid table)
{
	note_of_table(table)->ends = true;
}

void
note_wake(Oid table)
{
	note_of_table(table)->wakes = true;
}

// More than a log holds are rows anywhere.
static void
add_version(Note *note, const Version &version)
{
	if (note->wakes)
		return;
	if (note->versions.count == log_size)
		note->wakes = true;
	else
		push(&note->versions, version);
}

static void
add_replaced(Note *note, const Version &version)
{
	if (note->undone_due == at_once)
		return;
	if (note->replaced.count == log_size)
		note->undone_due = at_once;
	else
		push(&note->replaced, version);
}

void
note_version(Oid table, const Version &version)
{
	add_version(note_of_table(table), version);
}

void
note_replaced(Oid table, const Version &version)
{
	add_replaced(note_of_table(table), version);
}

void
note_deadline(Oid table, TimestampTz death)
{
	Note *note = note_of_table(table);
	note->death = Min(note->death, death);
}

static void
add_due(Note *note, TimestampTz due)
{
	note->due = Min(note->due, due);
	note->unlisted = Min(note->unlisted, due);
}

// Of the offers beyond the limit only the lowest sort key is kept (offer_from()).
static void
add_more_offered(Note *note, const SortKey &sort_key)
{
	if (!note->has_more_offered || sort_key < note->more_offered)
		note->more_offered = sort_key;
	note->has_more_offered = true;
}

static void
add_offer(Note *note, const Candidate &candidate)
{
	note->is_in_order = false;
	if (push(&note->offered, candidate))
		return;
	add_more_offered(note, candidate.sort_key());
	if (candidate.run_at > GetCurrentTransactionStartTimestamp())
		add_due(note, candidate.run_at);
}

void
note_offer(Oid table, const Candidate &candidate, uint64 kind)
{
	add_offer(note_of_rows(table, kind), candidate);
}

void
note_due(Oid table, TimestampTz due, uint64 kind)
{
	add_due(note_of_rows(table, kind), due);
}

void
note_due_row(Oid table, const DueRow &row, uint64 kind)
{
	Note *note = note_of_rows(table, kind);
	note->due = Min(note->due, row.due);
	add_to_come(note, {row, note->key.variant});
}

// Whether the commit makes rows claimable. A lease, which is in a ring's note, does not.
static bool
has_wake(const Note *note)
{
	return note->ring == nullptr &&
		   (note->wakes || note->versions.count > 0 || note->offered.count > 0 ||
			note->has_more_offered || note->due != PG_INT64_MAX);
}

// Whether all that the commit makes claimable are versions, which go into the log.
static bool
has_versions_alone(const Note *note)
{
	return note->versions.count > 0 && !note->wakes && note->offered.count == 0 &&
		   !note->has_more_offered && note->due == PG_INT64_MAX;
}

// Reads the clock only where there is a time.
static bool
is_over(TimestampTz time)
{
	return time != PG_INT64_MAX && time <= GetCurrentTimestamp();
}

// Calls visit(Note *) for the notes of the table.
template <typename Visit>
static void
visit_table(Oid table, Visit &&visit)
{
	for (Note *note = notes; note != nullptr; note = note->next)
		if (note->ring == nullptr && note->key.table == table)
			visit(note);
}

bool
has_unlisted(Oid table)
{
	bool is_any = false;
	visit_table(table, [&](const Note *note) {
		is_any |=
			note->wakes || note->versions.count > 0 || note->has_more_offered || is_over(note->due);
	});
	return is_any;
}

bool
has_offers(Oid table)
{
	bool is_any = false;
	visit_table(table, [&](const Note *note) { is_any |= note->offered.count > 0; });
	return is_any;
}

static int
compare_own(const void *left, const void *right)
{
	const SortKey one = static_cast<const OwnOffer *>(left)->candidate.sort_key();
	const SortKey other = static_cast<const OwnOffer *>(right)->candidate.sort_key();
	if (one == other)
		return 0;
	return one < other ? -1 : 1;
}

static bool
may_be_of(const Note *note, const Kinds *kinds)
{
	if (kinds == nullptr || note->key.variant == unknown_kind)
		return true;
	for (int i = 0; i < kinds->count; i++)
		if (kinds->hashes[i] == note->key.variant)
			return true;
	return false;
}

OwnOffer *
list_offers(Oid table, const Kinds *kinds, int *count)
{
	int most = 0;
	*count = 0;
	visit_table(table, [&](const Note *note) { most += note->offered.count; });
	auto *offers = static_cast<OwnOffer *>(palloc(sizeof(OwnOffer) * Max(most, 1)));
	visit_table(table, [&](const Note *note) {
		for (int i = 0; may_be_of(note, kinds) && i < note->offered.count; i++)
			offers[(*count)++] = {note->offered.elements[i], note->made_in};
	});
	qsort(offers, *count, sizeof(OwnOffer), compare_own);
	return offers;
}

bool
is_offered(Oid table, const ItemPointerData &tid)
{
	bool is_it = false;
	visit_table(table, [&](const Note *note) {
		for (int i = 0; i < note->offered.count && !is_it; i++)
			is_it =
				ItemPointerEquals(&note->offered.elements[i].tid, const_cast<ItemPointer>(&tid));
	});
	return is_it;
}

void
withdraw_offer(Oid table, const OwnOffer &offer)
{
	if (offer.made_in != GetCurrentSubTransactionId())
		return;
	visit_table(table, [&](Note *note) {
		Candidates *offered = &note->offered;
		for (int i = 0; note->made_in == offer.made_in && i < offered->count; i++)
			if (offered->elements[i].is_at_place_of(offer.candidate)) {
				offered->count--;
				memmove(&offered->elements[i], &offered->elements[i + 1],
						sizeof(Candidate) * (offered->count - i));
				return;
			}
	});
}

// Whether no candidate has the sort key of the one before, or a lower one.
static bool
is_sorted(const Candidates &candidates)
{
	for (int i = 1; i < candidates.count; i++)
		if (!(candidates.elements[i - 1].sort_key() < candidates.elements[i].sort_key()))
			return false;
	return true;
}

namespace {

// A candidate, by where it stands.
struct Place
{
	const Candidate *candidate;
};

} // namespace

// By sort key; then in the order in which they stand.
static int
compare_places(const void *left, const void *right)
{
	const Candidate *one = static_cast<const Place *>(left)->candidate;
	const Candidate *other = static_cast<const Place *>(right)->candidate;
	const SortKey one_key = one->sort_key();
	const SortKey other_key = other->sort_key();
	if (one_key == other_key)
		return one < other ? -1 : 1;
	return one_key < other_key ? -1 : 1;
}

// Puts the offers into the order of their sort keys, each row's last one only: an offer must find
// them so, and has no memory to do it. Raises 53200.
static void
sort_offers(Candidates *offered)
{
	if (is_sorted(*offered))
		return;
	const int count = offered->count;
	auto *places =
		static_cast<Place *>(MemoryContextAlloc(TopTransactionContext, sizeof(Place) * count));
	auto *sorted = static_cast<Candidate *>(
		MemoryContextAlloc(TopTransactionContext, sizeof(Candidate) * count));
	for (int i = 0; i < count; i++)
		places[i].candidate = &offered->elements[i];
	qsort(places, count, sizeof(Place), compare_places);
	offered->count = 0;
	for (int i = 0; i < count; i++) {
		const bool is_newer =
			i > 0 && sorted[offered->count - 1].sort_key() == places[i].candidate->sort_key();
		sorted[is_newer ? offered->count - 1 : offered->count++] = *places[i].candidate;
	}
	memcpy(offered->elements, sorted, sizeof(Candidate) * offered->count);
	pfree(places);
	pfree(sorted);
}

// A row that is not yet due is not put into the ring, but comes to be due there. Raises 53200.
static void
set_future_offers_apart(Note *note)
{
	const TimestampTz now = GetCurrentTimestamp();
	int count = 0;
	for (int i = 0; i < note->offered.count; i++) {
		const Candidate offer = note->offered.elements[i];
		if (offer.run_at <= now) {
			note->offered.elements[count++] = offer;
			continue;
		}
		note->due = Min(note->due, offer.run_at);
		add_to_come(note, {{offer, offer.run_at}, note->key.variant});
	}
	note->offered.count = count;
}

// Whether a queue of the table has ended since the transaction began to claim from one. One that ends after the commit has
// become visible has the rings swept later.
static bool
has_lost_queue(const Note *note)
{
	return note->claims && pg_atomic_read_u32(&note->shared->ended) != note->ended;
}

// Counts the transaction as under way before its rows become visible, so that no backend trusts an
// idle ring until it has been told.
static void
count_under_way(Note *note)
{
	if (!has_wake(note) && !note->is_beside && !has_lost_queue(note))
		return;
	set_future_offers_apart(note);
	sort_offers(&note->offered);
	note->is_in_order = true;
	pg_atomic_fetch_add_u32(&note->shared->under_way, 1);
	note->is_under_way = true;
}

// How many places the list of the table's rings for kinds has; 0 where there are no such rings.
static int
kind_places(const Note *note)
{
	return pg_atomic_read_u32(&note->shared->has_kinds) == 0 ? 0 : most_kind_rings;
}

// Whether there may be sorted rings of the table that are not known.
static bool
is_partial(const Note *note)
{
	return kind_places(note) > 0 && pg_atomic_read_u32(&note->shared->is_partial) != 0;
}

// Makes all rings of the table sweep.
static void
wake_table(const Note *note)
{
	wake_table(note->key.table, note->shared);
}

// Tells a ring of the rows to come. Must not raise.
static void
tell_to_come(Ring *ring, const RingKey &key, const Note *note)
{
	expect_rows(ring, key, note->to_come.elements, note->to_come.count);
	if (note->unlisted != PG_INT64_MAX)
		expect(ring, key, note->unlisted);
}

// Tells a ring of the offers and of the rows to come. Must not raise.
static void
tell(Ring *ring, const RingKey &key, const Note *note)
{
	if (note->offered.count > 0)
		offer(ring, key, note->offered.elements, note->offered.count);
	if (note->has_more_offered)
		offer_from(ring, key, note->more_offered);
	tell_to_come(ring, key, note);
}

// Tells the rings for the kind of the rows of the offers and of the rows to come. Where the kind is not
// known, all rings for kinds are asked for a sweep instead of the offers. False if there is no ring for any
// kind. Must not raise.
static bool
tell_kinds(const Note *note)
{
	bool is_any = false;
	for (int i = 0; i < kind_places(note); i++) {
		const KindRing found = kind_ring_of(note->key.table, note->shared, i, note->key.variant);
		is_any |= found.ring != nullptr;
		if (found.ring == nullptr || !found.is_for_kind)
			continue;
		if (note->key.variant != unknown_kind)
			tell(found.ring, found.key, note);
		else {
			if (note->offered.count > 0 || note->has_more_offered)
				ask_for_sweep(found.ring, found.key);
			tell_to_come(found.ring, found.key, note);
		}
	}
	return is_any;
}

// Tells the rings what the transaction has made claimable. Runs after the commit, so it must not
// raise.
static void
wake(const Note *note)
{
	if (has_versions_alone(note)) {
		tell_versions(note->key.table, note->shared, note->versions.elements, note->versions.count);
		return;
	}
	RingKey key;
	Ring *ring = find_sorted_ring(note->key.table, &key);
	if (ring != nullptr)
		tell(ring, key, note);
	const bool is_any_told = tell_kinds(note) || ring != nullptr;
	if (note->wakes || note->versions.count > 0 || !is_any_told || is_partial(note))
		wake_table(note);
}

// Makes the list of the candidates that this transaction has locked and that the commit leaves as
// they are, where the claims end with it. Of a row that the transaction has changed the candidate is
// good for nothing; one that was tried in vain is left to the next sweep, as in mode update. Raises
// 53200, and what reading the rows raises.
static void
find_left(Note *note)
{
	if (note->ring == nullptr || !note->is_until_end || note->taken.count == 0)
		return;
	const size_t size = sizeof(Candidate) * note->taken.count;
	note->left.elements = static_cast<Candidate *>(MemoryContextAlloc(TopTransactionContext, size));
	memcpy(note->left.elements, note->taken.elements, size);
	note->left.count = keep_unfinished(note->left.elements, note->taken.count);
}

// Calls visit(ring, key) for each sorted ring of the table that is known and may have jobs of that kind.
template <typename Visit>
static void
visit_sorted(const Note *note, uint64 kind, Visit &&visit)
{
	RingKey key;
	Ring *ring = find_sorted_ring(note->key.table, &key);
	if (ring != nullptr)
		visit(ring, key);
	for (int i = 0; i < kind_places(note); i++) {
		const KindRing found = kind_ring_of(note->key.table, note->shared, i, kind);
		if (found.ring != nullptr && found.is_for_kind)
			visit(found.ring, found.key);
	}
}

// That of all rows to come, if they have one.
static uint64
common_kind(const Note *note)
{
	if (note->to_come.count == 0 || note->unlisted != PG_INT64_MAX)
		return unknown_kind;
	const uint64 kind = note->to_come.elements[0].kind;
	for (int i = 1; i < note->to_come.count; i++)
		if (note->to_come.elements[i].kind != kind)
			return unknown_kind;
	return kind;
}

// Tells the note's ring of the ends of the leases that were taken from it, and the other rings of the table that may
// have these jobs. Must not raise.
static void
tell_leases(const Note *note)
{
	tell_to_come(note->ring, note->key, note);
	if (kind_places(note) == 0)
		return;
	visit_sorted(note, common_kind(note), [&](Ring *ring, const RingKey &key) {
		if (ring != note->ring)
			tell_to_come(ring, key, note);
	});
}

// Puts the versions of candidates that have lost their places in a ring that is not sorted into the log; where
// they do not fit, requests a sweep.
static void
tell_lost(const Note *note, const Candidates &candidates)
{
	Version versions[log_size];
	bool fits = candidates.count <= log_size;
	for (int i = 0; i < candidates.count && fits; i++) {
		const Candidate &candidate = candidates.elements[i];
		versions[i] = {candidate.tid, candidate.version.writer};
		fits = candidate.version.table == note->key.table;
	}
	if (fits)
		tell_versions(note->key.table, note->shared, versions, candidates.count);
	else
		ask_for_sweep(note->ring, note->key);
}

static int
by_tid(const void *left, const void *right)
{
	const auto *one = static_cast<const Candidate *>(left);
	const auto *other = static_cast<const Candidate *>(right);
	if (one->version.table != other->version.table)
		return one->version.table < other->version.table ? -1 : 1;
	return ItemPointerCompare(const_cast<ItemPointer>(&one->tid),
							  const_cast<ItemPointer>(&other->tid));
}

// Each once: a sweep reads the rows again that the transaction has locked, which takes them again, and passes them by. A row
// that is told twice would stand twice in the ring, and others could not be placed by it. Loses their order.
static void
leave_out_twins(Candidates *candidates)
{
	qsort(candidates->elements, candidates->count, sizeof(Candidate), by_tid);
	int kept = 0;
	for (int i = 0; i < candidates->count; i++)
		if (i == 0 || by_tid(&candidates->elements[i], &candidates->elements[kept - 1]) != 0)
			candidates->elements[kept++] = candidates->elements[i];
	candidates->count = kept;
}

// Puts back what this transaction has made claimable by ending. Must not raise.
static void
give_back(const Note *note, Candidates candidates)
{
	if (note->key.is_sorted)
		sort_candidates(candidates.elements, candidates.count);
	else if (note->is_scattered)
		leave_out_twins(&candidates);
	if (note->is_scattered ||
		!put_back(note->ring, note->key, candidates.elements, candidates.count, note->generation))
		tell_lost(note, candidates);
}

// Rings of other callers, or of some kinds, may have passed by the rows that are claimable again.
static void
tell_other_callers(const Note *note)
{
	if (note->key.variant != 0 || kind_places(note) > 0)
		wake_table(note);
}

// Ends claims by row locks. Must not raise.
static void
unlock(const Note *note)
{
	if (note->left.count == 0)
		return;
	give_back(note, note->left);
	tell_other_callers(note);
}

static void
let_all_go(const Note *note)
{
	if (note->in_flight > 0)
		let_go(note->ring, note->key, note->in_flight, note->flight_sweep);
	if (note->has_more_taken)
		ask_for_sweep(note->ring, note->key);
}

// Announces rows that were written: others may have passed them by, as they were locked. When a row is due that is
// leased for longer, the rings know. Must not raise.
static void
undo_writes(const Note *note)
{
	if (is_over(note->undone_due))
		wake_table(note);
	else
		tell_versions(note->key.table, note->shared, note->replaced.elements, note->replaced.count);
}

// Undoes what the note says. Must not raise.
static void
after_abort(const Note *note)
{
	if (note->ring == nullptr) {
		undo_writes(note);
		return;
	}
	let_all_go(note);
	give_back(note, note->taken);
	if (note->has_own_fill)
		doubt_contents(note->ring, note->key);
	if (note->taken.count > 0)
		tell_other_callers(note);
}

// Comes before the queues that are left are told to sweep.
static void
count_end(const Note *note)
{
	if (note->ends)
		pg_atomic_fetch_add_u32(&note->shared->ended, 1);
}

// Must not raise: the transaction has committed.
static void
after_commit(const Note *note)
{
	count_end(note);
	if (note->ends)
		ring::dismiss_waiting(note->key.table);
	if (note->ring == nullptr)
		ring::tell_ends(note->shared);
	// A callback of another extension may have written after ours had put the offers in order.
	if (has_wake(note) && (note->is_in_order || note->offered.count == 0))
		wake(note);
	else if (has_wake(note))
		wake_table(note);
	if (note->has_moved || is_over(note->death) || has_lost_queue(note))
		wake_table(note);
	if (note->ring != nullptr && note->due != PG_INT64_MAX)
		tell_leases(note);
	// Where the claim was a row lock it has ended.
	if (note->ring != nullptr && note->is_until_end) {
		let_all_go(note);
		unlock(note);
	}
}

// Comes after the rings have been told: is_idle() (claim/drain.cpp) reads in the opposite order.
static void
withdraw(const Note *note)
{
	if (note->is_under_way)
		pg_atomic_fetch_sub_u32(&note->shared->under_way, 1);
}

// The memory of the notes goes with TopTransactionContext.
static void
on_transaction_end(XactEvent event, void *)
{
	switch (event) {
		case XACT_EVENT_PRE_COMMIT:
			for (Note *note = notes; note != nullptr; note = note->next) {
				find_left(note);
				count_under_way(note);
			}
			return;
		case XACT_EVENT_COMMIT:
			for (const Note *note = notes; note != nullptr; note = note->next)
				after_commit(note);
			break;
		case XACT_EVENT_ABORT:
			for (const Note *note = notes; note != nullptr; note = note->next)
				after_abort(note);
			break;
		case XACT_EVENT_PREPARE:
			// No callback runs when a prepared transaction ends: sweeps find its rows.
			for (const Note *note = notes; note != nullptr; note = note->next) {
				count_end(note);
				wake_table(note);
			}
			break;
		default:
			return;
	}
	for (const Note *note = notes; note != nullptr; note = note->next)
		withdraw(note);
	notes = nullptr;
}

static void
push_all(Candidates *to, const Candidates &from, bool *has_more)
{
	for (int i = 0; i < from.count; i++)
		*has_more |= !push(to, from.elements[i]);
}

// Adds the subtransaction's note to its parent's for the same ring or table; otherwise notes would
// pile up in a loop of subtransactions.
static void
merge_into(Note *parent, const Note *child)
{
	if (child->ring != nullptr) {
		const bool is_next = child->taken.count == 0 || parent->taken.count == 0;
		parent->has_more_taken |= child->has_more_taken;
		parent->is_scattered |= child->is_scattered || (!is_next && !child->key.is_sorted);
		push_all(&parent->taken, child->taken, &parent->has_more_taken);
		if (child->taken.count > 0)
			parent->generation = child->generation;
		parent->has_own_fill |= child->has_own_fill;
		parent->is_until_end |= child->is_until_end;
	}
	for (int i = 0; i < child->offered.count; i++)
		add_offer(parent, child->offered.elements[i]);
	if (child->has_more_offered)
		add_more_offered(parent, child->more_offered);
	parent->wakes |= child->wakes;
	for (int i = 0; i < child->versions.count; i++)
		add_version(parent, child->versions.elements[i]);
	for (int i = 0; i < child->replaced.count; i++)
		add_replaced(parent, child->replaced.elements[i]);
	parent->has_moved |= child->has_moved;
	parent->ends |= child->ends;
	if (!parent->claims)
		parent->ended = child->ended;
	parent->claims |= child->claims;
	parent->is_beside |= child->is_beside;
	if (parent->seen_by != child->seen_by)
		parent->seen_by = nullptr;
	parent->seen_until = Min(parent->seen_until, child->seen_until);
	parent->leaves_own |= child->leaves_own;
	parent->sweep_from = Max(parent->sweep_from, child->sweep_from);
	parent->due = Min(parent->due, child->due);
	parent->unlisted = Min(parent->unlisted, child->unlisted);
	for (int i = 0; i < child->to_come.count; i++)
		add_to_come(parent, child->to_come.elements[i]);
	parent->death = Min(parent->death, child->death);
	parent->undone_due = Min(parent->undone_due, child->undone_due);
}

// The parent's note for the same ring or table; it comes after the child's.
static Note *
find_same(const Note *child, SubTransactionId parent)
{
	for (Note *note = child->next; note != nullptr; note = note->next)
		if (note->made_in == parent && note->ring == child->ring && note->key == child->key)
			return note;
	return nullptr;
}

// Runs before the subtransaction commits, as merging may raise.
static void
hand_to_parent(SubTransactionId ended, SubTransactionId parent)
{
	for (Note **link = &notes; *link != nullptr && (*link)->made_in == ended;) {
		Note *child = *link;
		Note *same = find_same(child, parent);
		if (same == nullptr) {
			child->made_in = parent;
			link = &child->next;
			continue;
		}
		merge_into(same, child);
		*link = child->next;
		free_note(child);
	}
}

// A rollback is carried out at once, and so need not wait for the transaction's end.
static void
on_subtransaction_end(SubXactEvent event, SubTransactionId ended, SubTransactionId parent, void *)
{
	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		hand_to_parent(ended, parent);
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	while (notes != nullptr && notes->made_in == ended) {
		Note *note = notes;
		after_abort(note);
		notes = note->next;
		free_note(note);
	}
}

void
register_transaction_callbacks()
{
	RegisterXactCallback(on_transaction_end, nullptr);
	RegisterSubXactCallback(on_subtransaction_end, nullptr);
}

} // namespace queue_ext::wake
